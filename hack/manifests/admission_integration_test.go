// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package manifests

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	hubsetup "github.com/flotilla-sh/flotilla/hub/setup"
	"github.com/flotilla-sh/flotilla/internal/bootstrap"
	"github.com/flotilla-sh/flotilla/internal/testkit"
	"github.com/flotilla-sh/flotilla/internal/webhookserver"
	spokesetup "github.com/flotilla-sh/flotilla/spoke/setup"
)

// served are the components that admit, and how they are put together.
var served = map[string]struct {
	scheme func() *runtime.Scheme
	add    func(manager.Manager, *webhookserver.Options) error
}{
	"hub": {hubsetup.Scheme, hubsetup.AddWebhooks},
	"spoke": {spokesetup.Scheme, func(mgr manager.Manager, hooks *webhookserver.Options) error {
		return spokesetup.Add(mgr, hooks, spokesetup.Options{})
	}},
}

// TestEveryKindIsAdmitted: a component, with no right but those of its manifests, lets in what users write, in
// every version.
func TestEveryKindIsAdmitted(t *testing.T) {
	for component := range served {
		t.Run(component, func(t *testing.T) { admitsEveryKind(t, component) })
	}
}

// serve runs a component on a new API server, to which its manifests are applied, until the test ends. The server
// takes objects by the returned client or configuration, and warns by the returned list.
func serve(t *testing.T, component string) (client.Client, *rest.Config, *heard) {
	t.Helper()
	server, warnings := testkit.Start(t), &heard{}
	cfg := rest.CopyConfig(server.Config)
	cfg.WarningHandler = warnings
	admin, err := client.New(cfg, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	objects := build(t, filepath.Join(testkit.Root(), "kustomize", component))
	applyAll(t, admin, objects)
	address := run(t, server, component)
	err = wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		conn, dialled := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if dialled == nil {
			_ = conn.Close()
		}
		err = errors.Join(dialled, areTold(ctx, admin, objects))
		return err == nil, nil
	})
	if err != nil {
		t.Fatalf("the %s does not serve: %v", component, err)
	}
	return admin, cfg, warnings
}

func admitsEveryKind(t *testing.T, component string) {
	t.Helper()
	switchGates(t, map[string]bool{"ImagePullJobGate": true, "ResourceDistributionGate": true})
	admin, cfg, warnings := serve(t, component)
	needed(t, admin)
	refused := map[string]bool{}
	for _, file := range files(t) {
		for _, object := range objectsOf(t, strings.TrimSuffix(filepath.Base(file), ".yaml")) {
			if object.GetKind() == "ContainerRecreateRequest" && object.GetName() != "minimal-"+object.GroupVersionKind().Version {
				continue // is as it is after admission
			}
			if err := client.NewDryRunClient(admin).Create(t.Context(), object.DeepCopy()); err != nil {
				t.Errorf("%s: %v", filepath.Base(file), err)
			}
			object.Object["spec"] = map[string]any{}
			if err := client.NewDryRunClient(admin).Create(t.Context(), object); err != nil && strings.Contains(err.Error(), "admission webhook") {
				refused[object.GetKind()] = true
			}
		}
	}
	if !refused["PodUnavailableBudget"] || !refused["SidecarSet"] { // their schemas require nothing
		t.Errorf("refused are only %v", refused)
	}
	t.Run("warnings", func(t *testing.T) { warnsOfUnknownFields(t, admin, warnings) })
	if component == "spoke" {
		t.Run("facts", func(t *testing.T) { looksAround(t, cfg) })
	}
	t.Run("values", func(t *testing.T) { namesSupportedValues(t, admin, warnings) })
}

func files(t *testing.T) []string {
	t.Helper()
	out, err := filepath.Glob("testdata/objects/*.yaml")
	if err != nil || len(out) < 23 {
		t.Fatalf("found %v, %v", out, err)
	}
	return out
}

// again lets a process have several managers with controllers of one name.
type again struct{ manager.Manager }

func (m again) GetControllerOptions() config.Controller {
	out := m.Manager.GetControllerOptions()
	out.SkipNameValidation = ptr.To(true)
	return out
}

// run runs a component until the test ends, and says where it serves.
func run(t *testing.T, server *testkit.Server, component string) string {
	t.Helper()
	hooks := webhookserver.NewOptions("flotilla-"+component, namespace)
	hooks.Host, hooks.Port = "127.0.0.1", freePort(t, "127.0.0.1:0")
	startIn(t, server, component, hooks)
	return net.JoinHostPort(hooks.Host, strconv.Itoa(hooks.Port))
}

// freePort returns a port that nobody listens on.
func freePort(t *testing.T, at string) int {
	t.Helper()
	listener, err := net.Listen("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

// startIn starts a component in the namespace of the manifests, with its rights there; it runs until the test ends, or
// what is returned is called.
func startIn(t *testing.T, server *testkit.Server, component string, hooks *webhookserver.Options) (stop func()) {
	t.Helper()
	base := bootstrap.NewOptions("flotilla-" + component)
	base.Namespace, base.MetricsAddr, base.HealthAddr = namespace, "0", "0"
	cfg := server.UserFor(t, "system:serviceaccount:"+namespace+":flotilla-"+component)
	base.Tune(cfg)
	return start(t, component, base, hooks, cfg)
}

// start starts a component that runs until the test ends, or what is returned is called.
func start(t *testing.T, component string, base *bootstrap.Options, hooks *webhookserver.Options, cfg *rest.Config) (stop func()) {
	t.Helper()
	mgr, err := base.Manager(cfg, served[component].scheme(), hooks.Server(), hooks.ByObject())
	if err != nil {
		t.Fatal(err)
	}
	if err := served[component].add(again{mgr}, hooks); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// needed makes what some objects speak of.
func needed(t *testing.T, c client.Client) {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "pod-1", Namespace: "default"},
		Spec:       corev1.PodSpec{NodeName: "node-1", Containers: []corev1.Container{{Name: "app", Image: "i"}}},
	}
	objects := []client.Object{
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}, pod,
		&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: appsv1beta1.ConfigurationName},
			Data:       map[string]string{appsv1beta1.SidecarSetPatchPodMetadataWhiteListKey: `{"rules":[{"allowedAnnotationKeyExprs":["key1"]}]}`},
		},
	}
	for _, set := range []string{"full-v1alpha1", "full-v1beta1"} {
		objects = append(objects, &appsv1.ControllerRevision{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: set, Labels: map[string]string{
				appsv1beta1.SidecarSetNameLabel: set, appsv1beta1.SidecarSetCustomVersionLabel: "version-1",
			}},
			Data: runtime.RawExtension{Raw: []byte("{}")},
		})
	}
	for _, object := range objects {
		if err := c.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", ContainerID: "containerd://1"}}
	if err := c.Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
}
