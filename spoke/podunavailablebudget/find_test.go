// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package podunavailablebudget

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	policyv1beta1 "github.com/flotilla-sh/flotilla/apis/policy/v1beta1"
	"github.com/flotilla-sh/flotilla/spoke/budget"
	"github.com/flotilla-sh/flotilla/spoke/workload"
)

func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, appsv1beta1.AddToScheme, policyv1beta1.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// cluster has these objects, in the cache or only in the API server.
func cluster(t *testing.T, cached, live []client.Object) *finder {
	t.Helper()
	build := func(objects []client.Object) client.Client {
		return fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(objects...).Build()
	}
	return &finder{seen: build(cached), live: build(live)}
}

func target(name, apiVersion, kind, of string) *budget.Budget {
	return &budget.Budget{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Spec: policyv1beta1.PodUnavailableBudgetSpec{
		TargetReference: &policyv1beta1.TargetReference{APIVersion: apiVersion, Kind: kind, Name: of},
	}}
}

func selecting(name string, labels map[string]string) *budget.Budget {
	return &budget.Budget{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Spec: policyv1beta1.PodUnavailableBudgetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
	}}
}

func controlled(apiVersion, kind, name string) []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: name, UID: "uid", Controller: ptr.To(true)}}
}

func podOf(owners []metav1.OwnerReference) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", Labels: map[string]string{"app": "web"}, OwnerReferences: owners}}
}

// Spec 4.4: which budget a pod gets.
func TestOfPod(t *testing.T) {
	set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web-1", UID: "uid", OwnerReferences: controlled("apps/v1", "Deployment", "web")}}
	web := map[string]string{"app": "web"}
	elsewhere := selecting("a", web)
	elsewhere.Namespace = "other"
	cloneSet := podOf(controlled("apps.kruise.io/v1alpha1", "CloneSet", "web"))
	for name, tc := range map[string]struct {
		pod     *corev1.Pod
		budgets []client.Object
		want    string
	}{
		"none":                                 {cloneSet, []client.Object{elsewhere}, ""},
		"its workload, of any version":         {cloneSet, []client.Object{target("b", "apps.kruise.io/v1beta1", "CloneSet", "web")}, "b"},
		"another group":                        {cloneSet, []client.Object{target("b", "apps/v1", "CloneSet", "web")}, ""},
		"another name":                         {cloneSet, []client.Object{target("b", "apps.kruise.io/v1beta1", "CloneSet", "api")}, ""},
		"the Deployment of its ReplicaSet":     {podOf(controlled("apps/v1", "ReplicaSet", "web-1")), []client.Object{target("b", "apps/v1", "Deployment", "web")}, "b"},
		"not the ReplicaSet":                   {podOf(controlled("apps/v1", "ReplicaSet", "web-1")), []client.Object{target("b", "apps/v1", "ReplicaSet", "web-1")}, ""},
		"by selector, without a workload":      {podOf(nil), []client.Object{selecting("b", web)}, "b"},
		"by selector, beside a target":         {cloneSet, []client.Object{target("a", "apps/v1", "Deployment", "web"), selecting("b", web)}, "b"},
		"another selector":                     {cloneSet, []client.Object{selecting("b", map[string]string{"app": "api"})}, ""},
		"an empty selector":                    {cloneSet, []client.Object{selecting("b", nil)}, ""},
		"the first by name":                    {cloneSet, []client.Object{selecting("c", web), selecting("b", web)}, "b"},
		"a target without a workload to match": {podOf(nil), []client.Object{target("b", "apps/v1", "Deployment", "web")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := cluster(t, tc.budgets, []client.Object{set}) // the cache has not seen the ReplicaSet yet
			got, err := f.ofPod(t.Context(), tc.pod)
			if err != nil || got != tc.want {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

func TestOfWorkload(t *testing.T) {
	f := cluster(t, []client.Object{
		target("a", "apps/v1", "Deployment", "web"), target("b", "apps/v1", "StatefulSet", "web"), target("c", "apps/v1", "Deployment", "api"),
		selecting("d", map[string]string{"app": "web"}), selecting("e", map[string]string{"app": "api"}),
	}, nil)
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web"}}
	deployment.Spec.Template.Labels = map[string]string{"app": "web", "more": "x"}
	if d := cmp.Diff([]string{"a", "d"}, f.ofWorkload(t.Context(), deployment, workload.Deployment)); d != "" {
		t.Error(d)
	}
}

func TestStamp(t *testing.T) {
	f := cluster(t, []client.Object{selecting("b", map[string]string{"app": "web"})}, nil)
	pod := podOf(nil)
	if changed, err := (Stamp{f}).Mutate(t.Context(), pod); err != nil || !changed || budget.NameOf(pod) != "b" || len(pod.Annotations) != 2 {
		t.Errorf("%v, %v, %v", changed, err, pod.Annotations)
	}
	if f.stale(t.Context(), pod) {
		t.Error("a stamp of a budget that is there is stale")
	}
	other := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "q"}}
	if changed, err := (Stamp{f}).Mutate(t.Context(), other); err != nil || changed || !f.stale(t.Context(), other) {
		t.Errorf("%v, %v", changed, err)
	}
	other.Annotations = map[string]string{"kruise.io/related-pub": "gone"}
	if !f.stale(t.Context(), other) {
		t.Error("a stamp of a budget that is gone is not stale")
	}
}

// Spec 4.7 and the rows of 4.9 that are about how many pods there should be.
func TestGather(t *testing.T) {
	const n = 3
	now := metav1.NewTime(time.Unix(0, 0))
	deployment := func(replicas *int32, going bool) *appsv1.Deployment {
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "d"}, Spec: appsv1.DeploymentSpec{Replicas: replicas}}
		if going {
			d.DeletionTimestamp, d.Finalizers = &now, []string{"x"}
		}
		return d
	}
	set := func(name string, owners []metav1.OwnerReference) *appsv1.ReplicaSet {
		return &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: "uid", OwnerReferences: owners}}
	}
	ofDeployment := controlled("apps/v1", "Deployment", "web")
	ofDeployment[0].UID = "d"
	cloneSet := &appsv1beta1.CloneSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "uid"}, Spec: appsv1beta1.CloneSetSpec{Replicas: ptr.To[int32](7)}}
	ofSet, ofCloneSet := controlled("apps/v1", "ReplicaSet", "web-1"), controlled("apps.kruise.io/v1beta1", "CloneSet", "web")
	bySelector, byTarget := selecting("b", map[string]string{"app": "web"}), target("b", "apps/v1", "Deployment", "web")
	protecting := func(b *budget.Budget) *budget.Budget {
		b = b.DeepCopy()
		b.Spec.ProtectTotalReplicas = ptr.To[int32](15)
		return b
	}
	for name, tc := range map[string]struct {
		budget   *budget.Budget
		owners   []metav1.OwnerReference
		objects  []client.Object
		pods     int
		expected int32
	}{
		"selector":                             {bySelector, ofSet, []client.Object{deployment(ptr.To[int32](10), false), set("web-1", ofDeployment)}, n, 10},
		"selector, replicas 0":                 {bySelector, ofSet, []client.Object{deployment(ptr.To[int32](0), false), set("web-1", ofDeployment)}, n, 0},
		"selector, PB-03: no replicas":         {bySelector, ofSet, []client.Object{deployment(nil, false), set("web-1", ofDeployment)}, n, 1},
		"selector, being deleted":              {bySelector, ofSet, []client.Object{deployment(ptr.To[int32](10), true), set("web-1", ofDeployment)}, n, 0},
		"selector, gone":                       {bySelector, ofSet, []client.Object{set("web-1", ofDeployment)}, n, 0},
		"selector, its ReplicaSet is gone too": {bySelector, ofSet, nil, n, 0},
		"selector, 15 to be protected":         {protecting(bySelector), ofSet, nil, n, 15},
		"selector, no workload":                {bySelector, nil, nil, n, 0},
		"selector, CloneSet":                   {bySelector, ofCloneSet, []client.Object{cloneSet}, n, 7},
		"target":                               {byTarget, ofSet, []client.Object{deployment(ptr.To[int32](10), false), set("web-1", ofDeployment)}, n, 10},
		"target, PB-03: no replicas":           {byTarget, ofSet, []client.Object{deployment(nil, false), set("web-1", ofDeployment)}, n, 1},
		"target, replicas 0":                   {byTarget, ofSet, []client.Object{deployment(ptr.To[int32](0), false), set("web-1", ofDeployment)}, 0, 0},
		"target, being deleted":                {byTarget, ofSet, []client.Object{deployment(ptr.To[int32](10), true), set("web-1", ofDeployment)}, 0, 0},
		"target, gone":                         {byTarget, ofSet, nil, 0, 0},
		"target, 15 to be protected":           {protecting(byTarget), ofSet, []client.Object{deployment(ptr.To[int32](1), false), set("web-1", ofDeployment)}, n, 15},
		"target, CloneSet":                     {target("b", "apps.kruise.io/v1alpha1", "CloneSet", "web"), ofCloneSet, []client.Object{cloneSet}, n, 7},
		"neither":                              {&budget.Budget{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "b"}}, ofSet, nil, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			objects := slices.Clone(tc.objects)
			for i := range n + 2 {
				pod := podOf(tc.owners)
				pod.Name = []string{"a", "b", "c", "going", "finished"}[i]
				objects = append(objects, pod)
				switch pod.Name {
				case "going":
					pod.DeletionTimestamp, pod.Finalizers = &now, []string{"x"}
				case "finished":
					pod.Status.Phase = corev1.PodFailed
				}
			}
			c := indexed(t, objects)
			r := &Reconciler{find: &finder{c, c}, scales: &workload.Finder{Seen: c, Live: c}}
			got, err := r.gather(t.Context(), tc.budget)
			if err != nil || len(got.pods) != tc.pods || got.expected != tc.expected {
				t.Errorf("%d pods of %d, %v", len(got.pods), got.expected, err)
			}
		})
	}
}
