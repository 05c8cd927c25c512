// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"context"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// blind is a client whose lists show nothing: a cache that has not caught up.
func blind(c client.WithWatch) client.Client {
	return interceptor.NewClient(c, interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return nil },
	})
}

func ownerOf(image string) Owner {
	t := template(func(t *corev1.PodTemplateSpec) { t.Spec.Containers[0].Image = image })
	return Owner{
		Object: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "u", Annotations: map[string]string{"a": "1"}}},
		GVK:    schema.GroupVersionKind{Group: "apps.kruise.io", Version: "v1beta1", Kind: "CloneSet"}, Template: t,
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, Annotations: map[string]string{"claims": "1"},
	}
}

func ensure(t *testing.T, s *Store, owner Owner, current string) *Result {
	t.Helper()
	r, err := s.Ensure(context.Background(), owner, current, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestEnsure(t *testing.T) {
	c := fake.NewClientBuilder().Build()
	s := &Store{Client: c, Live: c}
	first := ensure(t, s, ownerOf("nginx:1"), "")
	got := first.Update
	if got != first.Current || got.Revision != 1 || got.Labels["app"] != "web" || got.Annotations["a"] != "1" || got.Annotations["claims"] != "1" ||
		got.Name != "web-"+got.Labels[appsv1beta1.ControllerHashLabel] {
		t.Errorf("first revision %+v", got.ObjectMeta)
	}
	second := ensure(t, s, ownerOf("nginx:2"), got.Name)
	if second.Update.Revision != 2 || second.Current.Name != got.Name || len(second.All) != 2 {
		t.Errorf("second %s of number %d, current %s", second.Update.Name, second.Update.Revision, second.Current.Name)
	}
	back := ensure(t, s, ownerOf("nginx:1"), got.Name)
	if back.Update.Name != got.Name || back.Update.Revision != 3 || back.Current.Name != got.Name {
		t.Errorf("rolled back to %s of number %d", back.Update.Name, back.Update.Revision)
	}
}

// A change of the claim templates alone makes no revision and leaves the hash on the newest one; a revision that is
// taken up again gets the hash of now, and is looked at anew for images to pull ahead (CS-30).
func TestEnsureAnnotations(t *testing.T) {
	ctx := context.Background()
	c := fake.NewClientBuilder().Build()
	s := &Store{Client: c, Live: c}
	with := func(image, claims string) Owner {
		owner := ownerOf(image)
		owner.Annotations = map[string]string{appsv1beta1.CloneSetVolumeClaimTemplateHashKey: claims}
		return owner
	}
	first := ensure(t, s, with("nginx:1", "a"), "").Update
	again := ensure(t, s, with("nginx:1", "b"), first.Name)
	if again.Update.Name != first.Name || len(again.All) != 1 || again.Update.Annotations[appsv1beta1.CloneSetVolumeClaimTemplateHashKey] != "a" {
		t.Errorf("claims alone: %s, %d revisions, %v", again.Update.Name, len(again.All), again.Update.Annotations)
	}
	pulled := first.DeepCopy()
	pulled.Labels[appsv1beta1.ImagePreDownloadCreatedKey], pulled.Labels[appsv1beta1.ImagePreDownloadIgnoredKey] = "true", "true"
	if err := c.Update(ctx, pulled); err != nil {
		t.Fatal(err)
	}
	ensure(t, s, with("nginx:2", "b"), first.Name)
	back := ensure(t, s, with("nginx:1", "b"), first.Name).Update
	var stored appsv1.ControllerRevision
	if err := c.Get(ctx, client.ObjectKeyFromObject(back), &stored); err != nil {
		t.Fatal(err)
	}
	if stored.Name != first.Name || stored.Revision != 3 || stored.Annotations[appsv1beta1.CloneSetVolumeClaimTemplateHashKey] != "b" {
		t.Errorf("taken up again: %s of number %d, %v", stored.Name, stored.Revision, stored.Annotations)
	}
	if _, created := stored.Labels[appsv1beta1.ImagePreDownloadCreatedKey]; created || stored.Labels[appsv1beta1.ImagePreDownloadIgnoredKey] != "" || stored.Labels["app"] != "web" {
		t.Errorf("labels %v", stored.Labels)
	}
}

// A revision that somebody made without annotations is taken up again all the same.
func TestPromoteWithoutAnnotations(t *testing.T) {
	c := fake.NewClientBuilder().Build()
	s := &Store{Client: c, Live: c}
	first := ensure(t, s, ownerOf("nginx:1"), "").Update.DeepCopy()
	first.Annotations = nil
	if err := c.Update(context.Background(), first); err != nil {
		t.Fatal(err)
	}
	ensure(t, s, ownerOf("nginx:2"), first.Name)
	if back := ensure(t, s, ownerOf("nginx:1"), first.Name).Update; back.Name != first.Name || back.Annotations["claims"] != "1" {
		t.Errorf("%s with %v", back.Name, back.Annotations)
	}
}

// What the cache does not show yet is found by its name, and not made twice.
func TestEnsureBehindTheCache(t *testing.T) {
	c := fake.NewClientBuilder().Build()
	s := &Store{Client: blind(c), Live: c}
	first, again := ensure(t, s, ownerOf("nginx:1"), ""), ensure(t, s, ownerOf("nginx:1"), "")
	if first.Update.Name != again.Update.Name || again.Collisions != nil {
		t.Errorf("%s, then %s with %v collisions", first.Update.Name, again.Update.Name, again.Collisions)
	}
}

// A name taken by somebody else is walked past.
func TestEnsureCollision(t *testing.T) {
	c := fake.NewClientBuilder().Build()
	s := &Store{Client: c, Live: c}
	name := ensure(t, s, ownerOf("nginx:1"), "").Update.Name
	var taken appsv1.ControllerRevision
	if err := c.Get(context.Background(), client.ObjectKey{Namespace: "ns", Name: name}, &taken); err != nil {
		t.Fatal(err)
	}
	taken.OwnerReferences[0].UID = "somebody"
	if err := c.Update(context.Background(), &taken); err != nil {
		t.Fatal(err)
	}
	r := ensure(t, s, ownerOf("nginx:1"), "")
	if r.Update.Name == name || r.Collisions == nil || *r.Collisions != 1 {
		t.Errorf("%s with %v collisions", r.Update.Name, r.Collisions)
	}
	if err := s.Remove(context.Background(), []*appsv1.ControllerRevision{r.Update, r.Update}); err != nil {
		t.Errorf("removing twice: %v", err)
	}
}
