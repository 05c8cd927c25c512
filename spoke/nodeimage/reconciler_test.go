// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package nodeimage

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/events"
)

// told keeps what is published.
type told []events.Event

func (t *told) Publish(list ...events.Event) { *t = append(*t, list...) }

// pass reconciles node n at noon, over an API server in memory whose requests are counted.
func pass(t *testing.T, funcs interceptor.Funcs, objs ...client.Object) (client.Client, told, reconcile.Result, error) {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, appsv1beta1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objs...).WithStatusSubresource(&appsv1beta1.NodeImage{}).WithInterceptorFuncs(funcs).Build()
	var said told
	r := &Reconciler{Options: Options{CreationDelay: time.Minute, Clock: testclock.NewFakePassiveClock(noon)}, client: c, events: &said}
	result, err := r.Reconcile(context.Background(), reconcile.Request{NamespacedName: types.NamespacedName{Name: "n"}})
	return c, said, result, err
}

// IP-05: the cache does not show the object yet that was made a moment ago.
func TestObjectThatTheCacheDoesNotShowYet(t *testing.T) {
	for name, tc := range map[string]struct {
		answer error
		fails  bool
	}{
		"made":             {nil, false},
		"there already":    {apierrors.NewAlreadyExists(schema.GroupResource{Resource: "nodeimages"}, "n"), false},
		"refused, say why": {apierrors.NewForbidden(schema.GroupResource{Resource: "nodeimages"}, "n", nil), true},
	} {
		t.Run(name, func(t *testing.T) {
			creates, reads, writes := 0, 0, 0
			_, _, result, err := pass(t, interceptor.Funcs{
				Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
					creates++
					return tc.answer
				},
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
					reads++
					return c.Get(ctx, key, obj, opts...)
				},
				Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
					writes++
					return nil
				},
			}, nodeReady(corev1.ConditionTrue, time.Hour))
			if (err != nil) != tc.fails || !result.IsZero() {
				t.Errorf("%+v, %v", result, err)
			}
			if creates != 1 || writes != 0 || reads != 2 { // of the node, and of the object: none after the answer
				t.Errorf("%d creates, %d reads, %d patches", creates, reads, writes)
			}
		})
	}
}

// A tag that its agent says nothing of for ten minutes is failed once, and its jobs and the node are told.
func TestGivenUpTagsAreTold(t *testing.T) {
	obj := tagged(appsv1beta1.ImageTagSpec{
		Tag: "1", CreatedAt: ago(11 * time.Minute), OwnerReferences: []corev1.ObjectReference{job("u1"), job("u2")},
	}, nil)
	obj.Name = "n"
	var jobs []client.Object
	for i, uid := range []types.UID{"u1", "u2"} {
		name := string(uid)
		obj.Spec.Images["a"].Tags[0].OwnerReferences[i].Name = name
		jobs = append(jobs, &appsv1beta1.ImagePullJob{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: uid}})
	}
	c, said, _, err := pass(t, interceptor.Funcs{}, append(jobs, obj, nodeReady(corev1.ConditionTrue, time.Hour))...)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range said {
		got = append(got, e.Type+" "+e.Reason+" "+e.Regarding.GetName()+": "+e.Note)
	}
	const note = ": Failed to pull image a:1 on node n for node has not responded for a long time"
	want := []string{"Warning PullImageFailed u1" + note, "Warning PullImageFailed u2" + note, "Warning PullImageFailed n" + note}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	now := &appsv1beta1.NodeImage{}
	if err := c.Get(context.Background(), client.ObjectKey{Name: "n"}, now); err != nil {
		t.Fatal(err)
	}
	if status := now.TagStatus("a", "1", 0); status == nil || status.Phase != appsv1beta1.ImagePhaseFailed || now.Status.Failed != 1 {
		t.Errorf("status %+v", now.Status)
	}
}

// A node that died while it pulled holds up nobody, whatever its agent said last.
func TestTagsOfALostNodeAreGivenUp(t *testing.T) {
	obj := tagged(appsv1beta1.ImageTagSpec{Tag: "1", CreatedAt: ago(20 * time.Minute)},
		&appsv1beta1.ImageTagStatus{Tag: "1", Phase: appsv1beta1.ImagePhasePulling, Progress: 40, StartTime: ago(20 * time.Minute)})
	obj.Name = "n"
	for status, want := range map[corev1.ConditionStatus]appsv1beta1.ImagePullPhase{
		corev1.ConditionUnknown: appsv1beta1.ImagePhaseFailed, corev1.ConditionFalse: appsv1beta1.ImagePhasePulling, corev1.ConditionTrue: appsv1beta1.ImagePhasePulling,
	} {
		c, _, _, err := pass(t, interceptor.Funcs{}, obj.DeepCopy(), nodeReady(status, 11*time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		now := &appsv1beta1.NodeImage{}
		if err := c.Get(t.Context(), client.ObjectKey{Name: "n"}, now); err != nil {
			t.Fatal(err)
		}
		if got := now.TagStatus("a", "1", 0); got.Phase != want || got.Progress != 40 {
			t.Errorf("ready %s: %+v", status, got)
		}
	}
}
