// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package manifests

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/flotilla-sh/flotilla/internal/features"
	"github.com/flotilla-sh/flotilla/internal/testkit"
	"github.com/flotilla-sh/flotilla/internal/webhookserver"
)

// switchGates sets feature gates until the test ends.
func switchGates(t *testing.T, to map[string]bool) {
	t.Helper()
	before := map[string]bool{}
	for name := range to {
		for _, g := range features.Gates() {
			if string(g.Name) == name {
				before[name] = features.Enabled(g.Name)
			}
		}
	}
	if err := features.Gate.SetFromMap(to); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = features.Gate.SetFromMap(before) })
}

const component = "flotilla-spoke"

// shipped is a spoke that the API server reaches through the Service of its manifests, which are applied with
// kubectl as users do.
type shipped struct {
	t          *testing.T
	server     *testkit.Server
	admin      client.Client
	kubeconfig string
	manifests  []byte
	objects    []*unstructured.Unstructured
	port       int
	args       []string
	podsPass   bool // our webhook is to be asked about new pods
}

// TestApplyingAgainBreaksNothing: while a spoke runs as shipped and users write pods and workloads, its manifests
// are applied again and again, gates go off and on, no call fails, and no pod is made without our webhook.
func TestApplyingAgainBreaksNothing(t *testing.T) {
	ctrl.SetLogger(zap.New(zap.WriteTo(t.Output()), zap.UseDevMode(true)))
	for name, args := range map[string][]string{"client-side": {"apply", "-f", "-"}, "server-side": {"apply", "--server-side", "-f", "-"}} {
		t.Run(name, func(t *testing.T) {
			switchGates(t, map[string]bool{"KruisePodReadinessGate": true, "ResourcesDeletionProtection": true, "PodUnavailableBudgetUpdateGate": true})
			s := ship(t, args)
			stop := s.start()
			calls := traffic(t, s.server)
			s.settle(calls, true)
			s.again(calls, "with all gates on")
			quiet := time.Now()
			s.again(calls, "with nothing to change")
			s.wroteNothing(quiet)

			switchGates(t, map[string]bool{"PodWebhook": false, "ResourcesDeletionProtection": false})
			stop()
			calls.forget() // nobody served
			stop = s.start()
			s.settle(calls, false)
			s.again(calls, "with two gates off")
			s.webhooks(false)

			switchGates(t, map[string]bool{"PodWebhook": true, "ResourcesDeletionProtection": true})
			stop()
			calls.forget()
			s.start()
			s.settle(calls, true)
			s.again(calls, "with both on again")
			s.webhooks(true)
			s.ownsAuthoritiesAlone()
		})
	}
}

func ship(t *testing.T, args []string) *shipped {
	t.Helper()
	s := &shipped{t: t, server: testkit.Start(t, t.TempDir()), args: args} // with no CRDs: envtest would take the conversion out of them
	var err error
	if s.admin, err = client.New(s.server.Config, client.Options{}); err != nil {
		t.Fatal(err)
	}
	s.kubeconfig = s.server.Kubeconfig(t)
	s.objects = inOrder(build(t, filepath.Join(testkit.Root(), "kustomize", "spoke")))
	s.manifests = asList(t, s.objects)
	s.apply()
	s.port = freePort(t, ":0")
	servedHere(t, s.admin, namespace, component+"-webhook", s.port)
	return s
}

// servedHere says that a Service's port 443 leads to a port of this machine.
func servedHere(t *testing.T, admin client.Client, namespace, service string, port int) {
	t.Helper()
	slice := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
		"metadata":  map[string]any{"name": service, "namespace": namespace, "labels": map[string]any{"kubernetes.io/service-name": service}},
		"endpoints": []any{map[string]any{"addresses": []any{address(t)}, "conditions": map[string]any{"ready": true}}},
		"ports":     []any{map[string]any{"name": "webhook", "port": int64(port), "protocol": "TCP"}},
	}}
	if err := admin.Create(t.Context(), slice); err != nil {
		t.Fatal(err)
	}
}

// address is one of this machine at which the API server may call: not a loopback one.
func address(t *testing.T) string {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.To4() != nil && ip.IP.IsGlobalUnicast() {
			return ip.IP.String()
		}
	}
	t.Fatal("this machine has no address but loopback ones")
	return ""
}

func (s *shipped) apply() {
	s.t.Helper()
	kubectl(s.t, s.kubeconfig, s.manifests, s.args...)
}

// hooks are options as those of a pod, but for the port.
func (s *shipped) hooks() *webhookserver.Options {
	out := webhookserver.NewOptions(component, namespace)
	out.Port, out.ProbeEvery = s.port, time.Second
	return out
}

// start runs the spoke until it is ready.
func (s *shipped) start() (stop func()) {
	s.t.Helper()
	hooks := s.hooks()
	stop = startIn(s.t, s.server, "spoke", hooks)
	probe := httptest.NewRequest("GET", "/readyz", nil)
	s.await("the spoke is ready and trusted", func(ctx context.Context) error {
		return errors.Join(hooks.Ready(probe), areTold(ctx, s.admin, s.objects))
	})
	return stop
}

func (s *shipped) await(what string, holds func(context.Context) error) {
	s.t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(s.t.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		last = holds(ctx)
		return last == nil, nil
	})
	if err != nil {
		s.t.Fatalf("not so: %s: %v", what, last)
	}
}

// settle waits until new pods pass our webhook, or do not, and no longer differ from that.
func (s *shipped) settle(calls *caller, ofPods bool) {
	s.t.Helper()
	s.podsPass = ofPods
	s.webhooks(ofPods)
	calls.warm()
	calls.settle(ofPods)
}

// webhooks waits until the API server is told of all webhooks of gates that are on, or of these but the pods'.
func (s *shipped) webhooks(ofPods bool) {
	s.t.Helper()
	s.await(fmt.Sprintf("webhooks of pods are there: %v", ofPods), func(ctx context.Context) error {
		for _, obj := range s.objects {
			want := namesOf(obj)
			if len(want) == 0 {
				continue
			}
			if !ofPods {
				want = slices.DeleteFunc(want, func(name string) bool { return name == "mpod.kb.io" })
			}
			if !features.Enabled(features.PodUnavailableBudgetUpdateGate) {
				want = slices.DeleteFunc(want, func(name string) bool { return name == "vpodupdate.kb.io" })
			}
			if !features.Enabled(features.ResourcesDeletionProtection) {
				want = slices.DeleteFunc(want, func(name string) bool { return slices.Contains(deletions, name) })
			}
			live := obj.DeepCopy()
			if err := s.admin.Get(ctx, client.ObjectKeyFromObject(obj), live); err != nil {
				return err
			}
			if have := namesOf(live); !slices.Equal(want, have) {
				return fmt.Errorf("%s has %v, want %v", obj.GetKind(), have, want)
			}
		}
		return nil
	})
}

// deletions are the webhooks of deletion protection.
var deletions = []string{
	"vbuiltindeployment.kb.io", "vbuiltinreplicaset.kb.io", "vbuiltinstatefulset.kb.io", "vcloneset-deletion.kb.io", "vcustomresourcedefinition.kb.io",
	"vingress.kb.io", "vnamespace.kb.io", "vservice.kb.io", "vstatefulset-deletion.kb.io", "vuniteddeployment-deletion.kb.io",
}

func namesOf(cfg *unstructured.Unstructured) []string {
	var out []string
	hooks, _, _ := unstructured.NestedSlice(cfg.Object, "webhooks")
	for _, hook := range hooks {
		out = append(out, hook.(map[string]any)["name"].(string))
	}
	slices.Sort(out)
	return out
}

// again applies the manifests twice while calls are made, and reports what became of those.
func (s *shipped) again(calls *caller, when string) {
	s.t.Helper()
	began := time.Now()
	for range 2 {
		s.apply()
	}
	took := time.Since(began)
	calls.warm()
	failed, gap, slowest, made := calls.since(began)
	s.t.Logf("%s: applied twice in %s, %d calls, %d failed, longest gap %s, slowest call %s", when, took.Round(time.Millisecond), made, len(failed), gap.Round(time.Millisecond), slowest.Round(time.Millisecond))
	if s.podsPass {
		pods, gap := calls.unasked(began)
		s.t.Logf("%s: %d pods were made without our webhook, longest time %s", when, pods, gap.Round(time.Millisecond))
		if pods > 0 {
			s.t.Errorf("%s: %d pods were made without our webhook", when, pods)
		}
	}
	for _, f := range failed {
		s.t.Errorf("%s: %s after %s: %v", when, f.what, f.at.Sub(began).Round(time.Millisecond), f.err)
	}
}

// ownsAuthoritiesAlone wants the spoke to own nothing of CRDs but whom to trust, which the manifests do not have: a
// server-side apply of newer ones must not be refused.
func (s *shipped) ownsAuthoritiesAlone() {
	s.t.Helper()
	found := 0
	for _, obj := range s.objects {
		live := obj.DeepCopy()
		if obj.GetKind() != "CustomResourceDefinition" {
			continue
		}
		if err := s.admin.Get(s.t.Context(), client.ObjectKeyFromObject(obj), live); err != nil {
			s.t.Fatal(err)
		}
		for _, owner := range live.GetManagedFields() {
			if owner.Manager != component+"-webhooks" {
				continue
			}
			found++
			if have := owner.FieldsV1.GetRawString(); have != `{"f:spec":{"f:conversion":{"f:webhook":{"f:clientConfig":{"f:caBundle":{}}}}}}` {
				s.t.Errorf("of %s the spoke owns %s", obj.GetName(), have)
			}
		}
	}
	if found == 0 {
		s.t.Error("the spoke owns nothing of any CRD")
	}
}

// wroteNothing wants the spoke to have left what it keeps alone.
func (s *shipped) wroteNothing(since time.Time) {
	s.t.Helper()
	for _, w := range s.server.Writes(s.t, component, since) {
		if strings.HasSuffix(w.Resource, "webhookconfigurations") || w.Resource == "customresourcedefinitions" || w.Resource == "secrets" {
			s.t.Errorf("wrote without need: %+v", w)
		}
	}
}
