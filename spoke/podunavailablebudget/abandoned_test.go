// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package podunavailablebudget

import (
	"context"
	"errors"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/flotilla-sh/flotilla/internal/events"
	"github.com/flotilla-sh/flotilla/spoke/budget/ledger"
	"github.com/flotilla-sh/flotilla/spoke/podadmission"
)

type nowhere struct{}

func (nowhere) Publish(...events.Event) {}

// A budget that is spent lets pods of owners that cannot be read be cleaned up.
func TestCleaningUp(t *testing.T) {
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "uid"}}
	for name, tc := range map[string]struct {
		owners []metav1.OwnerReference
		user   string
		passes bool
	}{
		"of a workload that is there":                    {controlled("apps/v1", "StatefulSet", "web"), "alice", false},
		"of a kind that is gone":                         {controlled("gone.example.com/v1", "Gone", "web"), "alice", true},
		"of a workload that only the collector may read": {controlled("apps/v1", "StatefulSet", "web"), garbageCollector, true},
	} {
		t.Run(name, func(t *testing.T) {
			spent := selecting("web", map[string]string{"app": "web"})
			spent.UID, spent.Status.DesiredAvailable = "budget", 1
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns"}}
			c := fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(spent, namespace, set).WithInterceptorFuncs(interceptor.Funcs{
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
					if kind := obj.GetObjectKind().GroupVersionKind(); kind.Kind == "Gone" {
						return &meta.NoKindMatchError{GroupKind: kind.GroupKind(), SearchedVersions: []string{kind.Version}}
					}
					return c.Get(ctx, key, obj, opts...)
				},
			}).Build()
			tally, err := newTally()
			if err != nil {
				t.Fatal(err)
			}
			g := &Guard{
				Ledger: &ledger.Ledger{Seen: c, Live: c, Writer: c.Status(), Clock: clock.RealClock{}}, Deletions: true,
				live: c, events: nowhere{}, tally: tally,
			}
			pod := podOf(tc.owners)
			pod.Annotations = map[string]string{"pub.kruise.io/related-pub": "web"}
			pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
			err = g.Validate(t.Context(), &podadmission.Review{Operation: podadmission.Delete, Pod: pod, User: tc.user})
			var denial *podadmission.Denial
			if passes := err == nil; passes != tc.passes || !passes && !errors.As(err, &denial) {
				t.Error(err)
			}
		})
	}
}
