// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package imagepulljob

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
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
