// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package podunavailablebudget

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/ownership"
	"github.com/flotilla-sh/flotilla/spoke/budget"
	"github.com/flotilla-sh/flotilla/spoke/budget/ledger"
	"github.com/flotilla-sh/flotilla/spoke/workload"
)

// indexed is a client over objects that finds them by their controller, as the cache does.
func indexed(t *testing.T, objects []client.Object) client.WithWatch {
	t.Helper()
	return fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(objects...).WithStatusSubresource(&budget.Budget{}).
		WithIndex(&corev1.Pod{}, ownership.ControllerUIDIndex, ownership.IndexByController).
		WithIndex(workload.ReplicaSet(), ownership.ControllerUIDIndex, ownership.IndexByController).Build()
}

// woken is a queue that notes who is woken, and how late.
type woken struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	after map[string]time.Duration
}

func (w *woken) Add(r reconcile.Request)                       { w.after[r.Name] = 0 }
func (w *woken) AddAfter(r reconcile.Request, d time.Duration) { w.after[r.Name] = d }

// Which events of pods wake which budget.
func TestPodEvents(t *testing.T) {
	booked := selecting("booked", map[string]string{"no": "one"})
	booked.Status.DisruptedPods = map[string]metav1.Time{"p": metav1.Now()}
	f := cluster(t, []client.Object{selecting("web", map[string]string{"app": "web"}), selecting("other", map[string]string{"app": "other"}), booked}, nil)
	h := &podHandler{f, &ledger.Ledger{}}
	pod := func(change ...func(*corev1.Pod)) *corev1.Pod {
		p := podOf(nil)
		p.UID, p.Annotations = "uid", map[string]string{"pub.kruise.io/related-pub": "web"}
		p.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
		for _, c := range change {
			c(p)
		}
		return p
	}
	unready := func(p *corev1.Pod) { p.Status.Conditions = nil }
	going := func(p *corev1.Pod) { p.DeletionTimestamp = ptr.To(metav1.Now()) }
	stamp := func(name string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Annotations = map[string]string{"pub.kruise.io/related-pub": name} }
	}
	unstamped := func(p *corev1.Pod) { p.Annotations = nil }
	label := func(key string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Labels = map[string]string{"app": "web", key: "x"} }
	}
	relabelled := func(p *corev1.Pod) { p.Labels = map[string]string{"app": "looked-into"} }
	const never, late = time.Duration(-1), 5 * time.Second
	for name, tc := range map[string]struct {
		old, now *corev1.Pod
		budget   string
		after    time.Duration
	}{
		"made":                           {nil, pod(), "web", 0},
		"made without a stamp (PB-01)":   {nil, pod(unstamped), "web", 0},
		"made with a stamp of no budget": {nil, pod(stamp("gone")), "web", 0},
		"nothing of it":                  {pod(), pod(func(p *corev1.Pod) { p.ResourceVersion = "2" }), "web", never},
		"no longer ready":                {pod(), pod(unready), "web", 0},
		"ready":                          {pod(unready), pod(), "web", 0},
		"marked unavailable":             {pod(), pod(label("unavailable-pod.kruise.io/x")), "web", 0},
		"another label":                  {pod(), pod(label("x")), "web", never},
		"another label, not stamped":     {pod(unstamped), pod(unstamped, label("x")), "web", 0},
		"no longer selected":             {pod(), pod(relabelled), "web", 0},
		"selected again":                 {pod(relabelled), pod(), "web", 0},
		"another label, unready":         {pod(unready), pod(unready, label("x")), "web", never},
		"stamped":                        {pod(unstamped), pod(), "web", 0},
		"begins to go":                   {pod(), pod(going), "web", 0},
		"begins to go, in the books":     {pod(stamp("booked")), pod(stamp("booked"), going), "booked", late},
		"goes on going":                  {pod(going), pod(going, unready), "web", never},
		"gone without a sign":            {pod(), nil, "web", 0},
		"gone":                           {pod(going), nil, "web", never},
	} {
		t.Run(name, func(t *testing.T) {
			q := &woken{after: map[string]time.Duration{}}
			switch {
			case tc.old == nil:
				h.Create(t.Context(), event.CreateEvent{Object: tc.now}, q)
			case tc.now == nil:
				h.Delete(t.Context(), event.DeleteEvent{Object: tc.old}, q)
			default:
				h.Update(t.Context(), event.UpdateEvent{ObjectOld: tc.old, ObjectNew: tc.now}, q)
			}
			after, is := q.after[tc.budget]
			if is != (tc.after != never) || is && after != tc.after || len(q.after) > 1 {
				t.Errorf("woken: %v", q.after)
			}
		})
	}
}

// PB-03: workloads without replicas are told by one; only another number wakes.
func TestWorkloadEvents(t *testing.T) {
	f := cluster(t, []client.Object{target("b", "apps.kruise.io/v1beta1", "CloneSet", "web")}, nil)
	h := (&Reconciler{find: f}).ofWorkload(scheme(t))
	set := func(replicas *int32) *appsv1beta1.CloneSet {
		return &appsv1beta1.CloneSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web"}, Spec: appsv1beta1.CloneSetSpec{Replicas: replicas}}
	}
	for name, tc := range map[string]struct {
		old, now *int32
		wakes    bool
	}{
		"more": {ptr.To[int32](1), ptr.To[int32](2), true}, "none given": {nil, nil, false}, "one given": {nil, ptr.To[int32](1), false}, "two given": {nil, ptr.To[int32](2), true},
	} {
		q := &woken{after: map[string]time.Duration{}}
		h.Update(t.Context(), event.UpdateEvent{ObjectOld: set(tc.old), ObjectNew: set(tc.now)}, q)
		if (len(q.after) == 1) != tc.wakes {
			t.Errorf("%s: %v", name, q.after)
		}
	}
}
