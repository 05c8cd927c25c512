// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package podunavailablebudget

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	policyv1beta1 "github.com/flotilla-sh/flotilla/apis/policy/v1beta1"
	"github.com/flotilla-sh/flotilla/spoke/podadmission"
)

// What the gates leave of each request (spec 4.5).
func TestOperations(t *testing.T) {
	stamped := func(image string) *corev1.Pod {
		pod := podOf(nil)
		pod.Annotations = map[string]string{"kruise.io/related-pub": "b"}
		pod.Spec.Containers = []corev1.Container{{Name: "c", Image: image}}
		return pod
	}
	free := stamped("a:2")
	free.Annotations = nil
	update := &podadmission.Review{Operation: podadmission.Update, Pod: stamped("a:1"), Updated: stamped("a:2")}
	for name, tc := range map[string]struct {
		review             *podadmission.Review
		updates, deletions bool
		want               policyv1beta1.PubOperation
	}{
		"update":             {update, true, false, policyv1beta1.PubUpdateOperation},
		"update, gate off":   {update, false, true, ""},
		"update of nothing":  {&podadmission.Review{Operation: podadmission.Update, Pod: update.Pod, Updated: update.Pod}, true, true, ""},
		"its stamp goes":     {&podadmission.Review{Operation: podadmission.Update, Pod: update.Pod, Updated: free}, true, true, ""},
		"deletion":           {&podadmission.Review{Operation: podadmission.Delete, Pod: free}, false, true, policyv1beta1.PubDeleteOperation},
		"deletion, gate off": {&podadmission.Review{Operation: podadmission.Delete, Pod: free}, true, false, ""},
		"eviction":           {&podadmission.Review{Operation: podadmission.Evict, Pod: free}, false, true, policyv1beta1.PubEvictOperation},
		"eviction, gate off": {&podadmission.Review{Operation: podadmission.Evict, Pod: free}, true, false, ""},
	} {
		g := &Guard{Updates: tc.updates, Deletions: tc.deletions}
		if got := g.operation(tc.review); got != tc.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// PB-07: who is let through to clean up.
func TestAbandoned(t *testing.T) {
	now := metav1.NewTime(time.Unix(0, 0))
	namespace := func(going bool) *corev1.Namespace {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns"}}
		if going {
			ns.DeletionTimestamp, ns.Finalizers = &now, []string{"x"}
		}
		return ns
	}
	set := func(uid string, going bool) *appsv1.ReplicaSet {
		s := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web"}}
		s.UID = "uid"
		if uid != "" {
			s.UID = "another"
		}
		if going {
			s.DeletionTimestamp, s.Finalizers = &now, []string{"foregroundDeletion"}
		}
		return s
	}
	owned := podOf(controlled("apps/v1", "ReplicaSet", "web"))
	for name, tc := range map[string]struct {
		pod     *corev1.Pod
		objects []client.Object
		want    bool
	}{
		"nobody's":              {podOf(nil), []client.Object{namespace(false)}, false},
		"its set is there":      {owned, []client.Object{namespace(false), set("", false)}, false},
		"its set is going":      {owned, []client.Object{namespace(false), set("", true)}, true},
		"its set is gone":       {owned, []client.Object{namespace(false)}, true},
		"its set is made anew":  {owned, []client.Object{namespace(false), set("another", false)}, true},
		"its namespace goes":    {owned, []client.Object{namespace(true), set("", false)}, true},
		"its namespace is gone": {owned, []client.Object{set("", false)}, true},
	} {
		g := &Guard{live: fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(tc.objects...).Build()}
		if got := g.abandoned(t.Context(), tc.pod); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
