// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package podunavailablebudget

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apimachinery/pkg/util/intstr"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flotilla-sh/flotilla/internal/boundedlabel"
	"github.com/flotilla-sh/flotilla/internal/events"
	"github.com/flotilla-sh/flotilla/internal/protectionlog"
	"github.com/flotilla-sh/flotilla/internal/testkit"
	"github.com/flotilla-sh/flotilla/spoke/budget"
	"github.com/flotilla-sh/flotilla/spoke/budget/ledger"
	"github.com/flotilla-sh/flotilla/spoke/podadmission"
	"github.com/flotilla-sh/flotilla/spoke/workload"
)

// heard keeps events as type, reason and object.
type heard struct{ list []string }

func (h *heard) Publish(list ...events.Event) {
	for _, e := range list {
		h.list = append(h.list, e.Type+" "+e.Reason+" "+e.Regarding.GetName())
	}
}

// readyPod is a pod that its budget, called web, counts as available.
func readyPod(name string, owners []metav1.OwnerReference) *corev1.Pod {
	pod := podOf(owners)
	pod.Name, pod.Annotations = name, map[string]string{"pub.kruise.io/related-pub": "web", "kruise.io/related-pub": "web"}
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
	return pod
}

// Spec 4.5.9: a refusal is an event on the pod, a count by workload and user, and a line of the log. To our own workloads,
// which ask each second, the same one is told once in two minutes.
func TestRefusalsAreTold(t *testing.T) {
	spent := selecting("web", map[string]string{"app": "web"})
	spent.UID, spent.Status.DesiredAvailable = "budget", 1
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "uid"}}
	c := indexed(t, []client.Object{spent, set, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns"}}})
	folder := t.TempDir()
	record, err := protectionlog.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	now := testingclock.NewFakeClock(time.Unix(0, 0))
	count := &tally{prometheus.NewCounterVec(prometheus.CounterOpts{Name: "refused"}, []string{"kind_namespace_name", "username"}), boundedlabel.MostSeries(2)}
	out := &heard{}
	g := &Guard{
		Ledger: &ledger.Ledger{Seen: c, Live: c, Writer: c.Status(), Clock: now}, Deletions: true, Log: record,
		live: c, events: out, tally: count, told: cache.NewLRUExpireCacheWithClock(2, now),
	}
	pod := readyPod("a", controlled("apps/v1", "StatefulSet", "web"))
	for _, dryRun := range []bool{false, true} {
		err := g.Validate(t.Context(), &podadmission.Review{Operation: podadmission.Delete, Pod: pod, User: "alice", DryRun: dryRun})
		var denial *podadmission.Denial
		if !errors.As(err, &denial) {
			t.Fatal(err)
		}
	}
	for _, wait := range []time.Duration{0, time.Second, repeated - 2*time.Second, 2 * time.Second} { // the last is told again
		now.Step(wait)
		if refusal, err := g.MayUpdate(t.Context(), pod); err != nil || refusal == "" {
			t.Fatal(refusal, err)
		}
	}
	told := "Warning PubPreventPodDeletion a"
	if d := cmp.Diff([]string{told, told, told}, out.list); d != "" {
		t.Error(d)
	}
	count.refused("StatefulSet", "ns", "late", "alice")
	want := map[string]float64{"StatefulSet_ns_web alice": 1, "StatefulSet_ns_web kruise-manager": 2, "other alice": 1}
	if d := cmp.Diff(want, testkit.Counts(t, count.counter)); d != "" {
		t.Error(d)
	}
	line := func(user string) string {
		return `{"Event":"PodUnavailableBudget","Kind":"StatefulSet","Namespace":"ns","Name":"web","UserAgent":"` + user + "\"}\n"
	}
	got, err := os.ReadFile(filepath.Join(folder, "protection.log"))
	if d := cmp.Diff(line("alice")+line("kruise-manager")+line("kruise-manager"), string(got)); d != "" || err != nil {
		t.Error(d, err)
	}
}

func many(n int, owners []metav1.OwnerReference) []client.Object {
	var out []client.Object
	for i := range n {
		out = append(out, readyPod(fmt.Sprint("p", i), owners))
	}
	return out
}

// Spec 4.7: what the controller tells of a budget.
func TestBudgetsTell(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	long, away := metav1.NewTime(now.Add(-time.Minute)), errors.New("the conversion webhook is away")
	owners := controlled("example.com/v1", "Pool", "web")
	for name, tc := range map[string]struct {
		pods      []client.Object
		disrupted map[string]metav1.Time
		scale     error
		max       string
		heard     []string
		total     int32
		desired   int32
		after     time.Duration
		fails     bool
	}{
		"no pods":                            {max: "1", heard: []string{"Normal NoPods web"}},
		"let go and still there":             {pods: []client.Object{readyPod("a", nil)}, disrupted: map[string]metav1.Time{"a": long}, max: "1", heard: []string{"Warning NotDeleted a"}},
		"a workload cannot be asked":         {pods: []client.Object{readyPod("a", owners)}, scale: away, max: "1", heard: []string{"Warning CalculateExpectedPodCountFailed web"}, total: 4, desired: 3, after: countAgain},
		"one that has grown cannot be asked": {pods: many(20, owners), scale: away, max: "1", heard: []string{"Warning CalculateExpectedPodCountFailed web"}, total: 20, desired: 19, after: countAgain},
		"the limit cannot be read":           {pods: []client.Object{readyPod("a", nil)}, max: "some", heard: []string{"Warning CalculateExpectedPodCountFailed web"}, total: 4, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			b := selecting("web", map[string]string{"app": "web"})
			limit := intstr.Parse(tc.max)
			b.UID, b.Spec.MaxUnavailable = "budget", &limit
			b.Status.TotalReplicas, b.Status.DisruptedPods = 4, tc.disrupted
			c := interceptor.NewClient(indexed(t, append([]client.Object{b}, tc.pods...)), interceptor.Funcs{
				SubResourceGet: func(ctx context.Context, c client.Client, name string, obj, into client.Object, opts ...client.SubResourceGetOption) error {
					if tc.scale != nil {
						return tc.scale
					}
					return c.SubResource(name).Get(ctx, obj, into, opts...)
				},
			})
			out := &heard{}
			clock := testingclock.NewFakeClock(now)
			r := &Reconciler{
				client: c, find: &finder{c, c}, scales: &workload.Finder{Seen: c, Live: c}, events: out,
				ledger: &ledger.Ledger{Seen: c, Live: c, Writer: c.Status(), FieldOwner: FieldOwner, Clock: clock},
			}
			result, err := r.Reconcile(t.Context(), b)
			if fails := errors.Is(err, reconcile.TerminalError(nil)); fails != tc.fails || !fails && err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.heard, out.list); d != "" {
				t.Error(d)
			}
			var got budget.Budget
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(b), &got); err != nil {
				t.Fatal(err)
			}
			if got.Status.TotalReplicas != tc.total || got.Status.DesiredAvailable != tc.desired || result.RequeueAfter != tc.after {
				t.Errorf("%d pods in all, %d of them available, again after %v", got.Status.TotalReplicas, got.Status.DesiredAvailable, result.RequeueAfter)
			}
		})
	}
}
