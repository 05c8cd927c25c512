// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package imagepulljob

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func sorted(s []string) []string { slices.Sort(s); return s }

func sourceSecret() *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "regcred", UID: "u", Labels: map[string]string{"l": "1"},
			Annotations: map[string]string{"a": "1", corev1.LastAppliedConfigAnnotation: "words"},
		},
		Type: corev1.SecretTypeDockerConfigJson, Data: map[string][]byte{"k": []byte("v")},
	}
}

func TestCopy(t *testing.T) {
	source := sourceSecret()
	got := copyOf(source, "c", "regcred-1", []string{"ns/b", "ns/a", "ns/b"})
	want := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "c", Name: "regcred-1", Labels: map[string]string{"l": "1"}, Annotations: map[string]string{
			"a": "1", "imagepulljobs.kruise.io/source-key": "ns/regcred", "imagepulljobs.kruise.io/mode": "batch", "imagepulljobs.kruise.io/references": "ns/a,ns/b",
		}},
		Type: source.Type, Data: source.Data,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(source.Annotations) != 2 {
		t.Error("the source was changed")
	}
	if same, changed := refreshed(got, source, "ns/a"); changed {
		t.Errorf("refreshed without a change: %+v", same)
	}
	for name, change := range map[string]func(){
		"data": func() { source.Data["k"] = []byte("w") }, "labels": func() { source.Labels["l"] = "2" }, "annotations": func() { source.Annotations["a"] = "2" },
	} {
		before := got.DeepCopy()
		change()
		fresh, changed := refreshed(before, source, "ns/a")
		if !changed {
			t.Errorf("%s of the source do not reach the copy", name)
		}
		got = fresh
	}
	if _, changed := refreshed(got, source, "ns/c"); !changed {
		t.Error("another job is not noted")
	}
}

func TestCopyName(t *testing.T) {
	key := client.ObjectKey{Namespace: "ns", Name: "regcred"}
	if a, b := copyName(key, ""), copyName(key, ""); a != b {
		t.Errorf("%s and %s of one source", a, b)
	}
	seen := map[string]bool{}
	for _, k := range []client.ObjectKey{key, {Namespace: "other", Name: "regcred"}} {
		for _, salt := range []string{"", "1"} {
			seen[copyName(k, salt)] = true
		}
	}
	if len(seen) != 4 {
		t.Errorf("names %v", seen)
	}
	for _, name := range []string{"a", strings.Repeat("a", 253), strings.Repeat("a.", 126) + "a"} {
		got := copyName(client.ObjectKey{Namespace: "ns", Name: name}, "")
		if problems := validation.IsDNS1123Subdomain(got); len(problems) > 0 {
			t.Errorf("%s: %v", got, problems)
		}
	}
}

func TestFindCopy(t *testing.T) {
	made := func(name, source string, jobs ...string) *corev1.Secret {
		out := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"imagepulljobs.kruise.io/source-key": source}}}
		setReferences(out, jobs)
		return out
	}
	list := []*corev1.Secret{made("c", "ns/regcred", "ns/j"), made("b", "ns/regcred"), made("a", "ns/other"), {ObjectMeta: metav1.ObjectMeta{Name: "0"}}}
	key := client.ObjectKey{Namespace: "ns", Name: "regcred"}
	if got := findCopy(list, key, "ns/j"); got.Name != "c" {
		t.Errorf("the one the job is in goes first, got %s", got.Name)
	}
	if got := findCopy(list, key, "ns/x"); got.Name != "b" {
		t.Errorf("then the name decides, got %s", got.Name)
	}
	if got := findCopy(list, client.ObjectKey{Namespace: "x", Name: "regcred"}, "ns/j"); got != nil {
		t.Errorf("of another namespace: %s", got.Name)
	}
}
