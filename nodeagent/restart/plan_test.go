// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/nodeagent/cri"
)

var t0 = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

// requestOf names containers, each with instance <name>1 and restart count 0 when it was made.
func requestOf(strategy v1beta1.ContainerRecreateRequestStrategy, names ...string) *Request {
	r := &Request{}
	r.Namespace, r.Name, r.UID = "ns", "r", "r-uid"
	r.Labels = map[string]string{v1beta1.ContainerRecreateRequestPodUIDKey: "pod-uid"}
	r.Spec.PodName, r.Spec.Strategy, r.Status.Phase = "p", &strategy, recreating
	for _, name := range names {
		r.Spec.Containers = append(r.Spec.Containers, Container{
			Name: name, StatusContext: &v1beta1.ContainerRecreateRequestContainerContext{ContainerID: "containerd://" + name + "1"},
		})
	}
	return r
}

func instance(id string, state cri.ContainerState, attempt int32) Instance {
	return Instance{ID: "containerd://" + id, State: state, Attempt: attempt, StartedAt: t0.Add(-10 * time.Second)}
}

func snapshotOf(id string, ready bool) []v1beta1.ContainerRecreateRequestContainerStatus {
	return []v1beta1.ContainerRecreateRequestContainerStatus{{Name: "a", ContainerID: "containerd://" + id, Ready: ready}}
}

// One row for each line of the table in the package comment, and what lies between.
func TestNext(t *testing.T) {
	running, exited := cri.ContainerRunning, cri.ContainerExited
	force := v1beta1.ContainerRecreateRequestStrategy{ForceRecreate: true}
	tests := map[string]struct {
		strategy v1beta1.ContainerRecreateRequestStrategy
		prev     State
		newest   *Instance
		waiting  string
		snapshot []v1beta1.ContainerRecreateRequestContainerStatus
		want     State
	}{
		"succeeded stays":            {prev: State{Phase: succeeded, IsKilled: true}, newest: ptr.To(instance("a1", running, 0)), want: State{Phase: succeeded, IsKilled: true}},
		"failed stays":               {prev: State{Phase: failed, Message: "x"}, want: State{Phase: failed, Message: "x"}},
		"no instance":                {want: State{Phase: pending, Message: missing}},
		"no instance, stopped once":  {prev: State{Phase: recreating, IsKilled: true}, want: State{Phase: pending, Message: missing, IsKilled: true}},
		"no instance, being stopped": {prev: State{Phase: pending, Message: "stopping containerd://a1"}, want: State{Phase: pending, Message: missing, IsKilled: true}},
		"it runs":                    {newest: ptr.To(instance("a1", running, 0)), want: State{Phase: pending}},
		"it ended":                   {newest: ptr.To(instance("a1", exited, 0)), want: State{Phase: recreating}},
		"it ended, stopped by us":    {prev: State{Phase: recreating, IsKilled: true}, newest: ptr.To(instance("a1", exited, 0)), want: State{Phase: recreating, IsKilled: true}},
		"CR-04: it waits": {newest: ptr.To(instance("a1", exited, 0)), waiting: "CrashLoopBackOff",
			want: State{Phase: recreating, Message: "the container is waiting (CrashLoopBackOff): the kubelet starts the next instance"}},
		"CR-04: it waits, forced": {strategy: force, newest: ptr.To(instance("a1", exited, 0)), waiting: "CrashLoopBackOff",
			want: State{Phase: failed, Message: "the container is waiting (CrashLoopBackOff): there is no instance to stop, the kubelet starts the next one"}},
		"it waits after we stopped it by force": {strategy: force, prev: State{Phase: recreating, IsKilled: true}, newest: ptr.To(instance("a1", exited, 0)), waiting: "CrashLoopBackOff",
			want: State{Phase: recreating, IsKilled: true, Message: "the container is waiting (CrashLoopBackOff): the kubelet starts the next instance"}},
		"it waits after we stopped it by force and were killed": {strategy: force, prev: State{Phase: pending, Message: "stopping containerd://a1"}, newest: ptr.To(instance("a1", exited, 0)), waiting: "CrashLoopBackOff",
			want: State{Phase: recreating, IsKilled: true, Message: "the container is waiting (CrashLoopBackOff): the kubelet starts the next instance"}},
		"forced":                             {strategy: force, newest: ptr.To(instance("a1", running, 0)), want: State{Phase: pending}},
		"forced, restarted before":           {strategy: force, newest: ptr.To(instance("a2", running, 1)), snapshot: snapshotOf("a2", true), want: State{Phase: pending}},
		"forced, being stopped":              {strategy: force, prev: State{Phase: pending, Message: "stopping containerd://a1"}, newest: ptr.To(instance("a1", running, 0)), want: State{Phase: pending, Message: "stopping containerd://a1"}},
		"forced, stopped, agent was killed":  {strategy: force, prev: State{Phase: pending, Message: "stopping containerd://a1"}, newest: ptr.To(instance("a2", running, 1)), want: State{Phase: recreating, IsKilled: true}},
		"forced, stopped":                    {strategy: force, prev: State{Phase: recreating, IsKilled: true}, newest: ptr.To(instance("a2", running, 1)), want: State{Phase: recreating, IsKilled: true}},
		"restarted, not seen yet":            {newest: ptr.To(instance("a2", running, 1)), want: State{Phase: recreating}},
		"restarted, of the same ID":          {newest: ptr.To(instance("a1", running, 1)), want: State{Phase: recreating}},
		"restarted, not ready":               {newest: ptr.To(instance("a2", running, 1)), snapshot: snapshotOf("a2", false), want: State{Phase: recreating}},
		"an instance before was ready":       {newest: ptr.To(instance("a3", running, 2)), snapshot: snapshotOf("a2", true), want: State{Phase: recreating}},
		"restarted and ready":                {prev: State{Phase: recreating, IsKilled: true}, newest: ptr.To(instance("a2", running, 1)), snapshot: snapshotOf("a2", true), want: State{Phase: succeeded, IsKilled: true}},
		"CR-03: not restarted, though ready": {newest: ptr.To(instance("a1", running, 0)), snapshot: snapshotOf("a1", true), want: State{Phase: pending}},
		"restarted and ready, too young": {strategy: v1beta1.ContainerRecreateRequestStrategy{MinStartedSeconds: 11}, newest: ptr.To(instance("a2", running, 1)), snapshot: snapshotOf("a2", true),
			want: State{Phase: recreating}},
		"old enough": {strategy: v1beta1.ContainerRecreateRequestStrategy{MinStartedSeconds: 9}, newest: ptr.To(instance("a2", running, 1)), snapshot: snapshotOf("a2", true),
			want: State{Phase: succeeded}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := requestOf(tc.strategy, "a")
			r.Status.ContainerStatusSnapshot = tc.snapshot
			f := Facts{Newest: map[string]Instance{}, Waiting: map[string]string{}, Now: t0}
			if tc.newest != nil {
				f.Newest["a"] = *tc.newest
			}
			if tc.waiting != "" {
				f.Waiting["a"] = tc.waiting
			}
			if tc.want.Name = "a"; tc.prev.Phase != "" {
				tc.prev.Name = "a"
			}
			if diff := cmp.Diff(tc.want, next(tc.prev, &r.Spec.Containers[0], r, f)); diff != "" {
				t.Errorf("state (-want +got):\n%s", diff)
			}
		})
	}
}

// What follows from states that are written already.
func TestWalk(t *testing.T) {
	ordered := v1beta1.ContainerRecreateRequestStrategy{OrderedRecreate: true}
	ignore := v1beta1.ContainerRecreateRequestStrategy{FailurePolicy: v1beta1.ContainerRecreateRequestFailurePolicyIgnore}
	const p, r, s, f = pending, recreating, succeeded, failed
	tests := map[string]struct {
		strategy v1beta1.ContainerRecreateRequestStrategy
		phases   []v1beta1.ContainerRecreateRequestPhase
		missing  bool // the second has no instance
		stop     int  // -1 for none
		complete bool
	}{
		"the first":                       {phases: []v1beta1.ContainerRecreateRequestPhase{p, p}, stop: 0},
		"one a pass":                      {phases: []v1beta1.ContainerRecreateRequestPhase{r, p, p}, stop: 1},
		"in order the first is awaited":   {strategy: ordered, phases: []v1beta1.ContainerRecreateRequestPhase{r, p}, stop: -1},
		"in order the next":               {strategy: ordered, phases: []v1beta1.ContainerRecreateRequestPhase{s, p}, stop: 1},
		"a missing one holds the rest up": {phases: []v1beta1.ContainerRecreateRequestPhase{r, p, p}, missing: true, stop: -1},
		"all under way":                   {phases: []v1beta1.ContainerRecreateRequestPhase{r, r}, stop: -1},
		"all done":                        {phases: []v1beta1.ContainerRecreateRequestPhase{s, s}, stop: -1, complete: true},
		"a failure ends it":               {phases: []v1beta1.ContainerRecreateRequestPhase{f, p}, stop: -1, complete: true},
		"a failure ends it, others go on": {phases: []v1beta1.ContainerRecreateRequestPhase{r, f, p}, stop: -1, complete: true},
		"a failure is ignored":            {strategy: ignore, phases: []v1beta1.ContainerRecreateRequestPhase{f, p}, stop: 1},
		"failures ignored to the end":     {strategy: ignore, phases: []v1beta1.ContainerRecreateRequestPhase{f, s}, stop: -1, complete: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			names := []string{"a", "b", "c"}[:len(tc.phases)]
			req := requestOf(tc.strategy, names...)
			facts := Facts{Newest: map[string]Instance{}, Now: t0}
			for i, phase := range tc.phases {
				state := State{Name: names[i], Phase: phase, IsKilled: phase == r || phase == s}
				id, attempt := names[i]+"1", int32(0)
				if phase == r || phase == s {
					id, attempt = names[i]+"2", 1
				}
				facts.Newest[names[i]] = instance(id, cri.ContainerRunning, attempt)
				if tc.missing && i == 1 {
					delete(facts.Newest, names[i])
					state.Message = missing
				}
				req.Status.ContainerRecreateStates = append(req.Status.ContainerRecreateStates, state)
			}
			got := MakePlan(req, facts)
			stop := -1
			if got.Stop != nil {
				stop = got.Stop.At
				if want := "containerd://" + names[stop] + "1"; got.Stop.ID != want {
					t.Errorf("stops %s, want %s", got.Stop.ID, want)
				}
			}
			if stop != tc.stop || got.Complete != tc.complete || got.Changed {
				t.Errorf("stops %d, complete %v, changed %v; want %d, %v, false", stop, got.Complete, got.Changed, tc.stop, tc.complete)
			}
			if under := got.Again > 0; under == tc.complete && name != "a failure ends it" && name != "a failure ends it, others go on" {
				t.Errorf("looks again after %s", got.Again)
			}
		})
	}
}

// States are written before anything is done on their account, and marked as stopped where somebody else restarted.
func TestStatesAreWrittenFirst(t *testing.T) {
	r := requestOf(v1beta1.ContainerRecreateRequestStrategy{}, "a", "b")
	f := Facts{Newest: map[string]Instance{"a": instance("a2", cri.ContainerRunning, 1), "b": instance("b1", cri.ContainerRunning, 0)}, Now: t0}
	p := MakePlan(r, f)
	if !p.Changed || p.Stop != nil || p.Complete {
		t.Fatalf("%+v", p)
	}
	r.Status.ContainerRecreateStates = p.States
	p = MakePlan(r, f)
	want := []State{{Name: "a", Phase: recreating, IsKilled: true}, {Name: "b", Phase: pending}}
	if diff := cmp.Diff(want, p.States); diff != "" || !p.Changed || p.Stop == nil || p.Stop.At != 1 {
		t.Errorf("%+v\n%s", p, diff)
	}
}

func TestChoose(t *testing.T) {
	at := func(name string, age int, change ...func(*Request)) Request {
		r := *requestOf(v1beta1.ContainerRecreateRequestStrategy{}, "a")
		r.Name, r.Status.Phase = name, ""
		r.CreationTimestamp = metav1.NewTime(t0.Add(-time.Duration(age) * time.Second))
		for _, f := range change {
			f(&r)
		}
		return r
	}
	phase := func(p v1beta1.ContainerRecreateRequestPhase) func(*Request) {
		return func(r *Request) { r.Status.Phase = p }
	}
	going := func(r *Request) { r.DeletionTimestamp = ptr.To(metav1.NewTime(t0)) }
	other := func(r *Request) { r.Labels[v1beta1.ContainerRecreateRequestPodUIDKey] = "other" }
	tests := map[string]struct {
		list    []Request
		picked  string
		waiting []string
	}{
		"none":                    {},
		"the oldest":              {list: []Request{at("young", 1), at("old", 2)}, picked: "old", waiting: []string{"young"}},
		"the name decides":        {list: []Request{at("b", 1), at("a", 1)}, picked: "a", waiting: []string{"b"}},
		"the one under way":       {list: []Request{at("old", 2), at("now", 1, phase(recreating))}, picked: "now", waiting: []string{"old"}},
		"who waits goes first":    {list: []Request{at("old", 2), at("waits", 1, phase(pending))}, picked: "waits", waiting: []string{"old"}},
		"told once":               {list: []Request{at("now", 3, phase(recreating)), at("waits", 2, phase(pending))}, picked: "now"},
		"CR-01: the first ended":  {list: []Request{at("first", 3, phase(completed)), at("second", 2, phase(pending))}, picked: "second"},
		"CR-01: the first goes":   {list: []Request{at("first", 3, phase(recreating), going), at("second", 2, phase(pending))}, picked: "second"},
		"of another pod":          {list: []Request{at("other", 3, phase(recreating), other), at("mine", 2)}, picked: "mine"},
		"of nobody":               {list: []Request{at("other", 3, other)}},
		"an ended one of another": {list: []Request{at("a", 3, phase(completed)), at("b", 3, other)}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			picked, waiting := Choose(tc.list, "pod-uid")
			got := ""
			if picked != nil {
				got = picked.Name
			}
			var names []string
			for _, w := range waiting {
				names = append(names, w.Name)
			}
			if diff := cmp.Diff(tc.waiting, names); got != tc.picked || diff != "" {
				t.Errorf("picked %q, want %q; waiting (-want +got):\n%s", got, tc.picked, diff)
			}
		})
	}
}

// A number of seconds that no duration can hold is a long time.
func TestLongTimes(t *testing.T) {
	r := requestOf(v1beta1.ContainerRecreateRequestStrategy{
		UnreadyGracePeriodSeconds: ptr.To(int64(math.MaxInt64)), TerminationGracePeriodSeconds: ptr.To(int64(1e10)),
	}, "a")
	r.Status.Conditions = []metav1.Condition{{Type: v1beta1.PreRecreateGraceCondition, Status: "True", LastTransitionTime: metav1.NewTime(t0)}}
	const year = 365 * 24 * time.Hour
	if left, began := graceLeft(r, t0.Add(time.Minute)); left < year || !began {
		t.Errorf("not ready for %s more", left)
	}
	if grace := graceOf(r, &corev1.Pod{}); grace < year {
		t.Errorf("stopped by force after %s", grace)
	}
}

func TestGraceLeft(t *testing.T) {
	r := requestOf(v1beta1.ContainerRecreateRequestStrategy{}, "a")
	if left, began := graceLeft(r, t0); left != 0 || !began {
		t.Errorf("none is asked for: %s, %v", left, began)
	}
	r.Spec.Strategy.UnreadyGracePeriodSeconds = ptr.To(int64(5))
	if _, began := graceLeft(r, t0); began {
		t.Error("the pod is not known to be unready")
	}
	r.Status.Conditions = []metav1.Condition{{Type: v1beta1.PreRecreateGraceCondition, Status: "True", LastTransitionTime: metav1.NewTime(t0)}}
	for after, want := range map[time.Duration]time.Duration{0: 5*time.Second + graceSlack, 2 * time.Second: 3*time.Second + graceSlack, time.Minute: 0} {
		if left, began := graceLeft(r, t0.Add(after)); left != want || !began {
			t.Errorf("after %s: %s, %v", after, left, began)
		}
	}
}

// The pod may have been made anew, and the cache still have the one before: nothing but a second look tells when it has
// the new one.
func TestPodNotKnownYet(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Request)
		again  bool
	}{
		"for a new pod":     {func(*Request) {}, true},
		"for one that went": {func(r *Request) { r.Status.Phase = completed }, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := requestOf(v1beta1.ContainerRecreateRequestStrategy{}, "a")
			r.Labels[v1beta1.ContainerRecreateRequestPodUIDKey] = "new-uid"
			tc.change(r)
			w := newWorld(t, 1, r)
			got, err := (&Reconciler{Client: w.live, Live: w.live, Node: "node"}).Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: "p"}})
			if err != nil || (got.RequeueAfter > 0) != tc.again {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

// A container that nobody starts again waits with a reason: to users it would look hung.
func TestOver(t *testing.T) {
	end := func(code int32) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code}}
	}
	own, never := corev1.ContainerRestartPolicyAlways, corev1.ContainerRestartPolicyNever
	for name, tc := range map[string]struct {
		policy corev1.RestartPolicy
		own    *corev1.ContainerRestartPolicy
		rules  []corev1.ContainerRestartRule
		state  corev1.ContainerState
		want   corev1.RestartPolicy
	}{
		"never":                {corev1.RestartPolicyNever, nil, nil, end(1), corev1.RestartPolicyNever},
		"on failure, well":     {corev1.RestartPolicyOnFailure, nil, nil, end(0), corev1.RestartPolicyOnFailure},
		"on failure, badly":    {corev1.RestartPolicyOnFailure, nil, nil, end(1), ""},
		"always":               {corev1.RestartPolicyAlways, nil, nil, end(0), ""},
		"runs":                 {corev1.RestartPolicyNever, nil, nil, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, ""},
		"always, by its own":   {corev1.RestartPolicyNever, &own, nil, end(0), ""},
		"says nothing, as yet": {"", nil, nil, end(0), ""},
		"never but by rules":   {corev1.RestartPolicyAlways, &never, []corev1.ContainerRestartRule{{Action: corev1.ContainerRestartRuleActionRestart}}, end(1), ""},
	} {
		pod := &corev1.Pod{Spec: corev1.PodSpec{RestartPolicy: tc.policy, Containers: []corev1.Container{{Name: "a", RestartPolicy: tc.own, RestartPolicyRules: tc.rules}}}}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "a", State: tc.state}}
		if got := overIn(pod)["a"]; got != tc.want {
			t.Errorf("%s: %q", name, got)
		}
	}
	f := Facts{Newest: map[string]Instance{"a": instance("a1", cri.ContainerExited, 0)}, Over: map[string]corev1.RestartPolicy{"a": "Never"}, Now: t0}
	got := MakePlan(requestOf(v1beta1.ContainerRecreateRequestStrategy{}, "a"), f).States[0]
	want := State{Name: "a", Phase: recreating, Message: "the container has ended, and nothing starts it again (restartPolicy Never): only activeDeadlineSeconds or its deletion ends this request"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
