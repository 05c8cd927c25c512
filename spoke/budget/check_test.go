// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	policyv1beta1 "github.com/flotilla-sh/flotilla/apis/policy/v1beta1"
)

const (
	update   = policyv1beta1.PubUpdateOperation
	deletion = policyv1beta1.PubDeleteOperation
	eviction = policyv1beta1.PubEvictOperation
	resize   = policyv1beta1.PubResizeOperation
)

// allowing is a budget that lets so many more pods go.
func allowing(n int32, change ...func(*Budget)) *Budget {
	b := &Budget{ObjectMeta: metav1.ObjectMeta{Name: "b"}}
	b.Status = policyv1beta1.PodUnavailableBudgetStatus{UnavailableAllowed: n, CurrentAvailable: 7 + n, DesiredAvailable: 7, TotalReplicas: 10}
	for _, c := range change {
		c(b)
	}
	return b
}

func broken(pod *corev1.Pod) *corev1.Pod { return unready([]*corev1.Pod{pod}, 1)[0] }

// The second table of spec 4.9, as far as the books decide, and the order of 4.5.
func TestCheck(t *testing.T) {
	going := ready("p")
	now := metav1.NewTime(noon)
	going.DeletionTimestamp = &now
	finished := broken(ready("p"))
	finished.Status.Phase = corev1.PodSucceeded
	marked := labelled("p")
	protect := func(list ...policyv1beta1.PubOperation) func(*Budget) {
		return func(b *Budget) { b.Spec.ProtectOperations = list }
	}
	annotate := func(key, value string) func(*Budget) {
		return func(b *Budget) { b.Annotations = map[string]string{key: value} }
	}
	const operations, unreadyToo = "kruise.io/pub-protect-operations", "pub.kruise.io/protect-unready-pods"
	ignore := func(s metav1.LabelSelector) func(*Budget) { return func(b *Budget) { b.Spec.IgnoredPodSelector = &s } }
	booked := func(b *Budget) { b.Status.DisruptedPods = entries(0, 1, 4*time.Second) }
	changed := func(b *Budget) { b.Status.UnavailablePods = entries(0, 1, 4*time.Second) }
	older := func(b *Budget) { b.Status.DisruptedPods = entries(0, 1, 6*time.Second) }
	full := func(n int) func(*Budget) {
		return func(b *Budget) {
			b.Status.DisruptedPods, b.Status.UnavailablePods = entries(1, n/2, time.Second), entries(5000, n-n/2, time.Second)
		}
	}
	failing := func(b *Budget) { b.Status.CurrentAvailable = 0 }
	both := func(list ...func(*Budget)) func(*Budget) {
		return func(b *Budget) {
			for _, c := range list {
				c(b)
			}
		}
	}
	for name, tc := range map[string]struct {
		pod       *corev1.Pod
		operation policyv1beta1.PubOperation
		apart     bool
		budget    *Budget
		want      Answer
	}{
		"no budget":                                 {ready("p"), deletion, false, nil, Allow},
		"update within the budget":                  {ready("p"), update, false, allowing(1), Reserve},
		"deletion within the budget":                {ready("p"), deletion, false, allowing(1), Reserve},
		"eviction within the budget":                {ready("p"), eviction, false, allowing(1), Reserve},
		"update beyond the budget":                  {ready("p"), update, false, allowing(0), Deny},
		"deletion beyond the budget":                {ready("p"), deletion, false, allowing(0), Deny},
		"eviction beyond the budget":                {ready("p"), eviction, false, allowing(0), Deny},
		"not ready":                                 {broken(ready("p")), update, false, allowing(0), Allow},
		"being deleted":                             {going, deletion, false, allowing(0), Allow},
		"inconsistent":                              {digest("p", "a", "b"), update, false, allowing(0), Allow},
		"marked by a label":                         {marked, update, false, allowing(0), Allow},
		"deletion recorded":                         {ready("p0"), eviction, false, allowing(0, booked), Allow},
		"update recorded":                           {ready("p0"), deletion, false, allowing(0, changed), Allow},
		"recorded long ago: the entry is made anew": {ready("p0"), deletion, false, allowing(0, older), Reserve},
		"recorded for a pod of that name before it": {made("p0", noon), deletion, false, allowing(0, booked), Deny},
		"not protected":                             {with(ready("p"), map[string]string{"pub.kruise.io/no-protect": "true"}), eviction, false, allowing(0), Allow},
		"no-protect false":                          {with(ready("p"), map[string]string{"pub.kruise.io/no-protect": "false"}), eviction, false, allowing(0), Deny},
		"ignored":                                   {labelledWith("quit", "yes"), eviction, false, allowing(0, ignore(metav1.LabelSelector{MatchLabels: map[string]string{"quit": "yes"}})), Allow},
		"not ignored":                               {ready("p"), eviction, false, allowing(0, ignore(metav1.LabelSelector{MatchLabels: map[string]string{"quit": "yes"}})), Deny},
		"an empty selector ignores none":            {ready("p"), eviction, false, allowing(0, ignore(metav1.LabelSelector{})), Deny},
		"none has to stay":                          {ready("p"), eviction, false, allowing(0, func(b *Budget) { b.Status.DesiredAvailable = 0 }), Allow},
		"deletions alone: update":                   {ready("p"), update, false, allowing(0, annotate(operations, "DELETE")), Allow},
		"deletions alone: deletion":                 {ready("p"), deletion, false, allowing(0, annotate(operations, "DELETE")), Deny},
		"words that mean nothing protect nothing":   {ready("p"), deletion, false, allowing(0, annotate(operations, "delete")), Allow},
		"the spec goes before the annotation":       {ready("p"), update, false, allowing(0, both(annotate(operations, "DELETE"), protect(update))), Deny},
		"resizes alone: update":                     {ready("p"), update, false, allowing(0, protect(resize)), Allow},
		"resizes alone: resize":                     {ready("p"), resize, true, allowing(0, protect(resize)), Deny},
		"gate on: resize":                           {ready("p"), resize, true, allowing(0), Allow},
		"gate off: resize":                          {ready("p"), resize, false, allowing(0), Deny},
		"gate off, updates not protected: resize":   {ready("p"), resize, false, allowing(0, protect(deletion)), Allow},
		"2000 on their way":                         {ready("p"), deletion, false, allowing(9, full(2000)), Reserve},
		"2001 on their way":                         {ready("p"), deletion, false, allowing(9, full(2001)), Deny},

		"PB-05: unready, all are":                     {broken(ready("p")), eviction, false, allowing(0, both(annotate(unreadyToo, "true"), failing)), Deny},
		"PB-05: without the switch":                   {broken(ready("p")), eviction, false, allowing(0, failing), Allow},
		"PB-05: unready, enough others":               {broken(ready("p")), deletion, false, allowing(0, annotate(unreadyToo, "true")), Allow},
		"PB-05: an update puts it right":              {broken(ready("p")), update, false, allowing(0, both(annotate(unreadyToo, "true"), failing)), Allow},
		"PB-05: finished":                             {finished, deletion, false, allowing(0, both(annotate(unreadyToo, "true"), failing)), Allow},
		"PB-05: being deleted":                        {going, deletion, false, allowing(0, both(annotate(unreadyToo, "true"), failing)), Allow},
		"PB-05: not stamped":                          {broken(ready("p")), deletion, false, nil, Allow},
		"PB-05: unready and none has to stay, PB-07:": {broken(ready("p")), deletion, false, allowing(0, both(annotate(unreadyToo, "true"), func(b *Budget) { b.Status.DesiredAvailable = 0 })), Allow},
	} {
		t.Run(name, func(t *testing.T) {
			got := Check(&Request{Pod: tc.pod, Operation: tc.operation, Now: noon, ResizeApart: tc.apart}, tc.budget)
			if got.Answer != tc.want || got.Reason == "" {
				t.Errorf("answer %d: %q", got.Answer, got.Reason)
			}
		})
	}
}

func labelledWith(key, value string) *corev1.Pod {
	pod := ready("p")
	pod.Labels = map[string]string{key: value}
	return pod
}

func TestBook(t *testing.T) {
	for operation, changes := range map[policyv1beta1.PubOperation]bool{update: true, deletion: false, eviction: false, resize: false} {
		b := allowing(1)
		r := &Request{Pod: ready("p"), Operation: operation, Now: noon}
		Book(&b.Status, r)
		_, isChange := b.Status.UnavailablePods["p"]
		_, isDisruption := b.Status.DisruptedPods["p"]
		if isChange != changes || isDisruption == changes || b.Status.UnavailableAllowed != 0 {
			t.Errorf("%s: %+v", operation, b.Status)
		}
		if v := Check(r, b); v.Answer != Allow {
			t.Errorf("%s once more: %+v", operation, v)
		}
		r.Now = noon.Add(6 * time.Second)
		if v := Check(r, b); v.Answer != Reserve {
			t.Errorf("%s later: %+v", operation, v)
		}
		Book(&b.Status, r)
		if v := Check(r, b); v.Answer != Allow || b.Status.UnavailableAllowed != 0 {
			t.Errorf("%s made anew: %+v, %+v", operation, v, b.Status)
		}
	}
}

// What is an update, what a resize, and what nobody has to be asked about (4.5; PB-04).
func TestClassify(t *testing.T) {
	sized := func(change func(*corev1.Pod)) *corev1.Pod {
		pod := ready("p")
		pod.Spec.Containers[0].Resources = corev1.ResourceRequirements{
			Requests: corev1.ResourceList{"cpu": resource.MustParse("1"), "ephemeral-storage": resource.MustParse("1Gi")},
			Limits:   corev1.ResourceList{"cpu": resource.MustParse("2")},
		}
		pod.Spec.InitContainers = []corev1.Container{{Name: "init"}}
		if change != nil {
			change(pod)
		}
		return pod
	}
	cpu := func(pod *corev1.Pod) { pod.Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse("1500m") }
	policy := func(p corev1.ResourceResizeRestartPolicy) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			cpu(pod)
			pod.Spec.Containers[0].ResizePolicy = []corev1.ContainerResizePolicy{{ResourceName: "cpu", RestartPolicy: p}}
		}
	}
	restarts := sized(policy(corev1.RestartContainer))
	restarts.Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse("1")
	free := sized(policy(corev1.NotRequired))
	free.Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse("1")
	static := func(pod *corev1.Pod) { pod.Annotations = map[string]string{"kubernetes.io/config.source": "file"} }
	mark := func(pod *corev1.Pod) { pod.Labels = map[string]string{"unavailable-pod.kruise.io/x": "1"} }
	for name, tc := range map[string]struct {
		old, updated *corev1.Pod
		want         policyv1beta1.PubOperation
	}{
		"nothing": {sized(nil), sized(nil), ""},
		"labels and annotations": {sized(nil), sized(func(p *corev1.Pod) {
			p.Labels, p.Annotations = map[string]string{"a": "b"}, map[string]string{"c": "d"}
		}), ""},
		"one amount written another": {sized(nil), sized(func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse("1000m") }), ""},
		"image":                      {sized(nil), sized(func(p *corev1.Pod) { p.Spec.Containers[0].Image = "web:2" }), update},
		"marked":                     {sized(nil), sized(mark), update},
		"marked and resized":         {sized(nil), sized(func(p *corev1.Pod) { mark(p); cpu(p) }), update},
		"marked before":              {sized(mark), sized(mark), ""},
		"no longer marked":           {sized(mark), sized(nil), ""},
		"cpu":                        {sized(nil), sized(cpu), resize},
		"cpu, no restart":            {free, sized(policy(corev1.NotRequired)), resize},
		"cpu, with a restart":        {restarts, sized(policy(corev1.RestartContainer)), update},
		"memory appears":             {sized(nil), sized(func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Limits["memory"] = resource.MustParse("1Gi") }), resize},
		"storage": {sized(nil), sized(func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Requests["ephemeral-storage"] = resource.MustParse("2Gi")
		}), update},
		"quality of service": {sized(nil), sized(func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources = corev1.ResourceRequirements{}
		}), update},
		"of an init container": {sized(nil), sized(func(p *corev1.Pod) {
			p.Spec.InitContainers[0].Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("1")}
		}), update},
		"static":           {sized(static), sized(func(p *corev1.Pod) { static(p); cpu(p) }), update},
		"cpu and an image": {sized(nil), sized(func(p *corev1.Pod) { cpu(p); p.Spec.Containers[0].Image = "web:2" }), update},
		"one more container": {sized(nil), sized(func(p *corev1.Pod) {
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "more"})
		}), update},
	} {
		t.Run(name, func(t *testing.T) {
			before := fmt.Sprint(tc.old, tc.updated)
			if got := Classify(tc.old, tc.updated); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			if fmt.Sprint(tc.old, tc.updated) != before {
				t.Error("the pods were changed")
			}
		})
	}
}
