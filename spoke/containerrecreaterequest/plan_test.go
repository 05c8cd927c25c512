// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package containerrecreaterequest

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

var t0 = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

func request(changes ...func(*Request)) *Request {
	r := &Request{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "r", CreationTimestamp: metav1.NewTime(t0), Labels: map[string]string{
		v1beta1.ContainerRecreateRequestPodUIDKey: "u", v1beta1.ContainerRecreateRequestActiveKey: "true",
	}}}
	r.Spec.PodName, r.Spec.Strategy = "p", &v1beta1.ContainerRecreateRequestStrategy{}
	for _, name := range []string{"a", "b"} {
		r.Spec.Containers = append(r.Spec.Containers, v1beta1.ContainerRecreateRequestContainer{
			Name: name, StatusContext: &v1beta1.ContainerRecreateRequestContainerContext{ContainerID: "c://" + name + "1", RestartCount: 3},
		})
	}
	for _, f := range changes {
		f(r)
	}
	return r
}

func phase(p v1beta1.ContainerRecreateRequestPhase) func(*Request) {
	return func(r *Request) { r.Status.Phase = p }
}

func status(name, id string, restarts int32, ready bool) corev1.ContainerStatus {
	return corev1.ContainerStatus{
		Name: name, ContainerID: "c://" + id, RestartCount: restarts, Ready: ready,
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(t0.Add(-time.Hour))}},
	}
}

func pod(statuses ...corev1.ContainerStatus) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "u"}}
	p.Status.ContainerStatuses = statuses
	return p
}

func TestMakePlan(t *testing.T) {
	const gone, silent, late = v1beta1.ContainerRecreateRequestPodGone, v1beta1.ContainerRecreateRequestNoResponse, v1beta1.ContainerRecreateRequestDeadlineExceeded
	held := func(r *Request) { r.Finalizers = []string{finalizer} }
	going := func(r *Request) { r.DeletionTimestamp = ptr.To(metav1.NewTime(t0)) }
	inactive := func(r *Request) { delete(r.Labels, v1beta1.ContainerRecreateRequestActiveKey) }
	ttl := func(r *Request) { r.Spec.TTLSecondsAfterFinished = ptr.To(int32(60)) }
	ended := func(r *Request) { r.Status.Phase, r.Status.CompletionTime = completed, ptr.To(metav1.NewTime(t0)) }
	deadline := func(r *Request) { r.Spec.ActiveDeadlineSeconds = ptr.To(int64(20)) }
	far := func(r *Request) { r.Spec.ActiveDeadlineSeconds = ptr.To(int64(math.MaxInt64)) }
	grace := func(r *Request) { r.Spec.Strategy.UnreadyGracePeriodSeconds = ptr.To(int64(5)) }
	began := func(r *Request) {
		r.Status.Conditions = []metav1.Condition{{Type: v1beta1.PreRecreateGraceCondition, Status: "True"}}
	}
	now := phase(v1beta1.ContainerRecreateRequestRecreating)
	waits := phase(v1beta1.ContainerRecreateRequestPending)
	a2 := Snapshot{Name: "a", ContainerID: "c://a2", RestartCount: 4, Ready: true}
	known := func(r *Request) { r.Status.ContainerStatusSnapshot = []Snapshot{a2} }
	another := pod()
	another.UID = "other"
	leaving := pod()
	leaving.DeletionTimestamp = ptr.To(metav1.NewTime(t0))
	finished := func(phase corev1.PodPhase, statuses ...corev1.ContainerStatus) *corev1.Pod {
		p := pod(statuses...)
		p.Status.Phase = phase
		return p
	}
	dead := corev1.ContainerStatus{Name: "a", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}
	tests := map[string]struct {
		request *Request
		pod     *corev1.Pod
		after   time.Duration
		want    Plan
	}{
		"not seen yet":                   {request(), pod(), 10 * time.Second, Plan{Again: 50 * time.Second}},
		"not seen for a minute":          {request(), pod(), time.Minute, Plan{Complete: silent}},
		"not seen, the deadline first":   {request(deadline), pod(), 5 * time.Second, Plan{Again: 15 * time.Second}},
		"its time is over":               {request(deadline, now), pod(), 20 * time.Second, Plan{Complete: late}},
		"over while it waits":            {request(deadline, waits), pod(), 20 * time.Second, Plan{Complete: late}},
		"a deadline that never comes":    {request(far, now), pod(), time.Hour, Plan{Again: pollEvery}},
		"it waits":                       {request(waits), pod(), time.Hour, Plan{}},
		"the pod is gone":                {request(now), nil, 0, Plan{Complete: gone}},
		"the pod goes":                   {request(now), leaving, 0, Plan{Complete: gone}},
		"another pod of the name":        {request(now), another, 0, Plan{Complete: gone}},
		"the pod has failed":             {request(now), finished(corev1.PodFailed, dead), 0, Plan{Complete: podEnded}},
		"it succeeded, nobody saw it":    {request(), finished(corev1.PodSucceeded, dead), 0, Plan{Complete: podEnded}},
		"it ended, in its turn":          {request(waits, grace), finished(corev1.PodSucceeded, dead), 0, Plan{Complete: podEnded}},
		"it ended, others run":           {request(now), finished(corev1.PodSucceeded, dead, status("c", "c1", 0, true)), 0, Plan{Complete: podEnded}},
		"it ended before its sidecar":    {request(now), finished(corev1.PodSucceeded, dead, status("b", "b1", 3, true)), 0, Plan{Again: pollEvery}},
		"one container has ended":        {request(now), finished(corev1.PodRunning, dead), 0, Plan{Again: pollEvery}},
		"nothing new":                    {request(now), pod(status("a", "a1", 3, true)), 0, Plan{Again: pollEvery}},
		"near its deadline":              {request(now, deadline), pod(), 19 * time.Second, Plan{Again: time.Second}},
		"a new instance":                 {request(now), pod(status("b", "b1", 3, true), status("a", "a2", 4, true)), 0, Plan{Snapshot: []Snapshot{a2}, Again: pollEvery}},
		"told already":                   {request(now, known), pod(status("a", "a2", 4, true)), 0, Plan{Again: pollEvery}},
		"CR-03: an old start says no":    {request(now), pod(status("a", "a1", 3, true)), time.Hour, Plan{Again: pollEvery}},
		"the count alone tells":          {request(now), pod(status("a", "a1", 4, false)), 0, Plan{Snapshot: []Snapshot{{Name: "a", ContainerID: "c://a1", RestartCount: 4}}, Again: pollEvery}},
		"an empty look overwrites none":  {request(now, known), pod(status("a", "a1", 3, true)), 0, Plan{Again: pollEvery}},
		"to be held":                     {request(now, grace), pod(status("a", "a2", 4, true)), 0, Plan{Hold: true}},
		"to be held in its turn only":    {request(waits, grace), pod(), 0, Plan{}},
		"held":                           {request(now, grace, began), pod(), 0, Plan{Again: pollEvery}},
		"ended, held":                    {request(ended, held), pod(), 0, Plan{Release: true}},
		"ended, held, its pod gone":      {request(ended, held), nil, 0, Plan{Release: true}},
		"deleted, held":                  {request(now, held, going), pod(), 0, Plan{Release: true}},
		"deleted":                        {request(now, going), pod(), 0, Plan{}},
		"ended":                          {request(ended, ttl), pod(), 0, Plan{Deactivate: true}},
		"ended, to stay":                 {request(ended, inactive), pod(), time.Hour, Plan{}},
		"ended, to go later":             {request(ended, inactive, ttl), nil, 20 * time.Second, Plan{Again: 40 * time.Second}},
		"ended, to go":                   {request(ended, inactive, ttl), nil, time.Minute, Plan{Remove: true}},
		"said to have ended by somebody": {request(phase(completed), inactive, ttl), nil, time.Minute, Plan{Remove: true}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, MakePlan(tc.request, tc.pod, t0.Add(tc.after))); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}
