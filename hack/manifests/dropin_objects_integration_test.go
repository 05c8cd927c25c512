// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package manifests

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/spoke/revision"
)

// actedOn are the kinds of which objects as OpenKruise leaves them, at rest, are in testdata/openkruise.
var actedOn = []string{
	"clonesets", "containerrecreaterequests", "ephemeraljobs", "nodeimages", "nodepodprobes", "podprobemarkers",
	"podunavailablebudgets", "resourcedistributions", "uniteddeployments",
}

// storeObjects stores what OpenKruise has: objects of every kind as users write them, and workloads at rest
// with their revisions, pods and claims, in testdata/openkruise. Kinds that are acted on are of the
// latter only: as users write them they would be worked on. Of each kind whose values our schemas bound, there is
// one with a value that is refused by now.
func (o *openKruise) storeObjects(t *testing.T) {
	t.Helper()
	uids := map[string]types.UID{}
	for _, crd := range o.crds {
		if plural := crd.Spec.Names.Plural; !slices.Contains(actedOn, plural) {
			o.storeFile(t, filepath.Join("objects", plural), uids)
		}
	}
	for _, file := range append(slices.Clone(actedOn), "others", "mistakes") {
		o.storeFile(t, filepath.Join("openkruise", file), uids)
	}
}

// storeFile stores objects with their status. An owner is named by its kind and name; its uid is filled in.
func (o *openKruise) storeFile(t *testing.T, file string, uids map[string]types.UID) {
	t.Helper()
	for _, obj := range objectsIn(t, file) {
		refs := obj.GetOwnerReferences()
		for i := range refs {
			if refs[i].UID = uids[refs[i].Kind+"/"+refs[i].Name]; refs[i].UID == "" {
				t.Fatalf("%s %s: there is no %s %s", obj.GetKind(), obj.GetName(), refs[i].Kind, refs[i].Name)
			}
		}
		obj.SetOwnerReferences(refs)
		status, found := obj.Object["status"]
		o.create(t, obj)
		uids[obj.GetKind()+"/"+obj.GetName()] = obj.GetUID()
		if !found {
			continue
		}
		obj.Object["status"] = status
		if err := o.admin.Status().Update(t.Context(), obj); err != nil {
			t.Fatalf("%s %s: %v", obj.GetKind(), obj.GetName(), err)
		}
	}
}

// picture is what a cluster holds.
type picture struct {
	// versions says which write each object is of, by kind, namespace and name.
	versions map[string]string
	// contents are the objects of OpenKruise's kinds, in each version.
	contents map[string]map[string]map[string]any
}

// watched are the kinds of a workload's parts.
var watched = []schema.GroupVersionKind{
	{Version: "v1", Kind: "Pod"}, {Version: "v1", Kind: "PersistentVolumeClaim"}, {Group: "apps", Version: "v1", Kind: "ControllerRevision"},
	{Group: "apps", Version: "v1", Kind: "ReplicaSet"},
}

// picture looks at everything but the programs' own namespace, of which only revisions count.
func (o *openKruise) picture(t *testing.T) picture {
	t.Helper()
	out := picture{map[string]string{}, map[string]map[string]map[string]any{}}
	for _, gvk := range watched {
		for _, obj := range o.list(t, gvk) {
			out.versions[keyOf(obj)] = obj.GetResourceVersion()
		}
	}
	for _, obj := range o.list(t, appsv1.SchemeGroupVersion.WithKind("Deployment")) {
		if obj.GetNamespace() != kruiseNamespace {
			out.versions[keyOf(obj)] = obj.GetResourceVersion()
		}
	}
	for _, crd := range o.crds {
		for _, version := range crd.Spec.Versions {
			for _, obj := range o.list(t, schema.GroupVersionKind{Group: crd.Spec.Group, Version: version.Name, Kind: crd.Spec.Names.Kind}) {
				out.versions[keyOf(obj)] = obj.GetResourceVersion()
				if out.contents[keyOf(obj)] == nil {
					out.contents[keyOf(obj)] = map[string]map[string]any{}
				}
				out.contents[keyOf(obj)][version.Name] = content(t, withoutWaiting(obj))
			}
		}
	}
	return out
}

// withoutWaiting takes out the conditions that are ours alone: they tell of a CloneSet in the middle of a rollout what
// it waits for.
func withoutWaiting(obj *unstructured.Unstructured) *unstructured.Unstructured {
	conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	left := slices.DeleteFunc(slices.Clone(conditions), func(c any) bool {
		return slices.Contains([]any{"Waiting", "PartitionReached"}, c.(map[string]any)["type"])
	})
	switch {
	case len(left) == len(conditions):
	case len(left) == 0:
		unstructured.RemoveNestedField(obj.Object, "status", "conditions")
	default:
		_ = unstructured.SetNestedSlice(obj.Object, left, "status", "conditions")
	}
	return obj
}

func (o *openKruise) list(t *testing.T, gvk schema.GroupVersionKind) []*unstructured.Unstructured {
	t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(gvk)
	if err := o.admin.List(t.Context(), list); err != nil {
		t.Fatalf("listing %s: %v", gvk, err)
	}
	var out []*unstructured.Unstructured
	for i := range list.Items {
		if list.Items[i].GetNamespace() != "after" {
			out = append(out, &list.Items[i])
		}
	}
	return out
}

func keyOf(obj client.Object) string {
	gvk := obj.GetObjectKind().GroupVersionKind()
	return fmt.Sprintf("%s.%s %s/%s", gvk.Kind, gvk.Group, obj.GetNamespace(), obj.GetName())
}

// written says which objects were written, came, or went since the picture before, but for these.
func written(before, after picture, but ...string) string {
	return cmp.Diff(before.versions, after.versions, cmpopts.IgnoreMapEntries(func(key, _ string) bool { return slices.Contains(but, key) }))
}

// excused is what v1alpha1 need not show any more.
var excused = map[string]string{
	"PodUnavailableBudget.annotations.pub.kruise.io/protect-total-replicas is not there": "v1beta1 has a field for it, which OpenKruise left empty, as it does not convert budgets: the annotation stays stored",
	"PodUnavailableBudget.annotations.kruise.io/pub-protect-operations is not there":     "likewise",
}

// lost says what of the objects cannot be read any more: as v1beta1 and where there is one version nothing may
// differ; v1alpha1 may say more now, as OpenKruise leaves the versions of some kinds as they are stored.
func lost(before, after picture) []string {
	var out []string
	for key, versions := range before.contents {
		kind, _, _ := strings.Cut(key, ".")
		for version, was := range versions {
			is := after.contents[key][version]
			if version == "v1beta1" || len(versions) == 1 {
				if diff := cmp.Diff(was, is); diff != "" {
					out = append(out, fmt.Sprintf("%s as %s (-before +after):\n%s", key, version, diff))
				}
				continue
			}
			for _, problem := range missing(kind, was, is) {
				if excused[problem] == "" {
					out = append(out, key+" as "+version+": "+problem)
				}
			}
		}
	}
	return out
}

// sameRevisions wants the revisions that OpenKruise wrote to be those we would write, byte by byte and by name.
// The hash of a DaemonSet is of its template's Go value, which is not the same in every library.
func (o *openKruise) sameRevisions(t *testing.T) {
	t.Helper()
	found := 0
	for _, obj := range o.list(t, appsv1.SchemeGroupVersion.WithKind("ControllerRevision")) {
		owner := metav1.GetControllerOf(obj)
		if owner == nil || owner.Kind == "UnitedDeployment" {
			continue // the payload of that is made where its controller is
		}
		r := &appsv1.ControllerRevision{}
		if err := o.admin.Get(t.Context(), client.ObjectKeyFromObject(obj), r); err != nil {
			t.Fatal(err)
		}
		payload := payloadOf(t, r, owner.Kind)
		if diff := cmp.Diff(string(r.Data.Raw), string(payload)); diff != "" {
			t.Errorf("revision %s (-OpenKruise's +ours):\n%s", r.Name, diff)
		}
		if name := revision.Name(owner.Name, revision.Hash(payload, nil)); name != r.Name && owner.Kind != "DaemonSet" {
			t.Errorf("revision %s would be %s", r.Name, name)
		}
		found++
	}
	if found < 12 {
		t.Errorf("there are only %d revisions", found)
	}
}

// payloadOf reads a revision into the types, and makes its payload anew.
func payloadOf(t *testing.T, r *appsv1.ControllerRevision, kind string) []byte {
	t.Helper()
	if kind == "SidecarSet" {
		set := &appsv1beta1.SidecarSet{}
		if err := json.Unmarshal(r.Data.Raw, set); err != nil {
			t.Fatal(err)
		}
		payload, err := revision.SidecarSetPayload(set)
		if err != nil {
			t.Fatal(err)
		}
		return payload
	}
	template, err := revision.Template(r)
	if err != nil {
		t.Fatal(err)
	}
	payload, err := revision.Payload(template)
	if err != nil {
		t.Fatal(err)
	}
	return payload
}
