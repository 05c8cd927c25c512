// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
)

func podAt(revision string, ready bool, change ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{appsv1beta1.SubsetRevisionLabel: revision}}}
	pod.Status.Phase = corev1.PodRunning
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: status}}
	for _, f := range change {
		f(pod)
	}
	return pod
}

func going(p *corev1.Pod) { now := metav1.Now(); p.DeletionTimestamp = &now }

func waiting(reason, message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: "main", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
		})
	}
}

func unschedulable(message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodPending
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: message})
	}
}

func TestStatusOf(t *testing.T) {
	ud := parse(t, udText)
	ud.SetGeneration(4)
	ud.Object["status"] = map[string]any{"observedGeneration": int64(4), "currentRevision": "web-1", "updatedRevision": "web-2"}
	seen := observation{object: ud, subsets: []subsetView{
		{name: "b", desired: 2, partition: 1, replicas: 1, ready: 1, available: 1, countPods: true, pods: []*corev1.Pod{podAt("web-1", true)}},
		{name: "a", desired: 3, replicas: 3, ready: 2, available: 2, countPods: true, pods: []*corev1.Pod{
			podAt("web-2", true), podAt("web-2", false, waiting("ImagePullBackOff", "no such image")), podAt("web-1", true), podAt("web-2", true, going)}},
	}}
	applied := result{generation: 9, reason: fleetv1alpha1.SliceReasonApplied, objectGeneration: 4}
	got := statusOf(&fleetv1alpha1.FleetSliceStatus{}, applied, seen)
	want := &fleetv1alpha1.FleetSliceStatus{
		Conditions:         []metav1.Condition{{Type: "Applied", Status: "True", Reason: "Applied", ObservedGeneration: 9}},
		ObservedGeneration: 9, ObjectGeneration: 4, ObjectObservedGeneration: 4, CurrentRevision: "web-1", UpdatedRevision: "web-2",
		Subsets: []fleetv1alpha1.SubsetCounters{
			{Subset: "a", Replicas: 3, ReadyReplicas: 2, UpdatedReplicas: 2, UpdatedReadyReplicas: 1, UnavailableReplicas: 1},
			{Subset: "b", Replicas: 1, ReadyReplicas: 1, UnavailableReplicas: 1, Partition: 1},
		},
		Worst: []fleetv1alpha1.Trouble{{Reason: "ImagePullBackOff", Message: "container main: no such image", Pods: 1}},
	}
	if d := cmp.Diff(want, got, cmpopts.IgnoreFields(metav1.Condition{}, "LastTransitionTime")); d != "" {
		t.Error(d)
	}
	if again := statusOf(got, applied, seen); !sameReport(got, again) {
		t.Error(cmp.Diff(got, again))
	}
	if seen.settled(got) {
		t.Error("settled while a pod is not ready")
	}
}

func TestStatusOfBehindTheWrite(t *testing.T) {
	ud := parse(t, udText)
	ud.SetGeneration(4)
	ud.Object["status"] = map[string]any{"observedGeneration": int64(4)}
	got := statusOf(&fleetv1alpha1.FleetSliceStatus{}, result{generation: 9, reason: fleetv1alpha1.SliceReasonApplied, objectGeneration: 5}, observation{object: ud})
	if got.ObjectGeneration != 5 || got.ObjectObservedGeneration != 4 {
		t.Errorf("generation %d observed %d: the cache's old view passes for the newest", got.ObjectGeneration, got.ObjectObservedGeneration)
	}
}

func TestStatusOfFailure(t *testing.T) {
	got := statusOf(&fleetv1alpha1.FleetSliceStatus{}, result{generation: 2, reason: fleetv1alpha1.SliceReasonConflict, message: strings.Repeat("x", 2000)}, observation{})
	c := got.Conditions[0]
	if c.Status != metav1.ConditionFalse || c.Reason != "Conflict" || len(c.Message) != maxMessage || got.ObservedGeneration != 2 {
		t.Errorf("%+v", got)
	}
}

func TestSettled(t *testing.T) {
	obj := parse(t, deploymentText)
	full := subsetView{desired: 2, replicas: 2, ready: 2, available: 2}
	less := full
	less.available = 1
	more := full
	more.replicas = 3
	fresh := &fleetv1alpha1.FleetSliceStatus{ObjectGeneration: 1, ObjectObservedGeneration: 1}
	for name, tc := range map[string]struct {
		seen   observation
		status *fleetv1alpha1.FleetSliceStatus
		want   bool
	}{
		"all there":            {observation{object: obj, subsets: []subsetView{full}}, fresh, true},
		"not available":        {observation{object: obj, subsets: []subsetView{full, less}}, fresh, false},
		"surge":                {observation{object: obj, subsets: []subsetView{more}}, fresh, false},
		"not observed":         {observation{object: obj, subsets: []subsetView{full}}, &fleetv1alpha1.FleetSliceStatus{ObjectGeneration: 2, ObjectObservedGeneration: 1}, false},
		"trouble":              {observation{object: obj, subsets: []subsetView{full}}, &fleetv1alpha1.FleetSliceStatus{Worst: []fleetv1alpha1.Trouble{{}}}, false},
		"not there":            {observation{}, fresh, false},
		"no counters: no wait": {observation{object: obj}, fresh, true},
	} {
		if got := tc.seen.settled(tc.status); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestWholeView(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want subsetView
		ok   bool
	}{
		"deployment": {`{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}, spec: {replicas: 5}, status: {replicas: 6, readyReplicas: 4, availableReplicas: 3, updatedReplicas: 3}}`,
			subsetView{desired: 5, replicas: 6, ready: 4, available: 3, updated: 3, updatedReady: 1}, true},
		"clone set": {`{apiVersion: apps.kruise.io/v1beta1, kind: CloneSet, metadata: {name: d}, spec: {replicas: 5, updateStrategy: {rollingUpdate: {partition: 2}}}, status: {replicas: 5, readyReplicas: 4, updatedReplicas: 3, updatedReadyReplicas: 2, availableReplicas: 4}}`,
			subsetView{desired: 5, partition: 2, replicas: 5, ready: 4, available: 4, updated: 3, updatedReady: 2}, true},
		"config map": {configMapText, subsetView{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := wholeView(parse(t, tc.text))
			if d := cmp.Diff(tc.want, got, cmp.AllowUnexported(subsetView{})); d != "" || ok != tc.ok {
				t.Error(ok, d)
			}
		})
	}
}

func TestWorst(t *testing.T) {
	failed := func(p *corev1.Pod) {
		p.Status.Phase, p.Status.Reason, p.Status.Message = corev1.PodFailed, "Evicted", "disk"
	}
	crashed := func(p *corev1.Pod) {
		p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "i", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 3}}}}
	}
	views := []subsetView{
		{pods: []*corev1.Pod{podAt("r", false, unschedulable("z")), podAt("r", false, unschedulable("a")), podAt("r", true), podAt("r", false, going)}},
		{pods: []*corev1.Pod{podAt("r", false, waiting("ContainerCreating", "")), podAt("r", false, failed), podAt("r", false, crashed),
			podAt("r", false, waiting("A", "")), podAt("r", false, waiting("B", strings.Repeat("m", 600)))}},
	}
	got := worst(views)
	want := []fleetv1alpha1.Trouble{
		{Reason: "Unschedulable", Message: "a", Pods: 2},
		{Reason: "A", Message: "container main: A", Pods: 1},
		{Reason: "B", Message: "container main: " + strings.Repeat("m", 493) + "…", Pods: 1},
		{Reason: "Error", Message: "container i ended with exit code 3", Pods: 1},
		{Reason: "Evicted", Message: "disk", Pods: 1},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
