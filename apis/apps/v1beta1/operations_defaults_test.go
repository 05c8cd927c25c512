// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
)

// defaultCase is one row: a spec, and the same with its defaults.
type defaultCase struct{ in, want string }

// runDefaults fills whole objects, as YAML.
func runDefaults[T any](t *testing.T, fill func(*T), cases map[string]defaultCase) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var got, want T
			parse(t, c.in, &got)
			parse(t, c.want, &want)
			fill(&got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestDefaultSidecarSet(t *testing.T) {
	const rolling = `revisionHistoryLimit: 10, updateStrategy: {type: RollingUpdate, partition: 0, maxUnavailable: 1}`
	cases := map[string]defaultCase{
		"empty": {in: `{}`, want: `{spec: {` + rolling + `}}`},
		"NotUpdate gets numbers as well": {in: `{spec: {updateStrategy: {type: NotUpdate}}}`,
			want: `{spec: {revisionHistoryLimit: 10, updateStrategy: {type: NotUpdate, partition: 0, maxUnavailable: 1}}}`},
		"containers, init containers, annotations, revision": {
			in: `{spec: {containers: [{name: a, transferEnv: [{sourceContainerNameFrom: {fieldRef: {fieldPath: "metadata.labels['a']"}}}, {envName: x}]}], initContainers: [{name: b}],
				patchPodMetadata: [{annotations: {a: b}}], injectionStrategy: {revision: {customVersion: v}}}}`,
			want: `{spec: {` + rolling + `,
				containers: [{name: a, podInjectPolicy: BeforeAppContainer, upgradeStrategy: {upgradeType: ColdUpgrade}, shareVolumePolicy: {type: disabled},
					transferEnv: [{sourceContainerNameFrom: {fieldRef: {apiVersion: v1, fieldPath: "metadata.labels['a']"}}}, {envName: x}]}],
				initContainers: [{name: b, podInjectPolicy: AfterAppContainer, upgradeStrategy: {upgradeType: ColdUpgrade}, shareVolumePolicy: {type: disabled}}],
				patchPodMetadata: [{annotations: {a: b}, patchPolicy: Retain}], injectionStrategy: {revision: {customVersion: v, policy: Always}}}}`,
		},
		"what is set stays": {
			in: `{spec: {revisionHistoryLimit: 0, updateStrategy: {type: RollingUpdate, partition: 50%, maxUnavailable: 0}, injectionStrategy: {revision: {revisionName: r, policy: Partial}},
				containers: [{name: a, podInjectPolicy: AfterAppContainer, upgradeStrategy: {upgradeType: HotUpgrade}, shareVolumePolicy: {type: enabled}}], patchPodMetadata: [{patchPolicy: Overwrite}]}}`,
			want: `{spec: {revisionHistoryLimit: 0, updateStrategy: {type: RollingUpdate, partition: 50%, maxUnavailable: 0}, injectionStrategy: {revision: {revisionName: r, policy: Partial}},
				containers: [{name: a, podInjectPolicy: AfterAppContainer, upgradeStrategy: {upgradeType: HotUpgrade}, shareVolumePolicy: {type: enabled}}], patchPodMetadata: [{patchPolicy: Overwrite}]}}`,
		},
		"volumes on request only": {in: `{spec: {volumes: [{name: a}]}}`, want: `{spec: {` + rolling + `, volumes: [{name: a}]}}`},
	}
	runDefaults(t, func(o *SidecarSet) { DefaultSidecarSet(o, DefaultOptions{}) }, cases)
	runDefaults(t, func(o *SidecarSet) { DefaultSidecarSet(o, DefaultOptions{Templates: true}) }, map[string]defaultCase{
		"templates": {
			in: `{spec: {containers: [{name: a, image: "b:1", ports: [{containerPort: 1}]}], volumes: [{name: a}]}}`,
			want: `{spec: {` + rolling + `, volumes: [{name: a, emptyDir: {}}],
				containers: [{name: a, image: "b:1", ports: [{containerPort: 1, protocol: TCP}], imagePullPolicy: IfNotPresent, terminationMessagePath: /dev/termination-log,
				terminationMessagePolicy: File, podInjectPolicy: BeforeAppContainer, upgradeStrategy: {upgradeType: ColdUpgrade}, shareVolumePolicy: {type: disabled}}]}}`,
		},
	})
}

func TestSidecarSetHashes(t *testing.T) {
	const containers = `containers: [{name: a, image: "b:1"}]`
	base := hashesOf(t, `{spec: {`+containers+`}}`)
	if base[0] == base[1] {
		t.Error("both hashes are the same, though there is an image")
	}
	cases := map[string]struct {
		in             string
		first, without bool // whether they change
	}{
		"another image":                 {in: `{spec: {containers: [{name: a, image: "b:2"}]}}`, first: true},
		"another variable":              {in: `{spec: {containers: [{name: a, image: "b:1", env: [{name: x}]}]}}`, first: true, without: true},
		"an init container":             {in: `{spec: {` + containers + `, initContainers: [{name: i}]}}`},
		"a native sidecar":              {in: `{spec: {` + containers + `, initContainers: [{name: i, restartPolicy: Always}]}}`, first: true, without: true},
		"strategies, volumes, metadata": {in: `{spec: {` + containers + `, volumes: [{name: v}], updateStrategy: {paused: true}, selector: {}, imagePullSecrets: [{name: s}], patchPodMetadata: [{}]}}`},
	}
	for name, c := range cases {
		got := hashesOf(t, c.in)
		if (got[0] != base[0]) != c.first || (got[1] != base[1]) != c.without {
			t.Errorf("%s: changed %v, %v; want %v, %v", name, got[0] != base[0], got[1] != base[1], c.first, c.without)
		}
	}
	one := hashesOf(t, `{spec: {`+containers+`, initContainers: [{name: i, restartPolicy: Always}, {name: j}]}}`)
	other := hashesOf(t, `{spec: {`+containers+`, initContainers: [{name: i, restartPolicy: Always}, {name: k}]}}`)
	if one == other {
		t.Error("beside a native sidecar every init container counts")
	}
	// The bytes that are hashed: members in this order, and these though they are empty.
	const text = `{"containers":[{"name":"a","image":"b:1","resources":{},"upgradeStrategy":{},"shareVolumePolicy":{}}]}`
	sum := sha256.Sum256([]byte(text))
	if want := rand.SafeEncodeString(hex.EncodeToString(sum[:])); base[0] != want {
		t.Errorf("got hash %s, want %s", base[0], want)
	}
	if none := hashesOf(t, `{}`); none[0] != none[1] {
		t.Error("no containers, two hashes")
	}
}

func hashesOf(t *testing.T, text string) [2]string {
	t.Helper()
	var set SidecarSet
	parse(t, text, &set)
	before := set.DeepCopy()
	hash, withoutImage, err := SidecarSetHashes(set.Spec.InitContainers, set.Spec.Containers)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, &set); diff != "" {
		t.Errorf("hashing changed the set:\n%s", diff)
	}
	return [2]string{hash, withoutImage}
}

func TestDefaultPullJobs(t *testing.T) {
	runDefaults(t, DefaultImagePullJob, map[string]defaultCase{
		"empty": {in: `{}`, want: `{spec: {imagePullPolicy: IfNotPresent, completionPolicy: {type: Always}, pullPolicy: {timeoutSeconds: 600, backoffLimit: 3}}}`},
		"what is set stays": {
			in:   `{spec: {imagePullPolicy: Always, parallelism: 0, completionPolicy: {type: Never}, pullPolicy: {timeoutSeconds: 1, backoffLimit: 0}}}`,
			want: `{spec: {imagePullPolicy: Always, parallelism: 0, completionPolicy: {type: Never}, pullPolicy: {timeoutSeconds: 1, backoffLimit: 0}}}`,
		},
	})
	runDefaults(t, DefaultImageListPullJob, map[string]defaultCase{
		"empty": {in: `{}`, want: `{spec: {completionPolicy: {type: Always}, pullPolicy: {timeoutSeconds: 600, backoffLimit: 3}}}`},
	})
}

func TestDefaultNodeImage(t *testing.T) {
	now := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	runDefaults(t, func(o *NodeImage) { DefaultNodeImage(o, now) }, map[string]defaultCase{
		"empty": {in: `{}`, want: `{}`},
		"tags are sorted and filled": {
			in: `{spec: {images: {a: {tags: [{tag: b, createdAt: "2025-01-01T00:00:00Z", pullPolicy: {timeoutSeconds: 5}}, {tag: a}]}}}}`,
			want: `{spec: {images: {a: {tags: [{tag: a, createdAt: "2026-01-02T03:04:05Z", pullPolicy: {timeoutSeconds: 600, backoffLimit: 3}},
				{tag: b, createdAt: "2025-01-01T00:00:00Z", pullPolicy: {timeoutSeconds: 5, backoffLimit: 3}}]}}}}`,
		},
	})
}

func TestContainerRecreateRequestDefaults(t *testing.T) {
	runDefaults(t, DefaultContainerRecreateRequest, map[string]defaultCase{
		"empty":             {in: `{}`, want: `{spec: {strategy: {failurePolicy: Fail}}}`},
		"what is set stays": {in: `{spec: {strategy: {failurePolicy: Ignore, forceRecreate: true}}}`, want: `{spec: {strategy: {failurePolicy: Ignore, forceRecreate: true}}}`},
	})
	var pod corev1.Pod
	parse(t, `
metadata: {name: p, uid: u}
spec:
  nodeName: n
  terminationGracePeriodSeconds: 9
  containers:
  - {name: a, ports: [{containerPort: 1}], lifecycle: {preStop: {httpGet: {port: 1}}}}
  - {name: b, ports: [{containerPort: 2}], lifecycle: {preStop: {exec: {command: [x]}}}}
  - {name: c}
status: {containerStatuses: [{name: b, containerID: "c://b", restartCount: 2}, {name: a, containerID: "c://a"}]}`, &pod)
	const labels = `labels: {crr.apps.kruise.io/active: "true", crr.apps.kruise.io/pod-uid: u, crr.apps.kruise.io/node-name: n`
	complete := func(node map[string]string) func(*ContainerRecreateRequest) {
		return func(o *ContainerRecreateRequest) { CompleteContainerRecreateRequest(o, &pod, node) }
	}
	runDefaults(t, complete(nil), map[string]defaultCase{
		"from the pod": {
			in: `{metadata: {labels: {x: y}}, spec: {containers: [{name: a}, {name: b}, {name: c}, {name: none}]}}`,
			want: `{metadata: {` + labels + `, x: y}}, spec: {strategy: {failurePolicy: Fail, terminationGracePeriodSeconds: 9}, containers: [
				{name: a, preStop: {httpGet: {port: 1}}, ports: [{containerPort: 1}], statusContext: {containerID: "c://a", restartCount: 0}},
				{name: b, preStop: {exec: {command: [x]}}, statusContext: {containerID: "c://b", restartCount: 2}}, {name: c}, {name: none}]}}`,
		},
		"its own grace period stays": {in: `{spec: {strategy: {terminationGracePeriodSeconds: 0}}}`,
			want: `{metadata: {` + labels + `}}, spec: {strategy: {failurePolicy: Fail, terminationGracePeriodSeconds: 0}}}`},
	})
	runDefaults(t, complete(map[string]string{"type": "virtual-kubelet"}), map[string]defaultCase{
		"a node without an agent": {in: `{}`, want: `{metadata: {` + labels + `, type: virtual-kubelet}}, spec: {strategy: {failurePolicy: Fail, terminationGracePeriodSeconds: 9}}}`},
	})
	CompleteContainerRecreateRequest(&ContainerRecreateRequest{}, &corev1.Pod{}, nil) // nothing there: no panic
}

// A second time changes nothing, whatever the object.
func TestOperationDefaultsAreIdempotent(t *testing.T) {
	t.Run("SidecarSet", idempotent(func(o *SidecarSet) { DefaultSidecarSet(o, DefaultOptions{Templates: true}) }))
	t.Run("ImagePullJob", idempotent(DefaultImagePullJob))
	t.Run("ImageListPullJob", idempotent(DefaultImageListPullJob))
	t.Run("NodeImage", idempotent(func(o *NodeImage) { DefaultNodeImage(o, metav1.Unix(1, 0)) }))
	t.Run("ContainerRecreateRequest", idempotent(DefaultContainerRecreateRequest))
}
