// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package inplace

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/apis/podtemplate"
)

// revisionOf makes a revision as the revision engine would.
func revisionOf(t testing.TB, name string, template *corev1.PodTemplateSpec) *appsv1.ControllerRevision {
	t.Helper()
	raw, err := json.Marshal(map[string]any{"spec": map[string]any{"template": template}})
	if err != nil {
		t.Fatal(err)
	}
	return &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)}, Data: runtime.RawExtension{Raw: raw},
	}
}

func refEnv(name, path string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}}
}

func barrier(priority string) corev1.EnvVar {
	return corev1.EnvVar{Name: "KRUISE_CONTAINER_BARRIER", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{Key: "p_" + priority}}}
}

// fourContainers is the template of the contract: c1 first, c2 next, c3 and c4 last.
func fourContainers() *corev1.PodTemplateSpec {
	return &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{
			Labels:      map[string]string{"k1": "1", "k2": "1", "plain": "1"},
			Annotations: map[string]string{"a1": "1", "note": "1"},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{
			{Name: "c1", Image: "c1:1", Env: []corev1.EnvVar{barrier("20"), refEnv("K1", "metadata.labels['k1']")}},
			{Name: "c2", Image: "c2:1", Env: []corev1.EnvVar{barrier("10"), refEnv("K2", "metadata.labels['k2']")}},
			{Name: "c3", Image: "c3:1", Env: []corev1.EnvVar{barrier("0"), refEnv("K2", "metadata.labels['k2']")}},
			{Name: "c4", Image: "c4:1", Env: []corev1.EnvVar{barrier("0"), refEnv("A1", "metadata.annotations['a1']")}},
		}},
	}
}

func changed(change func(*corev1.PodTemplateSpec)) *corev1.PodTemplateSpec {
	t := fourContainers()
	change(t)
	return t
}

func TestDiff(t *testing.T) {
	all := Options{EnvFromMetadata: true, CompareClaimTemplates: true}
	for name, tc := range map[string]struct {
		change  func(*corev1.PodTemplateSpec)
		options Options
		want    *Spec
		because string
	}{
		"nothing": {func(*corev1.PodTemplateSpec) {}, all, &Spec{Revision: "w-2"}, ""},
		"images": {func(t *corev1.PodTemplateSpec) {
			t.Spec.Containers[0].Image, t.Spec.Containers[2].Image = "c1:2", "c3:2"
		}, all,
			&Spec{Revision: "w-2", ContainerImages: map[string]string{"c1": "c1:2", "c3": "c3:2"}}, ""},
		"plain metadata": {func(t *corev1.PodTemplateSpec) { t.Annotations["note"] = "2"; delete(t.Labels, "plain") }, all,
			&Spec{Revision: "w-2", MetaDataPatch: []byte(`{"metadata":{"annotations":{"note":"2"},"labels":{"plain":null}}}`)}, ""},
		"metadata that is each pod's own": {func(t *corev1.PodTemplateSpec) {
			t.Annotations["note"] = "2"
			t.Labels[appsv1beta1.CloneSetInstanceID], t.Labels[appsv1beta1.SpecifiedDeleteKey] = "abcde", "true"
			t.Annotations[appsv1beta1.InPlaceUpdateStateKey] = "{}"
		}, all,
			&Spec{Revision: "w-2", MetaDataPatch: []byte(`{"metadata":{"annotations":{"note":"2"}}}`)}, ""},
		"the last annotations and labels": {func(t *corev1.PodTemplateSpec) { t.Annotations, t.Labels = nil, nil }, all,
			&Spec{Revision: "w-2", MetaDataPatch: []byte(`{"metadata":{"annotations":{"a1":null,"note":null},"labels":{"k1":null,"k2":null,"plain":null}}}`)}, ""},
		"referenced metadata": {func(t *corev1.PodTemplateSpec) { t.Labels["k2"] = "2"; t.Annotations["a1"] = "2" }, all,
			&Spec{Revision: "w-2", UpdateEnvFromMetadata: true, ContainerRefMetadata: map[string]metav1.ObjectMeta{
				"c2": {Labels: map[string]string{"k2": "2"}}, "c3": {Labels: map[string]string{"k2": "2"}}, "c4": {Annotations: map[string]string{"a1": "2"}},
			}}, ""},
		"referenced metadata without the agent": {func(t *corev1.PodTemplateSpec) { t.Labels["k2"] = "2" }, Options{},
			nil, "template.metadata.labels.k2 changed"},
		"a removed key is never an env change": {func(t *corev1.PodTemplateSpec) { delete(t.Labels, "k2") }, all,
			&Spec{Revision: "w-2", MetaDataPatch: []byte(`{"metadata":{"labels":{"k2":null}}}`)}, ""},
		"env value": {func(t *corev1.PodTemplateSpec) {
			t.Spec.Containers[1].Env = append(t.Spec.Containers[1].Env, corev1.EnvVar{Name: "X", Value: "1"})
		}, all, nil, "template.spec.containers.1.env.2"},
		"command": {func(t *corev1.PodTemplateSpec) { t.Spec.Containers[1].Command = []string{"x"} }, all, nil, "template.spec.containers.1.command"},
		"container": {func(t *corev1.PodTemplateSpec) {
			t.Spec.Containers = append(t.Spec.Containers, corev1.Container{Name: "c5"})
		}, all, nil, "template.spec.containers.4"},
		"one less":      {func(t *corev1.PodTemplateSpec) { t.Spec.Containers = t.Spec.Containers[:3] }, all, nil, "template.spec.containers.3"},
		"init image":    {func(t *corev1.PodTemplateSpec) { t.Spec.InitContainers = []corev1.Container{{Name: "i", Image: "i:1"}} }, all, nil, "template.spec.initContainers"},
		"image removed": {func(t *corev1.PodTemplateSpec) { t.Spec.Containers[0].Image = "" }, all, nil, "template.spec.containers.0.image"},
		"resources": {func(t *corev1.PodTemplateSpec) {
			t.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
		}, all, nil, "template.spec.containers.0.resources.limits"},
		"volume and image": {func(t *corev1.PodTemplateSpec) {
			t.Spec.Containers[0].Image = "c1:2"
			t.Spec.Volumes = []corev1.Volume{{Name: "v"}}
		}, all, nil, "template.spec.volumes"},
	} {
		t.Run(name, func(t *testing.T) {
			got := Diff(revisionOf(t, "w-1", fourContainers()), revisionOf(t, "w-2", changed(tc.change)), tc.options)
			if diff := cmp.Diff(tc.want, got.Spec); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if (tc.because == "") != (got.Because == "") || !strings.HasPrefix(got.Because, tc.because) {
				t.Errorf("because %q, want %q", got.Because, tc.because)
			}
		})
	}
}

// A payload written by OpenKruise has nulls that ours may lack; they change nothing.
func TestDiffIgnoresNulls(t *testing.T) {
	from := &appsv1.ControllerRevision{Data: runtime.RawExtension{Raw: []byte(`{"spec":{"template":{"$patch":"replace","metadata":{"creationTimestamp":null},"spec":{"containers":[{"name":"a","image":"a:1"}]}}}}`)}}
	to := &appsv1.ControllerRevision{Data: runtime.RawExtension{Raw: []byte(`{"spec":{"template":{"$patch":"replace","metadata":{},"spec":{"containers":[{"name":"a","image":"a:2"}]}}}}`)}}
	got := Diff(from, to, Options{EnvFromMetadata: true})
	if got.Spec == nil || got.Spec.ContainerImages["a"] != "a:2" || got.Spec.MetaDataPatch != nil {
		t.Errorf("verdict %+v", got)
	}
}

// From no annotations at all to some, and back: the pod's own stay.
func TestAnnotationsComeAndGo(t *testing.T) {
	without, with := changed(func(t *corev1.PodTemplateSpec) { t.Annotations = nil }), changed(func(t *corev1.PodTemplateSpec) { t.Annotations = map[string]string{"added": "1"} })
	pod := runningPod(without)
	pod.Annotations["own"] = "1"
	for _, step := range []struct {
		from, to *corev1.PodTemplateSpec
		want     bool
	}{{without, with, true}, {with, without, false}} {
		begin(t, pod, *Diff(revisionOf(t, "w-1", step.from), revisionOf(t, "w-2", step.to), Options{}).Spec)
		if _, has := pod.Annotations["added"]; has != step.want || pod.Annotations["own"] != "1" {
			t.Errorf("annotations %v", pod.Annotations)
		}
	}
}

func TestDiffNeedsBothRevisions(t *testing.T) {
	r := revisionOf(t, "w-1", fourContainers())
	broken := &appsv1.ControllerRevision{Data: runtime.RawExtension{Raw: []byte("{")}}
	for name, pair := range map[string][2]*appsv1.ControllerRevision{"from": {nil, r}, "to": {r, nil}, "broken": {r, broken}} {
		if got := Diff(pair[0], pair[1], Options{}); got.Spec != nil || got.Because == "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestClaimTemplatesVeto(t *testing.T) {
	with := func(hash string) *appsv1.ControllerRevision {
		r := revisionOf(t, "w-"+hash, fourContainers())
		if hash != "" {
			r.Annotations = map[string]string{claimHashKey: hash}
		}
		return r
	}
	for name, tc := range map[string]struct {
		from, to string
		compare  bool
		inPlace  bool
	}{
		"both missing": {"", "", true, true}, "one missing": {"a", "", true, true}, "other missing": {"", "a", true, true},
		"differ": {"a", "b", true, false}, "equal": {"a", "a", true, true}, "differ but not asked": {"a", "b", false, true},
	} {
		differ := &Differ{Options: Options{CompareClaimTemplates: tc.compare}}
		for range 2 {
			if got := differ.Diff(with(tc.from), with(tc.to)); (got.Spec != nil) != tc.inPlace {
				t.Errorf("%s: %+v", name, got)
			}
		}
	}
}

// A template stored while nobody filled its defaults in is the same as one with them: the image changes in place,
// whichever of the two came first. What somebody chose against the default, and what no version knows, still counts.
func TestDefaultsAreNoChange(t *testing.T) {
	bare := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "web:1"}}}}
	whole := bare.DeepCopy()
	podtemplate.Default(whole, podtemplate.Options{})
	whole.Spec.Containers[0].Image = "web:2"
	chosen := whole.DeepCopy()
	chosen.Spec.Containers[0].ImagePullPolicy = corev1.PullIfNotPresent
	unknown := revisionOf(t, "unknown", whole)
	unknown.Data.Raw = []byte(strings.Replace(string(unknown.Data.Raw), `"name":"main"`, `"name":"main","fromTheFuture":true`, 1))
	for name, tc := range map[string]struct {
		from, to *appsv1.ControllerRevision
		image    string
		because  string
	}{
		"defaults come":     {revisionOf(t, "bare", bare), revisionOf(t, "whole", whole), "web:2", ""},
		"defaults go":       {revisionOf(t, "whole", whole), revisionOf(t, "bare", bare), "web:1", ""},
		"another than that": {revisionOf(t, "bare", bare), revisionOf(t, "chosen", chosen), "", "template.spec.containers.0.imagePullPolicy changed"},
		"nobody's default":  {revisionOf(t, "bare", bare), unknown, "", "template.spec.containers.0.fromTheFuture changed"},
	} {
		got := Diff(tc.from, tc.to, Options{})
		if got.Because != tc.because {
			t.Errorf("%s: because %q, want %q", name, got.Because, tc.because)
		}
		if tc.because == "" && (got.Spec == nil || got.Spec.ContainerImages["main"] != tc.image) {
			t.Errorf("%s: %+v", name, got.Spec)
		}
	}
}
