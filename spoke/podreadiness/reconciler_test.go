// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package podreadiness

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func gated() *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "u"}}
	pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "KruisePodReady"}, {ConditionType: "InPlaceUpdateReady"}}
	pod.Status.Conditions = []corev1.PodCondition{{Type: "Ready", Status: "False"}, {Type: "InPlaceUpdateReady", Status: "False"}}
	return pod
}

// A gate that nobody has opened or closed is opened, in one write; what others say stays, and then there is no write.
func TestReconcile(t *testing.T) {
	writes := 0
	cluster := fake.NewClientBuilder().WithObjects(gated()).WithStatusSubresource(&corev1.Pod{}).WithInterceptorFuncs(interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			writes++
			return c.SubResource(sub).Patch(ctx, obj, patch, opts...)
		},
	}).Build()
	r := &Reconciler{client: cluster, clock: clocktesting.NewFakePassiveClock(time.Unix(100, 0))}
	for range 2 {
		var pod corev1.Pod
		if err := cluster.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "p"}, &pod); err != nil {
			t.Fatal(err)
		}
		if result, err := r.Reconcile(t.Context(), &pod); err != nil || result != (reconcile.Result{}) {
			t.Errorf("%+v, %v", result, err)
		}
	}
	var pod corev1.Pod
	if err := cluster.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "p"}, &pod); err != nil {
		t.Fatal(err)
	}
	want := append(gated().Status.Conditions, corev1.PodCondition{Type: "KruisePodReady", Status: "True", LastTransitionTime: metav1.Unix(100, 0)})
	byType := cmpopts.SortSlices(func(a, b corev1.PodCondition) bool { return a.Type < b.Type })
	if diff := cmp.Diff(want, pod.Status.Conditions, byType); diff != "" || writes != 1 {
		t.Errorf("%d writes; conditions (-want +got):\n%s", writes, diff)
	}
}

// A pod that changed brings its next event along, and one that is gone needs nothing; any other failure is tried again.
func TestReconcileFails(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	down := errors.New("down")
	for name, tc := range map[string]struct{ err, want error }{
		"changed": {apierrors.NewConflict(pods, "p", errors.New("another version")), nil},
		"gone":    {apierrors.NewNotFound(pods, "p"), nil},
		"down":    {down, down},
	} {
		cluster := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
			SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
				return tc.err
			},
		}).Build()
		r := &Reconciler{client: cluster, clock: clocktesting.NewFakePassiveClock(time.Unix(100, 0))}
		if _, err := r.Reconcile(t.Context(), gated()); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", name, err, tc.want)
		}
	}
}
