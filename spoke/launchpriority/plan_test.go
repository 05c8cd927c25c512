// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package launchpriority

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// one is a container of a pod under test.
type one struct {
	name     string
	priority int
	ready    bool
	state    corev1.ContainerState
}

func podOf(list ...one) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web-0", UID: "u"}}
	for _, o := range list {
		c := corev1.Container{Name: o.name}
		setBarrier(&c, "web-0-barrier", o.priority)
		pod.Spec.Containers = append(pod.Spec.Containers, c)
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{Name: o.name, Ready: o.ready, State: o.state})
	}
	return pod
}

func completed(pod *corev1.Pod) *corev1.Pod {
	pod.Annotations = map[string]string{v1beta1.ContainerLaunchPriorityCompletedKey: "true"}
	return pod
}

func TestNext(t *testing.T) {
	well := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
	badly := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}}
	held := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: configError}}
	job := podOf(one{"a", 10, false, well}, one{"b", 0, false, held})
	job.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
	always := podOf(one{"a", 10, false, well}, one{"b", 0, false, held})
	always.Spec.RestartPolicy = corev1.RestartPolicyAlways
	failed := podOf(one{"a", 10, false, badly}, one{"b", 0, false, held})
	failed.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
	ended := podOf(one{"a", 10, false, well}, one{"b", 0, false, well})
	ended.Status.Phase = corev1.PodSucceeded
	leaving := podOf(one{name: "a", priority: 10}, one{name: "b"})
	leaving.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	unseen := podOf(one{name: "a", priority: 10}, one{name: "b"})
	unseen.Status = corev1.PodStatus{}

	for name, tc := range map[string]struct {
		pod  *corev1.Pod
		want Step
	}{
		"no barrier":       {&corev1.Pod{}, Step{Reason: NotOurs}},
		"being deleted":    {leaving, Step{Reason: NotOurs}},
		"no status yet":    {unseen, Step{Reason: Release, Level: 10, Keys: []string{"p_10"}, Containers: []string{"a"}, First: true}},
		"none ready":       {podOf(one{name: "a", priority: 10}, one{name: "b"}), Step{Reason: Release, Level: 10, Keys: []string{"p_10"}, Containers: []string{"a"}, First: true}},
		"first ready":      {podOf(one{"a", 10, true, well}, one{name: "b"}), Step{Reason: ReleaseLast, Level: 0, Keys: []string{"p_10", "p_0"}, Containers: []string{"b"}}},
		"all ready":        {podOf(one{"a", 10, true, well}, one{"b", 0, true, well}), Step{Reason: Launched}},
		"let go":           {completed(podOf(one{name: "a", priority: 10}, one{name: "b"})), Step{Reason: Launched}},
		"key missed":       {completed(podOf(one{"a", 10, true, well}, one{"b", 0, false, held})), Step{Reason: Missing, Keys: []string{"p_10", "p_0"}}},
		"two of a level":   {podOf(one{name: "a", priority: 5}, one{name: "b", priority: 5}, one{name: "c", priority: 1}), Step{Reason: Release, Level: 5, Keys: []string{"p_5"}, Containers: []string{"a", "b"}, First: true}},
		"one of two":       {podOf(one{"a", 5, true, well}, one{name: "b", priority: 5}, one{name: "c", priority: 1}), Step{Reason: Release, Level: 5, Keys: []string{"p_5"}, Containers: []string{"b"}, First: true}},
		"ordered":          {podOf(one{"a", 0, true, well}, one{name: "b", priority: -1}, one{name: "c", priority: -2}), Step{Reason: Release, Level: -1, Keys: []string{"p_0", "p_-1"}, Containers: []string{"b"}}},
		"first down again": {podOf(one{name: "a", priority: 0}, one{"b", -1, true, well}, one{name: "c", priority: -2}), Step{Reason: Release, Level: 0, Keys: []string{"p_0"}, Containers: []string{"a"}, First: true}},
		"ended well":       {job, Step{Reason: ReleaseLast, Level: 0, Keys: []string{"p_10", "p_0"}, Containers: []string{"b"}}},
		"starts again":     {always, Step{Reason: Release, Level: 10, Keys: []string{"p_10"}, Containers: []string{"a"}, First: true}},
		"ended badly":      {failed, Step{Reason: Release, Level: 10, Keys: []string{"p_10"}, Containers: []string{"a"}, First: true}},
		"pod ended":        {ended, Step{Reason: Ended}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Next(tc.pod)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A container may have a restart policy of its own, which holds whatever that of its pod is.
func TestEndedWellByTheContainersOwnPolicy(t *testing.T) {
	const always, onFailure, never = corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever
	rules := func(operator corev1.ContainerRestartRuleOnExitCodesOperator, values ...int32) []corev1.ContainerRestartRule {
		return []corev1.ContainerRestartRule{{Action: corev1.ContainerRestartRuleActionRestart, ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{Operator: operator, Values: values}}}
	}
	const in, notIn = corev1.ContainerRestartRuleOnExitCodesOpIn, corev1.ContainerRestartRuleOnExitCodesOpNotIn
	for name, tc := range map[string]struct {
		pod   corev1.RestartPolicy
		own   corev1.ContainerRestartPolicy
		rules []corev1.ContainerRestartRule
		want  Reason
	}{
		"never, in a pod of always":      {always, corev1.ContainerRestartPolicyNever, nil, ReleaseLast},
		"on failure, in a pod of always": {always, corev1.ContainerRestartPolicyOnFailure, nil, ReleaseLast},
		"always, in a pod of never":      {never, corev1.ContainerRestartPolicyAlways, nil, Release},
		"always, in a pod of on failure": {onFailure, corev1.ContainerRestartPolicyAlways, nil, Release},
		"a rule for another exit code":   {always, corev1.ContainerRestartPolicyNever, rules(in, 42), ReleaseLast},
		"a rule for its exit code":       {never, corev1.ContainerRestartPolicyNever, rules(in, 0, 42), Release},
		"a rule for all but one":         {never, corev1.ContainerRestartPolicyNever, rules(notIn, 42), Release},
		"a rule for all but it":          {always, corev1.ContainerRestartPolicyNever, rules(notIn, 0), ReleaseLast},
	} {
		t.Run(name, func(t *testing.T) {
			pod := podOf(one{"a", 10, false, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}, one{name: "b"})
			pod.Spec.RestartPolicy = tc.pod
			pod.Spec.Containers[0].RestartPolicy, pod.Spec.Containers[0].RestartPolicyRules = &tc.own, tc.rules
			if got := Next(pod).Reason; got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}
