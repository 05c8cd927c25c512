// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// informers hands out one real informer.
type informers struct {
	informertest.FakeInformers
	informer cache.Informer
}

func (i *informers) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	return i.informer, nil
}

func TestDependents(t *testing.T) {
	shared := toolscache.NewSharedIndexInformer(nil, &corev1.Pod{}, 0, toolscache.Indexers{})
	from := &informers{informer: shared}
	dependents, err := NewDependents(context.Background(), from, &corev1.Pod{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewDependents(context.Background(), from, &corev1.Pod{}); err != nil {
		t.Fatalf("a second controller: %v", err)
	}
	pod := func(name, owner string, controls bool) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "v1", Kind: "Set", UID: "uid-a"}, {APIVersion: "v1", Kind: "Set", Name: owner, UID: "uid-b", Controller: ptr.To(controls)},
		}}}
	}
	mine, forged := pod("mine", "b", true), pod("forged", "b", true)
	forged.Namespace = "elsewhere"
	for _, p := range []*corev1.Pod{mine, forged, pod("shared", "b", false), {ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "free"}}} {
		if err := shared.GetIndexer().Add(p); err != nil {
			t.Fatal(err)
		}
	}
	owner := func(uid types.UID) client.Object {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", UID: uid}}
	}
	got, err := dependents.Of(owner("uid-b"))
	if err != nil || len(got) != 1 || got[0] != mine {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := dependents.Of(owner("uid-a")); err != nil || len(got) != 0 {
		t.Errorf("not its controller: %v, %v", got, err)
	}
}

func TestDependentsNeedAnIndex(t *testing.T) {
	// A cache of some namespaces has informers that show no index.
	from := &informers{informer: struct{ cache.Informer }{}}
	if _, err := NewDependents(context.Background(), from, &corev1.Pod{}); err == nil {
		t.Error("an informer without an index was taken")
	}
}
