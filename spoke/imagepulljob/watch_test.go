// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package imagepulljob

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// woken is a queue that counts who is added.
type woken struct {
	queue
	jobs map[string]int
}

func (w *woken) AddAfter(req reconcile.Request, _ time.Duration) { w.jobs[req.Name]++ }

// IP-09: 100 jobs and 1,000 NodeImages. Every node has every job's tag; each node's agent tells of one tag at a time.
func TestAnEventWakesTheJobsItConcerns(t *testing.T) {
	const jobs, nodes = 100, 1000
	scheme := runtime.NewScheme()
	if err := v1beta1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	lists := 0
	build := fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			lists++
			return c.List(ctx, list, opts...)
		},
	})
	spec := map[string]v1beta1.ImageSpec{}
	for i := range jobs {
		job := &v1beta1.ImagePullJob{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprint("job-", i), UID: types.UID(fmt.Sprint(i))}}
		if job.Spec.Image = fmt.Sprintf("image-%d:1", i); i%2 == 1 {
			job.Spec.Selector = &v1beta1.ImagePullJobNodeSelector{LabelSelector: metav1.LabelSelector{MatchLabels: map[string]string{"pool": "a"}}}
		}
		if i == 99 {
			job.Status.CompletionTime = second(noon)
		}
		build.WithObjects(job)
		one := imageNode(job)
		maps.Copy(spec, one.Spec.Images)
	}
	r := newReconciler(build.Build(), nil, Options{})
	h := r.jobsOfNode()
	q := &woken{jobs: map[string]int{}}
	began := time.Now()
	for n := range nodes {
		before := &v1beta1.NodeImage{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("node-", n)}, Spec: v1beta1.NodeImageSpec{Images: spec}}
		after := before.DeepCopy()
		after.Status.ImageStatuses = map[string]v1beta1.ImageStatus{
			fmt.Sprintf("image-%d", n%jobs): {Tags: []v1beta1.ImageTagStatus{{Tag: "1", Phase: v1beta1.ImagePhaseSucceeded}}},
		}
		h.Update(context.Background(), event.UpdateEvent{ObjectOld: before, ObjectNew: after}, q)
	}
	for _, progress := range []int32{40, 60} { // how far a pull is makes no difference to any job
		n := imageNode(&v1beta1.ImagePullJob{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pulling"}, Spec: v1beta1.ImagePullJobSpec{Image: "image-0:1"}})
		n.Status.ImageStatuses = map[string]v1beta1.ImageStatus{"image-0": {Tags: []v1beta1.ImageTagStatus{{Tag: "1", Phase: v1beta1.ImagePhasePulling}}}}
		further := n.DeepCopy()
		further.Status.ImageStatuses["image-0"].Tags[0].Progress = progress
		h.Update(context.Background(), event.UpdateEvent{ObjectOld: n, ObjectNew: further}, q)
	}
	t.Logf("%d events took %s", nodes, time.Since(began))
	if len(q.jobs) != jobs || lists != 0 {
		t.Errorf("%d jobs woken, %d lists", len(q.jobs), lists)
	}
	for name, times := range q.jobs {
		if times != nodes/jobs {
			t.Errorf("%s was woken %d times", name, times)
		}
	}

	t.Log("a heartbeat, or a tag of nobody, wakes none")
	clear(q.jobs)
	before := &v1beta1.NodeImage{ObjectMeta: metav1.ObjectMeta{Name: "node-0", ResourceVersion: "1"}, Spec: v1beta1.NodeImageSpec{Images: spec}}
	after := before.DeepCopy()
	after.ResourceVersion = "2"
	h.Update(context.Background(), event.UpdateEvent{ObjectOld: before, ObjectNew: after}, q)
	if len(q.jobs) != 0 || lists != 0 {
		t.Errorf("woken %v, %d lists", q.jobs, lists)
	}

	t.Log("a node that comes, goes or is labelled anew wakes those under way that pick it, after one list")
	for name, tc := range map[string]struct {
		do   func()
		want int
	}{
		"comes, of no pool": {func() { h.Create(context.Background(), event.CreateEvent{Object: after}, q) }, 50},
		"goes, of no pool":  {func() { h.Delete(context.Background(), event.DeleteEvent{Object: after}, q) }, 50},
		"labelled into a pool": {func() {
			labelled := after.DeepCopy()
			labelled.Labels = map[string]string{"pool": "a"}
			h.Update(context.Background(), event.UpdateEvent{ObjectOld: after, ObjectNew: labelled}, q)
		}, 99},
	} {
		lists = 0
		clear(q.jobs)
		if tc.do(); len(q.jobs) != tc.want || lists != 1 {
			t.Errorf("%s: %d jobs woken, %d lists", name, len(q.jobs), lists)
		}
	}
}

// A pod wakes the jobs that pick it, or did before, and no others of its namespace.
func TestAPodWakesTheJobsThatPickIt(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1beta1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	build := fake.NewClientBuilder().WithScheme(scheme)
	for name, labels := range map[string]map[string]string{"web": {"app": "web"}, "db": {"app": "db"}, "all": nil} {
		build.WithObjects(job(name, func(j *v1beta1.ImagePullJob) {
			j.Spec.PodSelector = &v1beta1.ImagePullJobPodSelector{LabelSelector: metav1.LabelSelector{MatchLabels: labels}}
		}))
	}
	build.WithObjects(job("by node", nil))
	h := newReconciler(build.Build(), nil, Options{}).jobsOfPod()
	pod := func(app string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", Labels: map[string]string{"app": app}}}
	}
	for name, tc := range map[string]struct {
		do   func(queue)
		want []string
	}{
		"comes":   {func(q queue) { h.Create(t.Context(), event.CreateEvent{Object: pod("web")}, q) }, []string{"all", "web"}},
		"goes":    {func(q queue) { h.Delete(t.Context(), event.DeleteEvent{Object: pod("other")}, q) }, []string{"all"}},
		"changes": {func(q queue) { h.Update(t.Context(), event.UpdateEvent{ObjectOld: pod("db"), ObjectNew: pod("db")}, q) }, []string{"all", "db"}},
		"leaves one for another": {func(q queue) {
			h.Update(t.Context(), event.UpdateEvent{ObjectOld: pod("db"), ObjectNew: pod("web")}, q)
		}, []string{"all", "db", "web"}},
		"leaves one for none": {func(q queue) {
			h.Update(t.Context(), event.UpdateEvent{ObjectOld: pod("db"), ObjectNew: pod("other")}, q)
		}, []string{"all", "db"}},
	} {
		q := &woken{jobs: map[string]int{}}
		tc.do(q)
		if diff := cmp.Diff(tc.want, slices.Sorted(maps.Keys(q.jobs))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// imageNode is a NodeImage that a job asks for its image.
func imageNode(j *v1beta1.ImagePullJob) *v1beta1.NodeImage {
	j = j.DeepCopy()
	v1beta1.DefaultImagePullJob(j)
	name := j.Spec.Image[:len(j.Spec.Image)-len(":1")]
	s := Snapshot{Job: j, Now: noon}
	s.Image.Name, s.Image.Tag = name, "1"
	out := &v1beta1.NodeImage{}
	Ask(out, s, Terms{})
	return out
}
