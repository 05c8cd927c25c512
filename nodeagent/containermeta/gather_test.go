// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package containermeta

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-sh/flotilla/internal/containerhash"
	"github.com/flotilla-sh/flotilla/nodeagent/cri"
	"github.com/flotilla-sh/flotilla/nodeagent/cri/crifake"
)

// wantPatch is the patch that puts the report on the pod of newPod; "" stays "".
func wantPatch(t *testing.T, report string) string {
	t.Helper()
	if report == "" {
		return ""
	}
	value, err := json.Marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	return `{"metadata":{"annotations":{"apps.kruise.io/runtime-containers-meta":` + string(value) + `},"uid":"uid"}}`
}

func fakeRuntime(t *testing.T) (*cri.Client, *crifake.Runtime) {
	t.Helper()
	dir, err := os.MkdirTemp("", "cri")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := filepath.Join(dir, "c.sock")
	runtime := crifake.New("containerd")
	if err := runtime.Serve(socket); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(runtime.Stop)
	client, err := cri.Dial(t.Context(), "unix://"+socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client, runtime
}

func fieldRef(name, path string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}}
}

// metadataPod has containers plain (nothing from metadata) and env (VERSION from a label, NOTE from an annotation).
func metadataPod(version, note string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"version": version}, Annotations: map[string]string{"note": note}}}
	pod.Spec.Containers = []corev1.Container{
		{Name: "plain"},
		{Name: "env", Env: []corev1.EnvVar{fieldRef("VERSION", "metadata.labels['version']"), fieldRef("NOTE", "metadata.annotations['note']")}},
	}
	return pod
}

func TestGather(t *testing.T) {
	client, runtime := fakeRuntime(t)
	pod := metadataPod("v1", "n")
	none := containerhash.Env(nil, nil)
	plain := "containerd://" + runtime.Run(crifake.Container{Name: "plain", Hash: "ff"})
	env := "containerd://" + runtime.Run(crifake.Container{Name: "env", Hash: "1a2b3c4d", Env: []string{"PATH=/", "VERSION=v1", "NOTE=n"}})
	bare := "containerd://" + runtime.Run(crifake.Container{Name: "env", Hash: "2"})
	foreign := "containerd://" + runtime.Run(crifake.Container{Name: "plain"})

	got := gather(t.Context(), client, pod, []Question{
		{"plain", plain, true, true}, {"env", env, true, true}, {"env", bare, true, true},
		{"plain", foreign, true, true}, {"plain", "containerd://gone", true, true}, {"plain", "nonsense", true, true},
	})
	want := Answers{
		plain:   {PlainHash: 0xff, ExtractedEnvFromMetadataHash: none},
		env:     {PlainHash: 0x1a2b3c4d, ExtractedEnvFromMetadataHash: containerhash.ExpectedEnv(&pod.Spec.Containers[1], pod)},
		bare:    {PlainHash: 2}, // its image has no command env
		foreign: {ExtractedEnvFromMetadataHash: none},
	}
	if diff := cmp.Diff(want, got.answers); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	if len(got.unread) != 1 || len(got.failed) != 0 {
		t.Errorf("unread %v, failed %v; want one unread", got.unread, got.failed)
	}
	if n := runtime.Calls("ExecSync"); n != 2 {
		t.Errorf("%d commands executed, want 2: none where nothing comes from metadata", n)
	}

	runtime.Stop()
	got = gather(t.Context(), client, pod, []Question{{"plain", plain, true, true}})
	if len(got.answers) != 0 || len(got.failed) != 1 {
		t.Errorf("without a runtime: answers %v, failed %v", got.answers, got.failed)
	}
}

func TestEnvironmentHashFollowsWhatRuns(t *testing.T) {
	client, runtime := fakeRuntime(t)
	tests := map[string]struct {
		version, note string
		env           []string
		equal         bool
	}{
		"equal":                  {version: "v1", note: "n", env: []string{"NOTE=n", "VERSION=v1"}, equal: true},
		"an older label":         {version: "v2", note: "n", env: []string{"NOTE=n", "VERSION=v1"}},
		"absent and empty":       {version: "", note: "n", env: []string{"NOTE=n", "VERSION="}, equal: true},
		"not set at all":         {version: "", note: "n", env: []string{"NOTE=n"}, equal: true},
		"equals signs":           {version: "v1", note: "a=b=c", env: []string{"NOTE=a=b=c", "VERSION=v1"}, equal: true},
		"lines":                  {version: "v1", note: "one\ntwo\n", env: []string{"NOTE=one\ntwo\n", "VERSION=v1"}, equal: true},
		"other lines":            {version: "v1", note: "one\ntwo", env: []string{"NOTE=one\nthree", "VERSION=v1"}},
		"one line more":          {version: "v1", note: "one\ntwo", env: []string{"NOTE=one", "VERSION=v1"}},
		"blanks at the ends":     {version: "v1", note: " n ", env: []string{"NOTE= n ", "VERSION=v1"}, equal: true},
		"a name that ends alike": {version: "v1", note: "n", env: []string{"MY_VERSION=v1", "NOTE=n", "VERSION=v0"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			pod := metadataPod(tc.version, tc.note)
			id := runtime.Run(crifake.Container{Name: "env", Env: tc.env})
			got, err := envHash(t.Context(), client, pod, "env", id)
			if err != nil {
				t.Fatal(err)
			}
			if equal := got == containerhash.ExpectedEnv(&pod.Spec.Containers[1], pod); equal != tc.equal {
				t.Errorf("as expected of the metadata: %v, want %v", equal, tc.equal)
			}
		})
	}
}

func TestRetryEnv(t *testing.T) {
	for age, want := range map[time.Duration]time.Duration{
		0: 3 * time.Second, 3 * time.Second: 3 * time.Second, 8 * time.Second: 8 * time.Second, time.Hour: 2 * time.Minute, -time.Minute: 3 * time.Second,
	} {
		if got := retryEnv(newPod(running("a", "containerd://a", 0, agentStart)), agentStart.Truncate(time.Second).Add(age)); got != want {
			t.Errorf("after %s: pause %s, want %s", age, got, want)
		}
	}
}
