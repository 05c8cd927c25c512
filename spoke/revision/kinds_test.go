// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"encoding/json"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

func TestSidecarSetPayload(t *testing.T) {
	const (
		mesh     = `{"image":"mesh:1","name":"mesh","podInjectPolicy":"BeforeAppContainer","resources":{},"shareVolumePolicy":{"type":"disabled"},"upgradeStrategy":{"upgradeType":"ColdUpgrade"}}`
		ofMesh   = `containers: [{name: mesh, image: "mesh:1", podInjectPolicy: BeforeAppContainer, upgradeStrategy: {upgradeType: ColdUpgrade}, shareVolumePolicy: {type: disabled}}]`
		meshOnly = `{"spec":{"$patch":"replace","containers":[` + mesh + `],"imagePullSecrets":null,"initContainers":null,"patchPodMetadata":null,"volumes":null}}`
	)
	for name, tc := range map[string]struct{ spec, want string }{
		"containers alone": {ofMesh, meshOnly},
		"what is not put into pods": {
			ofMesh + `, selector: {matchLabels: {a: b}}, updateStrategy: {type: NotUpdate}, injectionStrategy: {paused: true}, revisionHistoryLimit: 3, customVersion: "1"`, meshOnly,
		},
		"everything": {
			ofMesh + `, initContainers: [{name: i, image: "i:1"}], imagePullSecrets: [{name: s}], patchPodMetadata: [{annotations: {k: "<v>"}, patchPolicy: Retain}],
			volumes: [{name: v, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce]}}}}]`,
			`{"spec":{"$patch":"replace","containers":[` + mesh + `],"imagePullSecrets":[{"name":"s"}],` +
				`"initContainers":[{"image":"i:1","name":"i","resources":{},"shareVolumePolicy":{},"upgradeStrategy":{}}],` +
				`"patchPodMetadata":[{"annotations":{"k":"\u003cv\u003e"},"patchPolicy":"Retain"}],` +
				`"volumes":[{"ephemeral":{"volumeClaimTemplate":{"metadata":{"creationTimestamp":null},"spec":{"accessModes":["ReadWriteOnce"],"resources":{}}}},"name":"v"}]}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			set := &appsv1beta1.SidecarSet{}
			if err := yaml.UnmarshalStrict([]byte(`{spec: {`+tc.spec+`}}`), set); err != nil {
				t.Fatal(err)
			}
			before := set.DeepCopy()
			got, err := SidecarSetPayload(set)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, set); diff != "" {
				t.Errorf("the set changed:\n%s", diff)
			}
			restores(t, got, set)
		})
	}
	payload := []byte(meshOnly)
	if got := Name("mesh", Hash(payload, nil)); got != "mesh-7d684bdf55" {
		t.Errorf("name %s", got)
	}
	without := []byte(`{"spec":{"$patch":"replace","containers":[` + mesh + `]}}`)
	if !Equal(dataOf(payload), dataOf(without)) {
		t.Error("a field that is null and one that is absent say the same")
	}
	if Equal(dataOf(payload), dataOf([]byte(`{"spec":{"$patch":"replace","containers":[]}}`))) {
		t.Error("other containers are equal")
	}
}

// restores wants what is put into pods back from the payload.
func restores(t *testing.T, payload []byte, set *appsv1beta1.SidecarSet) {
	t.Helper()
	var back appsv1beta1.SidecarSet
	if err := json.Unmarshal(payload, &back); err != nil {
		t.Fatal(err)
	}
	want := appsv1beta1.SidecarSetSpec{
		Containers: set.Spec.Containers, InitContainers: set.Spec.InitContainers, Volumes: set.Spec.Volumes,
		ImagePullSecrets: set.Spec.ImagePullSecrets, PatchPodMetadata: set.Spec.PatchPodMetadata,
	}
	if diff := cmp.Diff(want, back.Spec); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
}

func dataOf(payload []byte) *appsv1.ControllerRevision {
	return &appsv1.ControllerRevision{Data: runtime.RawExtension{Raw: payload}}
}

// What the hash of a template is depends on the library's types: that it is the native controllers' is
// shown on a real one. Here is what has to hold for any types.
func TestTemplateHash(t *testing.T) {
	seen := map[string]string{}
	for name, hash := range map[string]string{
		"template":        TemplateHash(template(nil), nil),
		"no collision":    TemplateHash(template(nil), ptr.To[int32](0)),
		"one collision":   TemplateHash(template(nil), ptr.To[int32](1)),
		"another image":   TemplateHash(template(func(t *corev1.PodTemplateSpec) { t.Spec.Containers[0].Image = "nginx:2" }), nil),
		"another label":   TemplateHash(template(func(t *corev1.PodTemplateSpec) { t.Labels["app"] = "api" }), nil),
		"a pointer is in": TemplateHash(template(func(t *corev1.PodTemplateSpec) { t.Spec.TerminationGracePeriodSeconds = ptr.To[int64](30) }), nil),
	} {
		if !regexp.MustCompile(`^[bcdfghjklmnpqrstvwxz2456789]{5,10}$`).MatchString(hash) {
			t.Errorf("%s: %q", name, hash)
		}
		if other, taken := seen[hash]; taken {
			t.Errorf("%s and %s have the same hash", name, other)
		}
		seen[hash] = name
	}
	if seen[TemplateHash(template(nil), nil)] != "template" {
		t.Error("equal templates have two hashes: an address is in it")
	}
}
