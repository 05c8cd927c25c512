// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package uniteddeployment

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/conditions"
)

// marked writes down that subsets were found unschedulable in the pass before.
func marked(ud *appsv1beta1.UnitedDeployment, names ...string) {
	for _, name := range names {
		ud.Status.SubsetStatuses = append(ud.Status.SubsetStatuses,
			appsv1beta1.UnitedDeploymentSubsetStatus{Name: name, Conditions: []appsv1beta1.Condition{*schedulableIs(corev1.ConditionFalse)}})
	}
}

// reserveSnapshot is of subsets a and b with so many pods, all of which serve; a was found unschedulable before.
func reserveSnapshot(total, a, b int32) *snapshot {
	ud := reservingUD(total, "a", "b")
	marked(ud, "a")
	s := snapshotOf(ud, counted(atRest(ud, "a", sizing{replicas: a}), a, a, a, a), counted(atRest(ud, "b", sizing{replicas: b}), b, b, b, b))
	s.now = epoch.Time
	for i, n := range []int32{a, b} {
		for range n {
			s.live[i].pods = append(s.live[i].pods, labelled(readySince(time.Hour), "web-2", "false"))
		}
	}
	return s
}

// A subset that recovered and grows stays marked, so that its new pods begin in reserve, and those they stand in for stay
// until they are there.
func TestReserveGrowsOnProbation(t *testing.T) {
	s := reserveSnapshot(4, 2, 2)
	p := makePlan(s)
	if d := cmp.Diff(map[string]sizing{"a": {replicas: 4}, "b": {replicas: 2}}, p.sizes, cmp.AllowUnexported(sizing{})); d != "" {
		t.Error(d)
	}
	if c := conditions.FindCompat(entry(statusOf(s, p, &outcome{}, epoch), "a").Conditions, "Schedulable"); c.Status != corev1.ConditionFalse {
		t.Errorf("%+v", c)
	}
	a := counted(atRest(s.ud, "a", sizing{replicas: 4}), 2, 2, 2, 2)
	a.pods = s.live[0].pods // two are yet to be made
	s.live[0] = a
	p = makePlan(s)
	if d := cmp.Diff(map[string]sizing{"a": {replicas: 4}, "b": {replicas: 2}}, p.sizes, cmp.AllowUnexported(sizing{})); d != "" {
		t.Errorf("before they are made: %s", d)
	}
}

// A subset that recovered and need not grow is no longer marked, and says so.
func TestReserveRecovers(t *testing.T) {
	s := reserveSnapshot(4, 4, 0)
	p := makePlan(s)
	if c := conditions.FindCompat(entry(statusOf(s, p, &outcome{}, epoch), "a").Conditions, "Schedulable"); c.Status != corev1.ConditionTrue {
		t.Errorf("%+v", c)
	}
	if told := planEvents(s.ud, p); len(told) != 1 || told[0].Reason != "SubsetSchedulable" {
		t.Errorf("%+v", told)
	}
}

// Old pods that others hold up are overdue from the beginning of the update on, and add to what the update may do at once.
func TestReserveCountsTheUpdate(t *testing.T) {
	since := func(before time.Duration) *snapshot {
		s := reserveSnapshot(2, 2, 0)
		s.live[0].readyReplicas, s.live[0].updatedReplicas = 1, 1
		s.live[0].pods = []*corev1.Pod{labelled(readySince(time.Hour), "web-1", "false"), labelled(pendingPod(time.Hour), "web-2", "true")}
		c := condition(appsv1beta1.UnitedDeploymentUpdated, corev1.ConditionFalse, reasonRevisionsDiffer)
		c.LastTransitionTime.Time = epoch.Add(-before)
		s.ud.Status.Conditions = []appsv1beta1.Condition{c}
		return s
	}
	for before, want := range map[time.Duration]string{19 * time.Second: "1", 21 * time.Second: "2"} {
		p := makePlan(since(before))
		got := "none"
		for _, m := range p.updates {
			if m.subset == "a" {
				got = cloneSetAdapter{}.read(m.want).maxUnavailable.String()
			}
		}
		if got != want {
			t.Errorf("after %s maxUnavailable is %s, want %s", before, got, want)
		}
	}
	s := since(time.Hour)
	s.ud.Status.Conditions = nil // the update begins with this pass
	if v := makePlan(s).verdicts["a"]; v.overdue != 0 {
		t.Errorf("overdue: %d", v.overdue)
	}
}

// Each pod is labelled by one patch, a pod that is gone is no failure, and when one cannot be labelled nothing else is
// written and no subset is marked, since the next pass would take the rest for new pods.
func TestLabels(t *testing.T) {
	s := reserveSnapshot(2, 0, 2)
	s.ud.Status.SubsetStatuses = nil
	s.live = s.live[1:]
	names := []string{"gone", "late"}
	for i, pod := range []*corev1.Pod{readySince(time.Hour), pendingPod(time.Hour)} {
		pod.Namespace, pod.Name = "shop", names[i]
		s.live[0].pods[i] = labelled(pod, "web-2", "")
	}
	p := makePlan(s)
	for name, refuse := range map[string]error{"taken": nil, "refused": errors.New("no")} {
		t.Run(name, func(t *testing.T) {
			writes := 0
			c := fake.NewClientBuilder().WithScheme(scheme()).WithObjects(s.live[0].pods[1].DeepCopy()).WithInterceptorFuncs(interceptor.Funcs{
				Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
					writes++
					return nil
				},
				Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, change client.Patch, o ...client.PatchOption) error {
					if writes++; refuse != nil {
						return refuse
					}
					return c.Patch(ctx, obj, change, o...)
				},
			}).Build()
			o, told := newWriter(c, c).execute(t.Context(), s.ud, p, "CloneSet")
			status := statusOf(s, p, o, epoch)
			mark := conditions.FindCompat(entry(status, "b").Conditions, "Schedulable")
			if refuse != nil {
				if writes != 1 || !o.failed() || len(told) != 1 || mark != nil || status.ObservedGeneration != 0 {
					t.Errorf("%d writes, failed %t, told %v, marked %v", writes, o.failed(), told, mark)
				}
				return
			}
			pod := &corev1.Pod{}
			if err := c.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "late"}, pod); err != nil || standingOf(pod) != reserved {
				t.Errorf("%v, %v", pod.Labels, err)
			}
			// Two labels, and a workload for subset a.
			if writes != 3 || o.labelErr != nil || mark == nil || mark.Status != corev1.ConditionFalse {
				t.Errorf("%d writes, %v, marked %v", writes, o, mark)
			}
		})
	}
}
