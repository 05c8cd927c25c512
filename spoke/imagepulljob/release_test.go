// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package imagepulljob

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	testclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/events"
)

type told []events.Event

func (t *told) Publish(list ...events.Event) { *t = append(*t, list...) }

// A job whose copies cannot be given back stays, says why, and tries again soon: nothing tells when the role is there.
func TestAJobThatCannotEndSaysWhy(t *testing.T) {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "c"}}
	k := newKeyring(t, ns)
	k.live = interceptor.NewClient(k.client.(client.WithWatch), interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "", nil)
		},
	})
	job := keyedJob("a", "s")
	job.Finalizers = []string{v1beta1.ImagePullJobFinalizer}
	now := metav1.NewTime(noon)
	job.DeletionTimestamp = &now
	var out told
	r := newReconciler(k.client, k.live, Options{Clock: clock.RealClock{}})
	r.copier, r.events = k.copier, &out
	result, err := r.Reconcile(t.Context(), job)
	if err != nil || result.RequeueAfter != recheck || len(job.Finalizers) != 1 {
		t.Errorf("%+v, %v, finalizers %v", result, err, job.Finalizers)
	}
	if len(out) != 1 || out[0].Reason != "FailedRemovePullSecret" || !strings.Contains(out[0].Note, "flotilla-spoke-pull-secrets") {
		t.Errorf("told %+v", out)
	}
}

// The agents' namespace may be taken away while the spoke runs: a job says so, and looks again soon, since nothing tells
// when it is there again. It goes on by itself then.
func TestAJobThatCannotCopySaysWhy(t *testing.T) {
	for name, refusal := range map[string]error{
		"gone":            apierrors.NewNotFound(corev1.Resource("namespaces"), "c"),
		"on its way out":  apierrors.NewForbidden(corev1.Resource("secrets"), "s", errors.New("namespace c is being terminated")),
		"without a role":  apierrors.NewForbidden(corev1.Resource("secrets"), "s", nil),
		"there once more": nil,
	} {
		t.Run(name, func(t *testing.T) {
			k := newKeyring(t, sourceSecret())
			k.client = interceptor.NewClient(k.client.(client.WithWatch), interceptor.Funcs{
				Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
					if refusal != nil {
						return refusal
					}
					return c.Create(ctx, obj, opts...)
				},
			})
			job := keyedJob("a", "regcred")
			job.Spec.Image, job.Finalizers = "nginx:1", []string{v1beta1.ImagePullJobFinalizer}
			scheme := runtime.NewScheme()
			if err := v1beta1.AddToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(job, node("n", job, "none")).WithStatusSubresource(job).Build()
			var out told
			r := newReconciler(c, c, Options{Clock: testclock.NewFakePassiveClock(noon)})
			r.copier, r.events = k.copier, &out
			result, err := r.Reconcile(t.Context(), job)
			if err != nil || result.RequeueAfter != recheck {
				t.Errorf("%+v, %v", result, err)
			}
			said := len(out) == 1 && out[0].Reason == "FailedCopyPullSecret" && strings.Contains(out[0].Note, "namespace c cannot be written: it must be there")
			if said != (refusal != nil) {
				t.Errorf("told %+v", out)
			}
			asked := &v1beta1.NodeImage{}
			if err := c.Get(t.Context(), client.ObjectKey{Name: "n"}, asked); err != nil {
				t.Fatal(err)
			}
			if pulls := len(asked.Spec.Images) == 1; pulls == (refusal != nil) {
				t.Errorf("asked for %v", asked.Spec.Images)
			}
		})
	}
}

// The list of pull secrets may have been emptied while there was no admission: what was copied for it goes all the same.
func TestCopiesOfAnEmptiedListGo(t *testing.T) {
	source := sourceSecret()
	k := newKeyring(t, source)
	job := keyedJob("a", source.Name)
	made := k.pass(t, job, 0)
	if len(made.refs) != 1 {
		t.Fatalf("%+v", made)
	}
	job.Spec.PullSecrets = nil
	if err := k.release(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	err := k.client.Get(t.Context(), client.ObjectKey{Namespace: "c", Name: made.refs[0].Name}, &corev1.Secret{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the copy is still there: %v", err)
	}
}

// A child of a list that went by itself would be made anew, and its image be pulled again, while the rest of the list is
// under way. It goes with its list.
func TestCompletedJobsExpire(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1beta1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	ownedBy := func(apiVersion, kind string) []metav1.OwnerReference {
		return []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: "o", UID: "o", Controller: ptr.To(true)}}
	}
	for name, tc := range map[string]struct {
		owners []metav1.OwnerReference
		ttl    *int32
		age    time.Duration
		gone   bool
		wait   time.Duration
	}{
		"its time is over":              {nil, ptr.To[int32](60), time.Minute, true, 0},
		"its time is not over yet":      {nil, ptr.To[int32](60), 50 * time.Second, false, 10 * time.Second},
		"without a time":                {nil, nil, time.Hour, false, 0},
		"at once":                       {nil, ptr.To[int32](0), 0, true, 0},
		"of a workload":                 {ownedBy("apps.kruise.io/v1alpha1", "CloneSet"), ptr.To[int32](60), time.Hour, true, 0},
		"of a list":                     {ownedBy("apps.kruise.io/v1beta1", "ImageListPullJob"), ptr.To[int32](60), time.Hour, false, 0},
		"of a list, in another version": {ownedBy("apps.kruise.io/v1alpha1", "ImageListPullJob"), ptr.To[int32](0), time.Hour, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			j := job("j", nil)
			j.OwnerReferences, j.Spec.CompletionPolicy.TTLSecondsAfterFinished = tc.owners, tc.ttl
			j.Status.CompletionTime = second(noon.Add(-tc.age))
			c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(j).Build()
			r := newReconciler(c, c, Options{Clock: testclock.NewFakePassiveClock(noon)})
			result, err := r.Reconcile(t.Context(), j)
			if err != nil || result.RequeueAfter != tc.wait {
				t.Errorf("%+v, %v", result, err)
			}
			err = c.Get(t.Context(), client.ObjectKeyFromObject(j), j)
			if client.IgnoreNotFound(err) != nil || apierrors.IsNotFound(err) != tc.gone {
				t.Errorf("gone should be %t: %v", tc.gone, err)
			}
		})
	}
}
