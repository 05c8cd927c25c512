// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package manifests

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/bootstrap"
	"github.com/flotilla-sh/flotilla/internal/testkit"
	"github.com/flotilla-sh/flotilla/internal/webhookserver"
	"github.com/flotilla-sh/flotilla/spoke/setup"
)

// atRest is for how long nothing may be written once all is settled.
const atRest = 3 * time.Second

// TestDropIn: a cluster that OpenKruise runs is switched by hack/from-openkruise.sh. Every object reads as before
// in every version, and nothing of any workload is written: no pod, no claim, no revision, no status. Then an
// image is changed, and pods are updated in place. What is real in it and what stands in for OpenKruise, see openKruise.
func TestDropIn(t *testing.T) {
	o := startOpenKruise(t)
	o.storeObjects(t)
	o.storeAsBefore(t, "old")
	o.sameRevisions(t)
	before := o.picture(t)
	began := time.Now()
	o.switchOver(t)
	o.settle(t)
	after := o.picture(t)
	t.Run("objects read as before", func(t *testing.T) {
		for _, problem := range lost(before, after) {
			t.Error(problem)
		}
	})
	t.Run("nothing is written", func(t *testing.T) {
		// Two are in the middle of a rollout, and now tell what they wait for: that is all.
		waiting := []string{"patch clonesets/status shop/inplace", "patch clonesets/status shop/middle"}
		var got []string
		for _, w := range o.writes(t, began) {
			got = append(got, fmt.Sprintf("%s %s %s/%s", w.Verb, w.Resource, w.Namespace, w.Name))
		}
		slices.Sort(got)
		if diff := cmp.Diff(waiting, got); diff != "" {
			t.Errorf("writes of the spoke (-want +got):\n%s", diff)
		}
		if diff := written(before, after, "CloneSet.apps.kruise.io shop/inplace", "CloneSet.apps.kruise.io shop/middle"); diff != "" {
			t.Errorf("objects by the write they are of (-before +after):\n%s", diff)
		}
	})
	t.Run("OpenKruise does not act", o.isSwitched)
	t.Run("images change in place", o.updateInPlace)
	t.Run("another revision would be seen", o.anotherRevision)
	t.Run("stored mistakes can be lived with", o.mistakesStay)
	t.Run("the way back", o.backAgain)
	t.Run("an address is refused", o.addressRefused)
	t.Run("a switch that fails tells the way back", o.halfway)
	t.Run("OpenKruise's own is removed", o.removeRest)
}

// writes are what the spoke has written since, but for the trust in its webhooks and what this test made it write.
func (o *openKruise) writes(t *testing.T, since time.Time) []testkit.Write {
	t.Helper()
	return slices.DeleteFunc(o.server.Writes(t, "flotilla-spoke", since), func(w testkit.Write) bool {
		switch w.Resource {
		case "customresourcedefinitions", "mutatingwebhookconfigurations", "validatingwebhookconfigurations":
			return true
		case "secrets":
			return w.Namespace == kruiseNamespace
		}
		return w.Namespace == "after"
	})
}

// switchOver gives the command that docs/from-openkruise.md has, and plays the machine: where the Deployment of
// the spoke appears, a spoke runs, with the arguments and the rights that it has there.
func (o *openKruise) switchOver(t *testing.T) {
	t.Helper()
	port := freePort(t, ":0")
	servedHere(t, o.admin, kruiseNamespace, "flotilla-spoke-webhook", port)
	done := make(chan error, 1)
	cmd := o.script(t, "switch")
	output := &strings.Builder{}
	cmd.Stdout, cmd.Stderr = output, output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { done <- cmd.Wait() }()
	deployment := &appsv1.Deployment{}
	o.await(t, "the Deployment of the spoke", func(ctx context.Context) error {
		return o.admin.Get(ctx, client.ObjectKey{Namespace: kruiseNamespace, Name: "flotilla-spoke"}, deployment)
	})
	o.runSpoke(t, port, deployment.Spec.Template.Spec.Containers[0].Args)
	deployment.Status = appsv1.DeploymentStatus{ObservedGeneration: 100, Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 2, AvailableReplicas: 2}
	if err := o.admin.Status().Update(t.Context(), deployment); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	t.Log(output)
	for _, want := range []string{"OpenKruise: ImagePullJobGate=true,PodWebhook=true\n", "--feature-gates=ImagePullJobGate=true to", "its webhooks are asked"} {
		if !strings.Contains(output.String(), want) {
			t.Errorf("%q is not said", want)
		}
	}
	<-o.gone
}

// script is hack/from-openkruise.sh on this cluster.
func (o *openKruise) script(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	if o.saved == "" {
		o.saved, o.kubeconfig = t.TempDir(), o.server.Kubeconfig(t)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(testkit.Root(), "hack", "from-openkruise.sh"), append([]string{"--yes", "-s", o.saved}, args...)...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+o.kubeconfig, "KUBECTL="+testkit.Program("kubectl"))
	return cmd
}

// runSpoke runs a spoke with these arguments until the test ends, with no right but those of its manifests.
func (o *openKruise) runSpoke(t *testing.T, port int, args []string) {
	t.Helper()
	base := bootstrap.NewOptions("flotilla-spoke")
	flags := pflag.NewFlagSet("spoke", pflag.ContinueOnError)
	base.AddFlags(flags)
	var opts setup.Options
	opts.AddFlags(flags)
	for flag := range controllersByFlag {
		args = append(args, "--"+flag+"=7")
	}
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	base.Concurrency = opts.Concurrency()
	base.Namespace, base.MetricsAddr, base.HealthAddr = kruiseNamespace, "0", "0"
	hooks := webhookserver.NewOptions(base.Component, base.Namespace)
	hooks.Port = port
	cfg := o.server.UserFor(t, "system:serviceaccount:"+kruiseNamespace+":flotilla-spoke")
	base.Tune(cfg)
	o.leftOver = busy(t)
	o.passesBefore = map[string]float64{}
	for controller := range settled {
		o.passesBefore[controller] = passes(t, controller)
	}
	o.stopSpoke = start(t, "spoke", base, hooks, cfg)
}

// settled are the controllers, by what they care for, that have looked at all there is before a spoke counts as settled.
var settled = map[string]string{"cloneset-controller": "CloneSet", "uniteddeployment": "UnitedDeployment"}

// busy is how many objects the controllers of this process work on, or have waiting. Those that waited when a
// manager stopped are counted for good: a stopped queue keeps them.
func busy(t *testing.T) float64 {
	t.Helper()
	return sum(t, "workqueue_depth", "", "") + sum(t, "controller_runtime_active_workers", "", "")
}

// passes is how many passes a controller has made in this process, in every manager.
func passes(t *testing.T, controller string) float64 {
	t.Helper()
	return sum(t, "controller_runtime_reconcile_total", "controller", controller)
}

// controllersByFlag are the controllers that a flag of OpenKruise gives workers.
var controllersByFlag = map[string]string{
	"cloneset-workers": "cloneset-controller", "crr-workers": "containerrecreaterequest-controller",
	"nodeimage-workers": "nodeimage-controller", "nodepodprobe-workers": "nodepodprobe", "podprobemarker-workers": "podprobemarker",
	"podunavailablebudget-workers": "podunavailablebudget-controller", "uniteddeployment-workers": "uniteddeployment",
}

// settle waits until every controller has looked at all there is and has nothing left to do, one of them has shown
// that it acts, and nothing was written for a while.
func (o *openKruise) settle(t *testing.T) {
	t.Helper()
	labels := map[string]string{"app": "canary"}
	canary := &appsv1beta1.CloneSet{ObjectMeta: metav1.ObjectMeta{Namespace: "after", Name: "canary"}, Spec: appsv1beta1.CloneSetSpec{
		Replicas: ptr.To[int32](1), Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "a"}}}},
	}}
	o.create(t, canary)
	o.await(t, "a pod of a new CloneSet", func(ctx context.Context) error {
		if err := o.admin.Get(ctx, client.ObjectKeyFromObject(canary), canary); err != nil {
			return err
		}
		if canary.Status.Replicas != 1 {
			return fmt.Errorf("status is %+v", canary.Status)
		}
		return nil
	})
	o.await(t, "controllers with nothing to do", func(context.Context) error {
		for controller, kind := range settled {
			all := len(o.list(t, appsv1beta1.SchemeGroupVersion.WithKind(kind)))
			if done := passes(t, controller) - o.passesBefore[controller]; done < float64(all) {
				return fmt.Errorf("%s made %v passes for %d objects", controller, done, all)
			}
		}
		if now := busy(t) - o.leftOver; now > 0 {
			return fmt.Errorf("%v objects are worked on or wait", now)
		}
		return nil
	})
	for flag, controller := range controllersByFlag {
		if n := sum(t, "controller_runtime_max_concurrent_reconciles", "controller", controller); n != 7 {
			t.Errorf("--%s=7: %s works on %v objects at once", flag, controller, n)
		}
	}
	since := time.Now()
	o.await(t, "a while without a write", func(context.Context) error {
		if writes := o.server.Writes(t, "flotilla-spoke", since); len(writes) > 0 { // as of trust in one more definition
			since = time.Now()
			return fmt.Errorf("%+v", writes)
		}
		if rest := atRest - time.Since(since); rest > 0 {
			return fmt.Errorf("%v more to go without one", rest)
		}
		return nil
	})
}

// sum adds a metric of this process up, where a label has a value.
func sum(t *testing.T, name, label, value string) float64 {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var out float64
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			counts := family.GetName() == name
			for _, pair := range metric.GetLabel() {
				counts = counts && (pair.GetName() != label || pair.GetValue() == value)
			}
			if counts {
				out += metric.GetCounter().GetValue() + metric.GetGauge().GetValue()
			}
		}
	}
	return out
}

// await waits until what is asked for is there.
func (o *openKruise) await(t *testing.T, what string, is func(context.Context) error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		last = is(ctx)
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("%s: %v", what, last)
	}
}
