// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// What an object gets does not depend on the version it was sent in.
func TestOperationDefaultsAgreeBetweenVersions(t *testing.T) {
	opts, now := v1beta1.DefaultOptions{Templates: true}, metav1.Unix(7, 0)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u"}, Spec: corev1.PodSpec{NodeName: "n"}}
	agree(t, func(o *SidecarSet) { DefaultSidecarSet(o, opts) }, func(o *v1beta1.SidecarSet) { v1beta1.DefaultSidecarSet(o, opts) },
		`{}`, `{spec: {updateStrategy: {type: NotUpdate}, initContainers: [{name: a}], containers: [{name: b, image: c}], volumes: [{name: v}],
			patchPodMetadata: [{}], injectionStrategy: {revision: {customVersion: a}}}}`)
	agree(t, DefaultImagePullJob, v1beta1.DefaultImagePullJob, `{}`, `{spec: {completionPolicy: {type: Never}}}`)
	agree(t, DefaultImageListPullJob, v1beta1.DefaultImageListPullJob, `{}`)
	agree(t, func(o *NodeImage) { DefaultNodeImage(o, now) }, func(o *v1beta1.NodeImage) { v1beta1.DefaultNodeImage(o, now) },
		`{}`, `{spec: {images: {a: {tags: [{tag: b}, {tag: a}]}}}}`)
	agree(t, DefaultContainerRecreateRequest, v1beta1.DefaultContainerRecreateRequest, `{}`, `{spec: {strategy: {failurePolicy: Ignore}}}`)
	agree(t, func(o *ContainerRecreateRequest) { CompleteContainerRecreateRequest(o, pod, nil) },
		func(o *v1beta1.ContainerRecreateRequest) { v1beta1.CompleteContainerRecreateRequest(o, pod, nil) },
		`{}`, `{metadata: {labels: {a: b}}, spec: {containers: [{name: a}]}}`)
}

func agree[Old, New any](t *testing.T, fillOld func(*Old), fillNew func(*New), texts ...string) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for _, text := range texts {
		sent, plain, filled := new(Old), new(New), new(New)
		for _, into := range []any{sent, plain} {
			if err := yaml.UnmarshalStrict([]byte(text), into); err != nil {
				t.Fatal(err)
			}
		}
		fillOld(sent)
		fillNew(plain)
		if err := scheme.Convert(sent, filled, nil); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(plain, filled); diff != "" {
			t.Errorf("%s (-v1beta1 +v1alpha1):\n%s", text, diff)
		}
	}
}

func TestDefaultNewImagePullJob(t *testing.T) {
	var job ImagePullJob
	DefaultNewImagePullJob(&job)
	DefaultNewImagePullJob(&job)
	if diff := cmp.Diff([]string{v1beta1.ImagePullJobFinalizer}, job.Finalizers); diff != "" || job.Spec.ImagePullPolicy == "" {
		t.Errorf("finalizers (-want +got):\n%s", diff)
	}
}

func TestDefaultConfigMapSet(t *testing.T) {
	const filled = `revisionHistoryLimit: 5, updateStrategy: {partition: 0, maxUnavailable: 1}, effectPolicy: {type: ReStart}`
	reload := ReloadSidecarConfigMapRef{Name: "r", Namespace: "ns"}
	const custom = `reloadSidecarConfig: {type: custom, config: {configMapRef: {name: r, namespace: ns}}}`
	for name, c := range map[string]struct{ in, want string }{
		"empty":                  {in: `{}`, want: `{` + filled + `, ` + custom + `}`},
		"a type of its own":      {in: `{reloadSidecarConfig: {type: k8s}}`, want: `{` + filled + `, reloadSidecarConfig: {type: k8s}}`},
		"no type":                {in: `{reloadSidecarConfig: {config: {}}}`, want: `{` + filled + `, ` + custom + `}`},
		"a ConfigMap of its own": {in: `{reloadSidecarConfig: {config: {configMapRef: {name: x}}}}`, want: `{` + filled + `, reloadSidecarConfig: {type: custom, config: {configMapRef: {name: x}}}}`},
		"what is set stays": {
			in:   `{revisionHistoryLimit: 2, updateStrategy: {partition: 50%, maxUnavailable: 2, paused: true}, effectPolicy: {type: Restart}, ` + custom + `}`,
			want: `{revisionHistoryLimit: 2, updateStrategy: {partition: 50%, maxUnavailable: 2, paused: true}, effectPolicy: {type: Restart}, ` + custom + `}`,
		},
		"fields of pods": {in: `{` + custom + `, containers: [{nameFrom: {fieldRef: {fieldPath: a}}}, {nameFrom: {}}, {name: a}]}`,
			want: `{` + filled + `, ` + custom + `, containers: [{nameFrom: {fieldRef: {fieldPath: a, apiVersion: v1}}}, {nameFrom: {}}, {name: a}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			var got, want ConfigMapSet
			for text, into := range map[string]*ConfigMapSet{`{spec: ` + c.in + `}`: &got, `{spec: ` + c.want + ` }`: &want} {
				if err := yaml.UnmarshalStrict([]byte(text), into); err != nil {
					t.Fatal(err)
				}
			}
			DefaultConfigMapSet(&got, reload)
			once := got.DeepCopy()
			DefaultConfigMapSet(&got, reload)
			if diff := cmp.Diff(want, got) + cmp.Diff(once, &got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	var none ConfigMapSet
	DefaultConfigMapSet(&none, ReloadSidecarConfigMapRef{})
	if none.Spec.ReloadSidecarConfig.Config != nil {
		t.Error("no ConfigMap was given, one was filled")
	}
}

func TestConfigMapSetNames(t *testing.T) {
	long, other := "configuration-of-the-web-server-of-a", "configuration-of-the-web-server-of-b"
	for name, c := range map[string]struct{ got, want string }{
		"a short token":       {ConfigMapSetToken("web-conf"), "web-conf"},
		"25 characters":       {ConfigMapSetToken("a234567890123456789012345"), "a234567890123456789012345"},
		"26, cut and trimmed": {ConfigMapSetToken("abcdefghijklmno-qrstuvwxyz"), "abcdefghijklmno-c0472f66"},
		"a name":              {ConfigMapSetName("Web.conf", ConfigMapSetRevisionsSuffix), "web-conf-hub"},
		"a revision":          {ConfigMapSetRevision(map[string]string{"b": "2", "a": "1"}), "21f76dfbfe6dfe21"},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %s, want %s", name, c.got, c.want)
		}
	}
	if ConfigMapSetToken(long) == ConfigMapSetToken(other) || ConfigMapSetName(long+long, ConfigMapSetShareSuffix) == ConfigMapSetName(long+other, ConfigMapSetShareSuffix) {
		t.Error("two names have one token")
	}
	for _, suffix := range []string{ConfigMapSetRevisionsSuffix, ConfigMapSetSidecarSuffix, ConfigMapSetShareSuffix, ConfigMapSetRevisionsVolumeSuffix} {
		if got := ConfigMapSetName(long+"."+other, suffix); len(utilvalidation.IsDNS1123Label(got)) > 0 || !strings.HasSuffix(got, suffix) {
			t.Errorf("%s is no label", got)
		}
	}
	longest := ConfigMapSetAnnotationPrefix + ConfigMapSetToken(long) + ConfigMapSetCurrentRevisionTimestampSuffix
	if problems := utilvalidation.IsQualifiedName(longest); len(problems) > 0 {
		t.Errorf("%s: %v", longest, problems)
	}
}
