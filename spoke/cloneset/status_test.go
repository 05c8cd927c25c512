// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/conditions"
	"github.com/flotilla-sh/flotilla/spoke/podset"
	"github.com/flotilla-sh/flotilla/spoke/podset/execute"
	"github.com/flotilla-sh/flotilla/spoke/rollout"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// seen makes a view of so many pods of each kind.
func seen(oldAvailable, newAvailable, newUnavailable int) *podset.View {
	v := &podset.View{Snapshot: &podset.Snapshot{}}
	add := func(n int, updated, available bool) {
		for range n {
			pod := &corev1.Pod{}
			if available {
				pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
			}
			v.Active = append(v.Active, rollout.Pod{Pod: pod, Updated: updated, Available: available})
		}
	}
	add(oldAvailable, false, true)
	add(newAvailable, true, true)
	add(newUnavailable, true, false)
	return v
}

func factsOf(set *appsv1beta1.CloneSet, v *podset.View, replicas, partition int) *facts {
	return &facts{
		set: withDefaults(set), view: v, now: noon, selector: "app=web", updateRevision: "web-2", currentRevision: "web-1",
		budget: rollout.Budget{Replicas: replicas, Partition: partition},
	}
}

func TestCounters(t *testing.T) {
	set := &appsv1beta1.CloneSet{ObjectMeta: metav1.ObjectMeta{Generation: 7}}
	got, _ := statusOf(factsOf(set, seen(2, 1, 1), 4, 1))
	want := appsv1beta1.CloneSetStatus{
		ObservedGeneration: 7, Replicas: 4, ReadyReplicas: 3, AvailableReplicas: 3, UpdatedReplicas: 2, UpdatedReadyReplicas: 1,
		UpdatedAvailableReplicas: 1, ExpectedUpdatedReplicas: 3, UpdateRevision: "web-2", CurrentRevision: "web-1", LabelSelector: "app=web",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// The current revision moves when every pod is updated, ready or not.
	if got, _ := statusOf(factsOf(set, seen(0, 1, 3), 4, 0)); got.CurrentRevision != "web-2" {
		t.Errorf("current %s", got.CurrentRevision)
	}
	if got, _ := statusOf(factsOf(set, seen(0, 3, 0), 4, 0)); got.CurrentRevision != "web-1" {
		t.Errorf("current %s with a pod missing", got.CurrentRevision)
	}
}

func TestProgressing(t *testing.T) {
	old := func(reason string, ago time.Duration) []appsv1beta1.Condition {
		at := metav1.NewTime(noon.Add(-ago))
		status := corev1.ConditionTrue
		if reason == appsv1beta1.CloneSetProgressDeadlineExceeded {
			status = corev1.ConditionFalse
		}
		return []appsv1beta1.Condition{{Type: appsv1beta1.CloneSetConditionProgressing, Status: status, Reason: reason, LastUpdateTime: &at, LastTransitionTime: at}}
	}
	paused := func(s *appsv1beta1.CloneSet) {
		s.Spec.UpdateStrategy.RollingUpdate = &appsv1beta1.RollingUpdateCloneSetStrategy{Paused: true}
	}
	for name, tc := range map[string]struct {
		change    func(*appsv1beta1.CloneSet)
		before    []appsv1beta1.Condition
		view      *podset.View
		partition int
		reason    string
		requeue   time.Duration
		kept      bool
	}{
		"all there":                 {nil, nil, seen(0, 4, 0), 0, appsv1beta1.CloneSetAvailable, 0, false},
		"available beats paused":    {paused, nil, seen(0, 4, 0), 0, appsv1beta1.CloneSetAvailable, 0, false},
		"paused":                    {paused, nil, seen(2, 2, 0), 0, appsv1beta1.CloneSetProgressPaused, 0, false},
		"partition reached":         {nil, nil, seen(3, 1, 0), 3, appsv1beta1.CloneSetProgressPartitionAvailable, 0, false},
		"partition not yet":         {nil, nil, seen(3, 0, 1), 3, appsv1beta1.CloneSetProgressUpdated, 10 * time.Second, false},
		"moving":                    {nil, old(appsv1beta1.CloneSetProgressUpdated, 4*time.Second), seen(3, 0, 1), 0, appsv1beta1.CloneSetProgressUpdated, 7 * time.Second, true},
		"too long":                  {nil, old(appsv1beta1.CloneSetProgressUpdated, 10*time.Second), seen(3, 0, 1), 0, appsv1beta1.CloneSetProgressDeadlineExceeded, 0, false},
		"too long sticks":           {nil, old(appsv1beta1.CloneSetProgressDeadlineExceeded, time.Second), seen(2, 1, 1), 0, appsv1beta1.CloneSetProgressDeadlineExceeded, 0, true},
		"late, then done":           {nil, old(appsv1beta1.CloneSetProgressDeadlineExceeded, time.Hour), seen(0, 4, 0), 0, appsv1beta1.CloneSetAvailable, 0, false},
		"a new phase, a new clock":  {nil, old(appsv1beta1.CloneSetAvailable, time.Hour), seen(3, 0, 1), 0, appsv1beta1.CloneSetProgressUpdated, 10 * time.Second, false},
		"no deadline, no condition": {func(s *appsv1beta1.CloneSet) { s.Spec.ProgressDeadlineSeconds = nil }, old(appsv1beta1.CloneSetAvailable, time.Hour), seen(3, 0, 1), 0, "", 0, false},
		"greatest deadline is none": {func(s *appsv1beta1.CloneSet) { s.Spec.ProgressDeadlineSeconds = ptr.To[int32](math.MaxInt32) }, nil, seen(3, 0, 1), 0, "", 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			set := &appsv1beta1.CloneSet{Spec: appsv1beta1.CloneSetSpec{ProgressDeadlineSeconds: ptr.To[int32](10)}}
			set.Status.Conditions = tc.before
			if tc.change != nil {
				tc.change(set)
			}
			got, requeue := statusOf(factsOf(set, tc.view, 4, tc.partition))
			c := conditions.FindCompat(got.Conditions, appsv1beta1.CloneSetConditionProgressing)
			if c == nil {
				if tc.reason != "" {
					t.Fatal("no condition")
				}
				return
			}
			if c.Reason != tc.reason || requeue != tc.requeue {
				t.Errorf("%s after %v, want %s after %v", c.Reason, requeue, tc.reason, tc.requeue)
			}
			if kept := tc.before != nil && c.LastUpdateTime.Equal(tc.before[0].LastUpdateTime); kept != tc.kept {
				t.Errorf("lastUpdateTime kept: %v", kept)
			}
		})
	}
}

// Failures are told, and go away with the first pass that succeeds (CS-28).
func TestFailuresClear(t *testing.T) {
	set := &appsv1beta1.CloneSet{}
	f := factsOf(set, seen(0, 1, 0), 2, 0)
	f.scaleErr, f.updateErr = errors.New("quota"), errors.New("invalid")
	got, _ := statusOf(f)
	for kind, message := range map[string]string{appsv1beta1.CloneSetConditionFailedScale: "quota", appsv1beta1.CloneSetConditionFailedUpdate: "invalid"} {
		if c := conditions.FindCompat(got.Conditions, kind); c == nil || c.Status != corev1.ConditionTrue || c.Message != message {
			t.Errorf("%s: %+v", kind, c)
		}
	}
	set.Status = got
	if got, _ := statusOf(factsOf(set, seen(0, 1, 0), 2, 0)); len(got.Conditions) != 0 {
		t.Errorf("conditions left: %+v", got.Conditions)
	}
}

// A deletion for an update that is refused, by a budget or a webhook, is a failure to update.
func TestFailuresAreSorted(t *testing.T) {
	refused := errors.New("refused")
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-x"}}
	for name, tc := range map[string]struct {
		fact          execute.Fact
		scale, update bool
	}{
		"creation":             {execute.Fact{Kind: execute.Created, Pod: pod, Err: refused}, true, false},
		"deletion":             {execute.Fact{Kind: execute.Deleted, Pod: pod, Err: refused}, true, false},
		"deletion to recreate": {execute.Fact{Kind: execute.Deleted, Pod: pod, ForUpdate: true, Err: refused}, false, true},
		"change":               {execute.Fact{Kind: execute.Changed, Pod: pod, Err: refused}, false, true},
		"success":              {execute.Fact{Kind: execute.Deleted, Pod: pod, ForUpdate: true}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := &pass{stored: &appsv1beta1.CloneSet{}, outcome: execute.Outcome{Facts: []execute.Fact{tc.fact}}}
			if scale, update := p.failures(); (scale != nil) != tc.scale || (update != nil) != tc.update {
				t.Errorf("scale %v, update %v", scale, update)
			}
		})
	}
}

func TestWaitingIsTold(t *testing.T) {
	set := &appsv1beta1.CloneSet{}
	f := factsOf(set, seen(0, 1, 0), 2, 0)
	f.waits = []podset.Wait{
		{Reason: podset.WaitInPlaceImpossible, Message: "cannot", Pods: []string{"x"}, Failed: true},
		{Reason: podset.WaitMaxUnavailable, Message: "used up", Pods: []string{"a", "b", "c", "d", "e"}},
		{Reason: podset.WaitGrace, Message: "grace", Pods: []string{"a", "b"}, Until: noon.Add(time.Minute)},
		{Reason: podset.WaitMinReady, Message: "min ready", Pods: []string{"f"}, Until: noon.Add(1500 * time.Millisecond)},
	}
	got, _ := statusOf(f)
	c := conditions.FindCompat(got.Conditions, appsv1beta1.CloneSetConditionWaiting)
	const want = "cannot (x); used up (a, b, c and 2 more); grace (a, b), the first until 2026-01-01T12:01:00Z; min ready (f), until 2026-01-01T12:00:01Z"
	if c == nil || c.Reason != podset.WaitInPlaceImpossible || c.Message != want {
		t.Errorf("condition %+v", c)
	}
	set.Status = got
	if got, _ := statusOf(factsOf(set, seen(0, 2, 0), 2, 0)); len(got.Conditions) != 0 {
		t.Errorf("conditions left: %+v", got.Conditions)
	}
}

// However much is waited for, the message has its bounds.
func TestWaitingIsBounded(t *testing.T) {
	f := factsOf(&appsv1beta1.CloneSet{}, seen(0, 1, 0), 2, 0)
	for i := range 50 {
		f.waits = append(f.waits, podset.Wait{Reason: podset.WaitHook, Message: fmt.Sprint("hook ", i)})
	}
	got, _ := statusOf(f)
	if m := got.Conditions[0].Message; !strings.HasSuffix(m, "hook 7; 42 more") {
		t.Errorf("message %q", m)
	}
	f.waits = []podset.Wait{{Reason: podset.WaitHook, Message: strings.Repeat("ä", 5000)}}
	if got, _ := statusOf(f); len(got.Conditions[0].Message) > longestMessage {
		t.Errorf("%d bytes", len(got.Conditions[0].Message))
	}
}

// A set whose selector cannot be worked with says so, keeps its counters, and was seen.
func TestRefused(t *testing.T) {
	set := &appsv1beta1.CloneSet{ObjectMeta: metav1.ObjectMeta{Generation: 7}}
	set.Status = appsv1beta1.CloneSetStatus{ObservedGeneration: 6, Replicas: 3, ReadyReplicas: 2}
	got := refused(set, "spec.selector is empty", noon)
	c := conditions.FindCompat(got.Conditions, appsv1beta1.CloneSetConditionWaiting)
	if c == nil || c.Reason != waitSelector || c.Message != "spec.selector is empty" || got.ObservedGeneration != 7 || got.Replicas != 3 || got.ReadyReplicas != 2 {
		t.Errorf("status %+v", got)
	}
	set.Status = got
	if diff := cmp.Diff(got, refused(set, "spec.selector is empty", noon.Add(time.Hour))); diff != "" {
		t.Errorf("written again: %s", diff)
	}
}

func TestOnlyCounters(t *testing.T) {
	base := appsv1beta1.CloneSetStatus{Replicas: 1, UpdateRevision: "a"}
	for name, tc := range map[string]struct {
		change func(*appsv1beta1.CloneSetStatus)
		want   bool
	}{
		"counters": {func(s *appsv1beta1.CloneSetStatus) { s.Replicas, s.UpdatedReadyReplicas = 5, 3 }, true},
		"waiting": {func(s *appsv1beta1.CloneSetStatus) {
			s.Conditions = []appsv1beta1.Condition{{Type: appsv1beta1.CloneSetConditionWaiting}}
		}, true},
		"failure": {func(s *appsv1beta1.CloneSetStatus) {
			s.Conditions = []appsv1beta1.Condition{{Type: appsv1beta1.CloneSetConditionFailedScale}}
		}, false},
		"revision":   {func(s *appsv1beta1.CloneSetStatus) { s.UpdateRevision = "b" }, false},
		"generation": {func(s *appsv1beta1.CloneSetStatus) { s.ObservedGeneration = 2 }, false},
		"expected":   {func(s *appsv1beta1.CloneSetStatus) { s.ExpectedUpdatedReplicas = 2 }, false},
	} {
		after := *base.DeepCopy()
		tc.change(&after)
		if got := onlyCounters(&base, &after); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Condition Waiting tells since when nothing has moved: neither another message nor pods that come and go move its
// lastUpdateTime, another reason and progress do.
func TestWaitingSince(t *testing.T) {
	set := &appsv1beta1.CloneSet{}
	at := func(minute int, v *podset.View, reason, message string) string {
		t.Helper()
		f := factsOf(set, v, 4, 0)
		f.now = noon.Add(time.Duration(minute) * time.Minute)
		f.waits = []podset.Wait{{Reason: reason, Message: message}}
		set.Status, _ = statusOf(f)
		c := conditions.FindCompat(set.Status.Conditions, appsv1beta1.CloneSetConditionWaiting)
		if !c.LastTransitionTime.Time.Equal(noon) {
			t.Errorf("minute %d: lastTransitionTime %s", minute, c.LastTransitionTime)
		}
		return c.LastUpdateTime.Format("04")
	}
	for i, step := range []struct {
		view            *podset.View
		reason, message string
		want            string
	}{
		{seen(4, 0, 0), podset.WaitReadiness, "a", "00"},
		{seen(3, 1, 0), podset.WaitReadiness, "a", "01"}, // one more is updated
		{seen(3, 1, 0), podset.WaitReadiness, "b", "01"},
		{seen(3, 0, 1), podset.WaitReadiness, "b", "01"}, // one less is available
		{seen(3, 0, 1), podset.WaitMaxUnavailable, "b", "04"},
		{seen(3, 1, 0), podset.WaitMaxUnavailable, "b", "05"}, // and it is again
		{seen(2, 1, 0), podset.WaitMaxUnavailable, "b", "05"}, // one is gone
		{seen(3, 1, 0), podset.WaitMaxUnavailable, "b", "07"},
	} {
		if got := at(i, step.view, step.reason, step.message); got != step.want {
			t.Errorf("step %d: minute %s, want %s", i, got, step.want)
		}
	}
}

func TestPartitionReached(t *testing.T) {
	set := &appsv1beta1.CloneSet{Spec: appsv1beta1.CloneSetSpec{UpdateStrategy: appsv1beta1.CloneSetUpdateStrategy{
		Type: appsv1beta1.CloneSetRollingUpdateStrategyType, RollingUpdate: &appsv1beta1.RollingUpdateCloneSetStrategy{},
	}}}
	for i, step := range []struct {
		view      *podset.View
		partition int
		revision  string
		want      string
	}{
		{seen(4, 0, 0), 2, "web-2", ""},
		{seen(2, 1, 1), 2, "web-2", ""},
		{seen(2, 2, 0), 2, "web-2", "02"},
		{seen(2, 0, 1), 2, "web-2", "02"}, // whatever becomes of pods
		{seen(2, 0, 2), 1, "web-2", ""},
		{seen(1, 3, 0), 1, "web-2", "05"},
		{seen(4, 0, 0), 1, "web-3", ""},
		{seen(4, 0, 0), 4, "web-3", "07"}, // all are kept
		{seen(0, 4, 0), 0, "web-3", ""},
	} {
		set.Spec.UpdateStrategy.RollingUpdate.Partition = ptr.To(intstr.FromInt(step.partition))
		f := factsOf(set, step.view, 4, step.partition)
		f.now, f.updateRevision = noon.Add(time.Duration(i)*time.Minute), step.revision
		set.Status, _ = statusOf(f)
		got := ""
		if c := conditions.FindCompat(set.Status.Conditions, appsv1beta1.CloneSetConditionPartitionReached); c != nil {
			got = c.LastTransitionTime.Format("04")
		}
		if got != step.want {
			t.Errorf("step %d: reached at minute %q, want %q", i, got, step.want)
		}
	}
}
