// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package kindadmission

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	appsv1alpha1 "github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	"github.com/flotilla-sh/flotilla/apis/validation"
)

// in are the webhooks of a spoke in a member.
func in(m member, objects ...client.Object) map[string]*admission.Webhook {
	m.Reader = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
	return Webhooks(scheme, Facts{Reader: m.Reader, Namespace: "flotilla-system", Member: m})
}

const distribution = `{apiVersion: apps.kruise.io/%v, kind: ResourceDistribution, metadata: {name: d, resourceVersion: "1"%m}, spec: {
  resource: {apiVersion: v1, kind: Secret, metadata: {name: s}, type: "%t"}, targets: {allNamespaces: true}}}`

// TestResourcesAreTriedOut when they are new or not as they were.
func TestResourcesAreTriedOut(t *testing.T) {
	of := func(version, kind, meta string) string {
		return strings.NewReplacer("%v", version, "%t", kind, "%m", meta).Replace(distribution)
	}
	secrets := schema.GroupResource{Resource: "secrets"}
	for name, c := range map[string]struct {
		err     error
		changed bool
		code    int32 // 0: let in
		want    string
	}{
		"taken":     {nil, true, 0, ""},
		"there is":  {apierrors.NewAlreadyExists(secrets, "s"), true, 0, ""},
		"invalid":   {apierrors.NewInvalid(schema.GroupKind{Kind: "Secret"}, "s", nil), true, 422, "spec.resource"},
		"bad":       {apierrors.NewBadRequest("no such thing"), true, 422, "no such thing"},
		"forbidden": {apierrors.NewForbidden(secrets, "s", errors.New("by policy")), true, 422, "by policy"},
		"no answer": {errors.New("no answer"), true, 403, "no answer"},
		"as it was": {errors.New("no answer"), false, 0, ""},
	} {
		for version, path := range map[string]string{"v1beta1": "/validate-apps-kruise-io-resourcedistribution", "v1alpha1": "/validate-apps-kruise-io-v1alpha1-resourcedistribution"} {
			old := of(version, "a", "")
			if c.changed {
				old = of(version, "b", "")
			}
			for _, before := range []string{"", old} {
				if before == "" && !c.changed {
					continue
				}
				response := ask(t, in(member{refuses: c.err})[path], before, of(version, "a", ", labels: {a: b}"))
				if response.Allowed != (c.code == 0) || c.code != 0 && (response.Result.Code != c.code || !strings.Contains(response.Result.Message, c.want)) {
					t.Errorf("%s, %s: %+v", name, version, response.Result)
				}
			}
		}
	}
	if response := ask(t, hooks("hub")["/validate-apps-kruise-io-resourcedistribution"], "", of("v1beta1", "a", "")); !response.Allowed {
		t.Errorf("the hub tries nothing out: %+v", response.Result)
	}
}

const oldCloneSet = `{apiVersion: apps.kruise.io/v1alpha1, kind: CloneSet, metadata: {name: web, namespace: default, uid: u, resourceVersion: "1"}, spec: {
  replicas: 1, selector: {matchLabels: {a: b}}, scaleStrategy: {podsToDelete: [%p]},
  template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}`

// TestPodsToDeleteAreLookedAt in v1alpha1, when they were not listed before.
func TestPodsToDeleteAreLookedAt(t *testing.T) {
	pod := func(name, owner string, change func(*corev1.Pod)) client.Object {
		yes := true
		out := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
		if owner != "" {
			out.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps.kruise.io/v1beta1", Kind: "CloneSet", Name: "web", UID: types.UID(owner), Controller: &yes}}
		}
		if change != nil {
			change(out)
		}
		return out
	}
	objects := []client.Object{pod("mine", "u", nil), pod("other", "x", nil), pod("nobodys", "", nil), pod("leaving", "u", func(p *corev1.Pod) {
		p.Finalizers, p.DeletionTimestamp = []string{"a/b"}, &metav1.Time{Time: time.Unix(1, 0)}
	})}
	of := func(names string) string { return strings.ReplaceAll(oldCloneSet, "%p", names) }
	for name, c := range map[string]struct{ old, names, want string }{
		"one of the set":         {of(""), "mine", ""},
		"no such pod":            {of(""), "mine, none", "podsToDelete[1]: Not found"},
		"of another set":         {of(""), "other", "is no pod of this CloneSet"},
		"of nobody":              {of(""), "nobodys", "is no pod of this CloneSet"},
		"on its way out":         {of(""), "leaving", "is being deleted already"},
		"listed before":          {of("none"), "none, mine", ""},
		"in a set that is new":   {"", "none", ""},
		"and something else bad": {of(""), "none, none", "Duplicate"},
	} {
		response := ask(t, in(member{}, objects...)["/validate-apps-kruise-io-v1alpha1-cloneset"], c.old, of(c.names))
		if response.Allowed != (c.want == "") || c.want != "" && !strings.Contains(response.Result.Message, c.want) {
			t.Errorf("%s: %+v", name, response.Result)
		}
	}
	if response := ask(t, hooks("hub")["/validate-apps-kruise-io-v1alpha1-cloneset"], of(""), of("none")); !response.Allowed {
		t.Errorf("the hub has no pods: %+v", response.Result)
	}
}

const configMapSet = `{apiVersion: apps.kruise.io/v1alpha1, kind: ConfigMapSet, metadata: {name: %n, namespace: default, resourceVersion: "1"}, spec: {
  selector: {matchLabels: {a: b}}, data: {k: %d}, customVersion: "%v", revisionHistoryLimit: 2, containers: [{name: c, mountPath: /%n}],
  reloadSidecarConfig: {type: custom, config: {configMapRef: {name: m, namespace: x}}}}}`

// TestConfigMapSetsAreCheckedAgainstTheirMember: revisions in use, and the names that sidecars from ConfigMaps have.
func TestConfigMapSetsAreCheckedAgainstTheirMember(t *testing.T) {
	of := func(name, data, version string) string {
		return strings.NewReplacer("%n", name, "%d", data, "%v", version).Replace(configMapSet)
	}
	entry := func(value, version string) appsv1alpha1.ConfigMapSetRevisionEntry {
		data := map[string]string{"k": value}
		return appsv1alpha1.ConfigMapSetRevisionEntry{Hash: appsv1alpha1.ConfigMapSetRevision(data), CustomVersion: version, Data: data}
	}
	full := validation.ConfigMapSetHistory{Revisions: []appsv1alpha1.ConfigMapSetRevisionEntry{entry("one", "1"), entry("two", "2")}}
	full.Pods = map[string][]string{full.Revisions[0].Hash: {"pod-1"}, full.Revisions[1].Hash: {"pod-2"}}
	sidecar := func(text string) map[string]string {
		return map[string]string{appsv1alpha1.ConfigMapSetSidecarKey: text}
	}
	other := &unstructured.Unstructured{}
	read(t, []byte(of("other", "v", "")), &other.Object)
	for name, c := range map[string]struct {
		member      member
		old, object string
		there       bool
		code        int32
		want        string
	}{
		"no history":                   {member{}, "", of("s", "v", ""), false, 0, ""},
		"history in use":               {member{history: full}, of("s", "two", "2"), of("s", "three", "3"), false, 422, "pod-1, pod-2"},
		"history, content as it was":   {member{history: full}, of("s", "three", "3"), of("s", "three", "3"), false, 0, ""},
		"name of other content":        {member{history: full}, of("s", "two", "2"), of("s", "two", "1"), false, 422, "spec.customVersion"},
		"custom sidecar":               {member{sidecar: sidecar("name: reload\nimage: i")}, "", of("s", "v", ""), false, 0, ""},
		"custom sidecar without image": {member{sidecar: sidecar("name: reload")}, "", of("s", "v", ""), false, 422, "reload-sidecar"},
		"same custom sidecar":          {member{sidecar: sidecar("name: reload\nimage: i")}, "", of("s", "v", ""), true, 409, "reload sidecar of ConfigMapSet other"},
		"custom sidecars unnamed":      {member{sidecar: sidecar("image: i")}, "", of("s", "v", ""), true, 0, ""},
	} {
		var objects []client.Object
		if c.there {
			objects = append(objects, typed(t, other).(client.Object))
		}
		response := ask(t, in(c.member, objects...)["/validate-apps-kruise-io-v1alpha1-configmapset"], c.old, c.object)
		if response.Allowed != (c.code == 0) || c.code != 0 && (response.Result.Code != c.code || !strings.Contains(response.Result.Message, c.want)) {
			t.Errorf("%s: %+v", name, response.Result)
		}
	}
}
