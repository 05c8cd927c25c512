// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
)

func template(change func(*corev1.PodTemplateSpec)) *corev1.PodTemplateSpec {
	t := &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "nginx:1"}}},
	}
	if change != nil {
		change(t)
	}
	return t
}

// The bytes are those OpenKruise 1.9 stores, built on Kubernetes 0.32: nulls for the time stamps of
// every embedded metadata, keys sorted, numbers plain, markup escaped.
func TestPayloadBytes(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*corev1.PodTemplateSpec)
		want   string
	}{
		"plain": {nil, `{"spec":{"template":{"$patch":"replace","metadata":{"creationTimestamp":null,"labels":{"app":"web"}},"spec":{"containers":[{"image":"nginx:1","name":"main","resources":{}}]}}}}`},
		"no metadata": {func(t *corev1.PodTemplateSpec) { t.ObjectMeta = metav1.ObjectMeta{} },
			`{"spec":{"template":{"$patch":"replace","metadata":{"creationTimestamp":null},"spec":{"containers":[{"image":"nginx:1","name":"main","resources":{}}]}}}}`},
		"ephemeral claim, numbers, markup": {func(t *corev1.PodTemplateSpec) {
			t.Spec.TerminationGracePeriodSeconds = ptr.To[int64](1234567890123)
			t.Spec.Containers[0].Args = []string{"<&>"}
			t.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{}}}}}
		}, `{"spec":{"template":{"$patch":"replace","metadata":{"creationTimestamp":null,"labels":{"app":"web"}},"spec":{"containers":[{"args":["\u003c\u0026\u003e"],"image":"nginx:1","name":"main","resources":{}}],"terminationGracePeriodSeconds":1234567890123,"volumes":[{"ephemeral":{"volumeClaimTemplate":{"metadata":{"creationTimestamp":null},"spec":{"resources":{}}}},"name":"v"}]}}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Payload(template(tc.change))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			back, err := Template(&appsv1.ControllerRevision{Data: runtime.RawExtension{Raw: got}})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(template(tc.change), back); diff != "" {
				t.Errorf("template read back (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNames(t *testing.T) {
	payload, _ := Payload(template(nil))
	for _, never := range []*int32{nil, ptr.To[int32](0)} {
		if got := Hash(payload, never); got != "5f856d6d9f" {
			t.Errorf("hash %s", got)
		}
	}
	if got := Hash(payload, ptr.To[int32](1)); got != "5f856d6d9d" {
		t.Errorf("hash after a collision %s", got)
	}
	if got := Name(strings.Repeat("x", 250), "h"); len(got) != 225 {
		t.Errorf("name of %d characters", len(got))
	}
}

func revisionOf(name string, number int64, raw string) *appsv1.ControllerRevision {
	return &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: name}, Revision: number, Data: runtime.RawExtension{Raw: []byte(raw)}}
}

func TestSync(t *testing.T) {
	a, b := revisionOf("w-a", 1, `{"spec":{"template":{"x":1}}}`), revisionOf("w-b", 2, `{"spec":{"template":{"x":2}}}`)
	withNull := revisionOf("", 0, `{"spec":{"template":{"y":null,"x":2}}}`)
	for name, tc := range map[string]struct {
		existing  []*appsv1.ControllerRevision
		candidate *appsv1.ControllerRevision
		want      Decision
	}{
		"first":                {nil, a, Decision{Move: Create, Number: 1}},
		"newest is equal":      {[]*appsv1.ControllerRevision{b, a}, revisionOf("", 0, string(b.Data.Raw)), Decision{Move: Reuse, Existing: b}},
		"older is equal":       {[]*appsv1.ControllerRevision{b, a}, revisionOf("", 0, string(a.Data.Raw)), Decision{Move: Promote, Existing: a, Number: 3}},
		"none is equal":        {[]*appsv1.ControllerRevision{b, a}, revisionOf("", 0, `{"spec":{}}`), Decision{Move: Create, Number: 3}},
		"equal but for a null": {[]*appsv1.ControllerRevision{b, a}, withNull, Decision{Move: Reuse, Existing: b}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Sync(tc.existing, tc.candidate)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if string(withNull.Data.Raw) != `{"spec":{"template":{"y":null,"x":2}}}` {
		t.Error("comparing changed the payload")
	}
}

func TestCurrentAndTruncate(t *testing.T) {
	var list []*appsv1.ControllerRevision
	for i, name := range []string{"w-a", "w-b", "w-c", "w-d", "w-e"} {
		list = append(list, revisionOf(name, int64(i+1), "{}"))
	}
	if Current(list, "w-b", list[4]) != list[1] || Current(list, "gone", list[4]) != list[4] {
		t.Error("current revision is wrong")
	}
	for name, tc := range map[string]struct {
		inUse []string
		limit int
		want  []string
	}{
		"under the limit":             {[]string{"w-e"}, 10, nil},
		"oldest idle ones go":         {[]string{"w-e", "w-e"}, 1, []string{"w-a", "w-b", "w-c"}},
		"short hashes count as names": {[]string{"e", "a", "w-b"}, 1, []string{"w-c"}},
		"negative limit keeps none":   {[]string{"w-e"}, -1, []string{"w-a", "w-b", "w-c", "w-d"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, r := range Truncate(list, tc.inUse, tc.limit) {
				got = append(got, r.Name)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
