// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package uniteddeployment

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/conditions"
)

// labelled puts a pod where its label says, at a revision.
func labelled(pod *corev1.Pod, revision, label string) *corev1.Pod {
	pod.Labels = map[string]string{appsv1beta1.SubsetRevisionLabel: revision}
	if label != "" {
		pod.Labels[appsv1beta1.ReservedPodLabel] = label
	}
	return pod
}

// readySince is a pod that has been ready for so long at the epoch.
func readySince(age time.Duration) *corev1.Pod {
	pod := &corev1.Pod{}
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(epoch.Add(-age))}}
	return pod
}

func running() *corev1.Pod { return &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodRunning}} }

func going(pod *corev1.Pod) *corev1.Pod {
	pod.DeletionTimestamp = &metav1.Time{Time: epoch.Time}
	return pod
}

func schedulableIs(status corev1.ConditionStatus) *appsv1beta1.Condition {
	return &appsv1beta1.Condition{Type: "Schedulable", Status: status, Reason: "reschedule"}
}

// The rows of the spec, at 10 s for a pod and 30 s for a subset.
func TestReservePods(t *testing.T) {
	p := &pace{reserving: true, critical: 10 * time.Second, unschedulable: 30 * time.Second}
	now, old := "web-2", "web-1"
	sec := time.Second
	type want struct {
		Reserved, Overdue int32
		Recheck           time.Duration
		Labels            []string
	}
	for name, tc := range map[string]struct {
		marked    bool
		since     time.Duration // of the update
		partition int32
		pods      []*corev1.Pod
		want      want
	}{
		"pending for 1 s":                  {pods: []*corev1.Pod{labelled(pendingPod(sec), now, "")}, want: want{Recheck: 9 * sec, Labels: []string{"false"}}},
		"runs":                             {pods: []*corev1.Pod{labelled(running(), now, "false")}},
		"pending for 13 s":                 {pods: []*corev1.Pod{labelled(pendingPod(13*sec), now, "")}, want: want{Reserved: 1, Recheck: 30 * sec, Labels: []string{"true"}}},
		"and served before":                {pods: []*corev1.Pod{labelled(pendingPod(13*sec), now, "false")}, want: want{Reserved: 1, Recheck: 30 * sec, Labels: []string{"true"}}},
		"reserved, pending":                {pods: []*corev1.Pod{labelled(pendingPod(13*sec), now, "true")}, want: want{Reserved: 1, Recheck: 30 * sec}},
		"reserved, ready for 10 s":         {pods: []*corev1.Pod{labelled(readySince(10*sec), now, "true")}, want: want{Reserved: 1, Recheck: 20 * sec}},
		"reserved, ready for 35 s":         {pods: []*corev1.Pod{labelled(readySince(35*sec), now, "true")}, want: want{Labels: []string{"false"}}},
		"reserved, ready, old":             {pods: []*corev1.Pod{labelled(readySince(35*sec), old, "true")}, want: want{Reserved: 1, Recheck: 30 * sec}},
		"new in a marked subset":           {marked: true, pods: []*corev1.Pod{labelled(pendingPod(sec), now, "")}, want: want{Reserved: 1, Recheck: 30 * sec, Labels: []string{"true"}}},
		"served in a marked subset":        {marked: true, pods: []*corev1.Pod{labelled(readySince(sec), now, "false")}},
		"ready for long, marked, no label": {marked: true, pods: []*corev1.Pod{labelled(readySince(35*sec), now, "")}, want: want{Labels: []string{"false"}}},
		"old, the update began 11 s ago":   {since: 11 * sec, pods: []*corev1.Pod{labelled(running(), old, "false")}, want: want{Reserved: 1, Overdue: 1, Recheck: 30 * sec, Labels: []string{"true"}}},
		"old, the update began 4 s ago":    {since: 4 * sec, pods: []*corev1.Pod{labelled(running(), old, "false")}, want: want{Recheck: 6 * sec}},
		"old, to be kept by the partition": {since: 11 * sec, partition: 1, pods: []*corev1.Pod{labelled(running(), old, "false")}},
		"reserved, old, kept, ready":       {partition: 1, pods: []*corev1.Pod{labelled(readySince(35*sec), old, "true")}, want: want{Labels: []string{"false"}}},
		"old and ready: its turn comes":    {since: 11 * sec, pods: []*corev1.Pod{labelled(readySince(sec), old, "false")}},
		"old and ready, held up by others": {since: 11 * sec, pods: []*corev1.Pod{labelled(readySince(sec), old, "false"), labelled(pendingPod(sec), now, "true")},
			want: want{Reserved: 2, Overdue: 1, Recheck: 30 * sec, Labels: []string{"true"}}},
		"being deleted":           {since: 11 * sec, pods: []*corev1.Pod{going(labelled(pendingPod(13*sec), old, ""))}},
		"reserved, being deleted": {marked: true, pods: []*corev1.Pod{going(labelled(pendingPod(13*sec), now, "true"))}},
	} {
		t.Run(name, func(t *testing.T) {
			before := schedulableIs(corev1.ConditionTrue)
			if tc.marked {
				before = schedulableIs(corev1.ConditionFalse)
			}
			v := judgeReserve(before, &liveSubset{pods: tc.pods}, rollout{now, epoch.Add(-tc.since), tc.partition}, p, epoch.Time)
			got := want{Reserved: v.reserved, Overdue: v.overdue, Recheck: v.recheck}
			for _, l := range v.labels {
				got.Labels = append(got.Labels, l.to.label())
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
			if v.unschedulable != (v.reserved > 0) {
				t.Errorf("unschedulable: %t", v.unschedulable)
			}
		})
	}
}

// A condition is written when it changes, and a marked subset waits for pods it has yet to make.
func TestReserveCondition(t *testing.T) {
	p := &pace{reserving: true, critical: 10 * time.Second, unschedulable: 30 * time.Second}
	late, fine := labelled(pendingPod(time.Minute), "web-2", "true"), labelled(readySince(time.Hour), "web-2", "false")
	isNow := func(c *appsv1beta1.Condition) string { return string(c.Status) + " " + c.Reason }
	kept := schedulableIs(corev1.ConditionFalse)
	kept.Message = stateOfReserve(&verdict{unschedulable: true, reserved: 1}).Message
	fresh := schedulableIs(corev1.ConditionFalse)
	fresh.Reason = "created"
	for name, tc := range map[string]struct {
		before        *appsv1beta1.Condition
		replicas      int32
		pods          []*corev1.Pod
		want          string
		unschedulable bool
	}{
		"none yet":                {nil, 1, []*corev1.Pod{fine}, "True reschedule", false},
		"as it was":               {schedulableIs(corev1.ConditionTrue), 1, []*corev1.Pod{fine}, "", false},
		"found":                   {schedulableIs(corev1.ConditionTrue), 1, []*corev1.Pod{late}, "False reschedule", true},
		"still":                   {kept, 1, []*corev1.Pod{late}, "", true},
		"over":                    {kept, 1, []*corev1.Pod{fine}, "True reschedule", false},
		"yet to be made":          {fresh, 1, nil, "", true},
		"created and in reserve":  {fresh, 1, []*corev1.Pod{late}, "False reschedule", true},
		"an unmarked one is made": {schedulableIs(corev1.ConditionTrue), 1, nil, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			v := judgeReserve(tc.before, &liveSubset{numbers: numbers{replicas: tc.replicas}, pods: tc.pods}, rollout{"web-2", epoch.Time, 0}, p, epoch.Time)
			got := ""
			if len(v.set) > 0 {
				got = isNow(&v.set[0])
			}
			if got != tc.want || v.unschedulable != tc.unschedulable {
				t.Errorf("condition %q, want %q; unschedulable %t", got, tc.want, v.unschedulable)
			}
		})
	}
}

// reservingUD keeps unschedulable pods in reserve, with times of 20 s and 30 s.
func reservingUD(replicas int32, names ...string) *appsv1beta1.UnitedDeployment {
	var subsets []appsv1beta1.Subset
	for _, name := range names {
		subsets = append(subsets, subset(name, -1))
	}
	ud := adaptive(cloneSetUD(replicas, subsets...))
	ud.Spec.Topology.ScheduleStrategy.Adaptive = &appsv1beta1.AdaptiveUnitedDeploymentStrategy{
		RescheduleCriticalSeconds: ptr.To[int32](20), UnschedulableDuration: ptr.To[int32](30), ReserveUnschedulablePods: true,
	}
	return ud
}

// world plays the workloads' controllers, schedulers and kubelets: a pod waits for ever where full says so, else it is ready.
type world struct {
	t    *testing.T
	ud   *appsv1beta1.UnitedDeployment
	full map[string]bool
	now  time.Time
	live map[string]*liveSubset
	n    int
}

// pass makes one pass after so long, carries it out, and returns the plan.
func (w *world) pass(after time.Duration) *plan {
	w.now = w.now.Add(after)
	s := snapshotOf(w.ud)
	s.now = w.now
	for _, name := range []string{"a", "b", "c"} {
		if l := w.live[name]; l != nil {
			w.settle(name, l)
			s.live = append(s.live, *l)
		}
	}
	p := makePlan(s)
	for _, l := range p.labels {
		l.pod.Labels[appsv1beta1.ReservedPodLabel] = l.to.label()
	}
	for _, m := range append(p.creates, p.updates...) {
		size := p.sizes[m.subset]
		l := atRest(w.ud, m.subset, size)
		if old := w.live[m.subset]; old != nil {
			l.pods = old.pods
		}
		w.live[m.subset] = &l
	}
	status := statusOf(s, p, &outcome{}, metav1.NewTime(w.now))
	w.ud.Status = *status
	return p
}

// settle brings the pods of a workload to its size: those that are not ready go first.
func (w *world) settle(name string, l *liveSubset) {
	for int32(len(l.pods)) < l.replicas {
		w.n++
		pod := labelled(&corev1.Pod{}, "web-2", "")
		pod.UID, pod.CreationTimestamp = types.UID(name+string(rune('0'+w.n%10))), metav1.NewTime(w.now)
		pod.Status = pendingPod(0).Status
		l.pods = append(l.pods, pod)
	}
	l.readyReplicas = 0
	var ready, waiting []*corev1.Pod
	for _, pod := range l.pods {
		if pod.Status.Phase == corev1.PodPending && !w.full[name] {
			pod.Status = readySince(0).Status
			pod.Status.Conditions[0].LastTransitionTime = metav1.NewTime(w.now)
		}
		if pod.Status.Phase == corev1.PodRunning {
			ready = append(ready, pod)
		} else {
			waiting = append(waiting, pod)
		}
	}
	l.pods = append(ready, waiting...)[:l.replicas]
	l.readyReplicas = min(int32(len(ready)), l.replicas)
	l.statusReplicas, l.updatedReplicas, l.updatedReadyReplicas = l.replicas, l.replicas, l.readyReplicas
}

// rests passes until nothing changes, and returns what there is: replicas of each subset, then those of them in reserve.
func (w *world) rests() [2]map[string]int32 {
	w.t.Helper()
	for quiet := 0; quiet < 4; {
		p := w.pass(25 * time.Second)
		if quiet++; len(p.creates)+len(p.updates)+len(p.deletes)+len(p.labels) > 0 {
			quiet = 0
		}
		if w.now.Sub(epoch.Time) > 24*time.Hour {
			w.t.Fatal("never rests")
		}
		w.neverShort(p)
	}
	out := [2]map[string]int32{{}, {}}
	for _, e := range w.ud.Status.SubsetStatuses {
		out[0][e.Name], out[1][e.Name] = e.Replicas, e.ReservedPods
	}
	return out
}

// neverShort checks that no pass gives up ready pods while others that should take their place are not ready.
func (w *world) neverShort(p *plan) {
	w.t.Helper()
	ready, left := int32(0), int32(0)
	for name, l := range w.live {
		n := int32(0)
		for _, pod := range l.pods {
			if pod.Status.Phase == corev1.PodRunning {
				n++
			}
		}
		ready += n
		left += min(n, p.sizes[name].replicas)
	}
	if left < min(ready, *w.ud.Spec.Replicas) {
		w.t.Fatalf("of %d ready pods %d are left, %d are wanted: %v", ready, left, *w.ud.Spec.Replicas, p.sizes)
	}
}

// The rows of the reserve mode: what is reached when pods wait, when the total changes, and when a domain is mended.
func TestReserveRollsOn(t *testing.T) {
	type sizes = map[string]int32
	type row struct {
		total int32
		full  []string
		want  [2]map[string]int32
	}
	for name, tc := range map[string]struct {
		min  []int32
		rows []row
	}{
		"without minima": {nil, []row{
			{2, []string{"a", "b"}, [2]map[string]int32{sizes{"a": 2, "b": 2, "c": 2}, sizes{"a": 2, "b": 2, "c": 0}}},
			{4, []string{"a", "b"}, [2]map[string]int32{sizes{"a": 2, "b": 2, "c": 4}, sizes{"a": 2, "b": 2, "c": 0}}},
			{2, []string{"a", "b"}, [2]map[string]int32{sizes{"a": 2, "b": 2, "c": 2}, sizes{"a": 2, "b": 2, "c": 0}}},
			{4, []string{"a", "b"}, [2]map[string]int32{sizes{"a": 2, "b": 2, "c": 4}, sizes{"a": 2, "b": 2, "c": 0}}},
			{4, []string{"b"}, [2]map[string]int32{sizes{"a": 4, "b": 0, "c": 0}, sizes{"a": 0, "b": 0, "c": 0}}},
			{5, []string{"b"}, [2]map[string]int32{sizes{"a": 5, "b": 0, "c": 0}, sizes{"a": 0, "b": 0, "c": 0}}},
		}},
		"with minima": {[]int32{1, 1}, []row{
			{2, []string{"a", "b"}, [2]map[string]int32{sizes{"a": 1, "b": 1, "c": 2}, sizes{"a": 1, "b": 1, "c": 0}}},
			{4, []string{"a", "b"}, [2]map[string]int32{sizes{"a": 1, "b": 1, "c": 4}, sizes{"a": 1, "b": 1, "c": 0}}},
			{4, []string{"b"}, [2]map[string]int32{sizes{"a": 4, "b": 1, "c": 0}, sizes{"a": 0, "b": 1, "c": 0}}},
			{5, []string{"b"}, [2]map[string]int32{sizes{"a": 5, "b": 1, "c": 0}, sizes{"a": 0, "b": 1, "c": 0}}},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{t: t, ud: reservingUD(0, "a", "b", "c"), now: epoch.Time, live: map[string]*liveSubset{}}
			for i, n := range tc.min {
				w.ud.Spec.Topology.Subsets[i].MinReplicas = ptr.To(intstr.FromInt32(n))
			}
			for i, r := range tc.rows {
				w.ud.Spec.Replicas, w.full = ptr.To(r.total), map[string]bool{}
				for _, name := range r.full {
					w.full[name] = true
				}
				if d := cmp.Diff(r.want, w.rests()); d != "" {
					t.Fatalf("row %d: %s", i, d)
				}
			}
		})
	}
}

// A subset that is added takes over only when its pods are ready.
func TestReserveAddsASubset(t *testing.T) {
	w := &world{t: t, ud: reservingUD(4, "b"), now: epoch.Time, live: map[string]*liveSubset{}}
	w.rests()
	w.ud.Spec.Topology.Subsets = reservingUD(4, "a", "b").Spec.Topology.Subsets
	p := w.pass(0)
	if d := cmp.Diff(map[string]sizing{"a": {replicas: 4}, "b": {replicas: 4}}, p.sizes, cmp.AllowUnexported(sizing{})); d != "" {
		t.Error(d)
	}
	if c := conditions.FindCompat(entry(&w.ud.Status, "a").Conditions, "Schedulable"); c == nil || c.Reason != "created" || len(planEvents(w.ud, p)) != 0 {
		t.Errorf("%+v, told %+v", c, planEvents(w.ud, p))
	}
	if d := cmp.Diff([2]map[string]int32{{"a": 4, "b": 0}, {"a": 0, "b": 0}}, w.rests()); d != "" {
		t.Error(d)
	}
}

// The status tells reserved pods from replicas, and autoscalers do not see them.
func TestReserveStatus(t *testing.T) {
	ud := reservingUD(2, "a", "b")
	a := counted(atRest(ud, "a", sizing{replicas: 2}), 2, 1, 2, 1)
	a.pods = []*corev1.Pod{labelled(readySince(time.Hour), "web-2", "false"), labelled(pendingPod(time.Hour), "web-2", "true")}
	s := snapshotOf(ud, a, counted(atRest(ud, "b", sizing{replicas: 1}), 1, 1, 1, 1))
	s.now = epoch.Time
	p := makePlan(s)
	status := statusOf(s, p, &outcome{}, epoch)
	if status.Replicas != 2 || status.ReservedPods != 1 || entry(status, "a").ReservedPods != 1 || entry(status, "b").ReservedPods != 0 {
		t.Errorf("%+v", status)
	}
	if want := "app=web,apps.kruise.io/united-deployment-reserved-pod=false"; status.LabelSelector != want {
		t.Errorf("labelSelector %s, want %s", status.LabelSelector, want)
	}
	if told := planEvents(ud, p); len(told) != 1 || told[0].Reason != "SubsetUnschedulable" {
		t.Errorf("%+v", told)
	}
	ud.Status = *status
	if p := makePlan(s); len(p.labels)+len(p.updates)+len(p.creates) > 0 || len(planEvents(ud, p)) > 0 || !sameStatus(status, statusOf(s, p, &outcome{}, epoch)) {
		t.Errorf("at rest: %+v", p)
	}
}

// An update gets past pods in reserve, and what was set for that is taken back.
func TestReserveBudget(t *testing.T) {
	percent, none := ptr.To(intstr.FromString("20%")), (*intstr.IntOrString)(nil)
	for name, tc := range map[string]struct {
		template *intstr.IntOrString
		rolling  bool
		live     *intstr.IntOrString
		want     string
	}{
		"in need":               {none, true, percent, "4"},
		"the template has more": {ptr.To(intstr.FromInt32(6)), true, percent, "6"},
		"done":                  {none, false, ptr.To(intstr.FromInt32(4)), "none: maxUnavailable 4 is no longer needed"},
		"done, as the template": {percent, false, ptr.To(intstr.FromInt32(4)), "20%: maxUnavailable 4 is to be 20%"},
		"at rest":               {none, false, percent, ""},
	} {
		t.Run(name, func(t *testing.T) {
			ud := reservingUD(10, "a")
			live := counted(atRest(ud, "a", sizing{replicas: 10}), 10, 6, 10, 6)
			if tc.rolling {
				live.updatedReplicas = 5
			}
			live.maxUnavailable = tc.live
			for range 6 {
				live.pods = append(live.pods, labelled(readySince(time.Hour), "web-2", "false"))
			}
			for range 4 {
				live.pods = append(live.pods, labelled(pendingPod(time.Hour), "web-2", "true"))
			}
			ud.Spec.Template.CloneSetTemplate.Spec.UpdateStrategy.RollingUpdate = &appsv1beta1.RollingUpdateCloneSetStrategy{MaxUnavailable: tc.template}
			s := snapshotOf(ud, live)
			s.now = epoch.Time
			got := ""
			for _, m := range makePlan(s).updates {
				n := cloneSetAdapter{}.read(m.want)
				got = "none: " + m.reason
				if n.maxUnavailable != nil {
					got = n.maxUnavailable.String() + ": " + m.reason
				}
				if tc.rolling {
					got = n.maxUnavailable.String()
				}
			}
			if got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

func TestDeploymentBudget(t *testing.T) {
	ud := deploymentUD(2, subset("a", 2))
	obj, _ := deploymentAdapter{}.draft(&ud.Spec.Template, nil, sizing{replicas: 2, maxUnavailable: ptr.To[int32](2)})
	if got := (deploymentAdapter{}).read(obj).maxUnavailable; got == nil || got.IntValue() != 2 {
		t.Errorf("%v", got)
	}
	ud.Spec.Template.DeploymentTemplate.Spec.Strategy.Type = appsv1.RecreateDeploymentStrategyType
	obj, _ = deploymentAdapter{}.draft(&ud.Spec.Template, nil, sizing{replicas: 2, maxUnavailable: ptr.To[int32](2)})
	if got := (deploymentAdapter{}).read(obj).maxUnavailable; got != nil {
		t.Errorf("Recreate: %v", got)
	}
}

// With StatefulSets pods that find no node are moved.
func TestStatefulSetsReserveNothing(t *testing.T) {
	ud := reservingUD(2, "a")
	if !isReserving(ud) {
		t.Error("of CloneSets")
	}
	ud.Spec.Template = statefulSetUD(2).Spec.Template
	if isReserving(ud) || paceOf(ud) == nil {
		t.Error("of StatefulSets")
	}
}
