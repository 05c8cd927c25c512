// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package inplace

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/pods"
)

var t0 = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// runningPod makes a pod of the template in which every container runs.
func runningPod(template *corev1.PodTemplateSpec) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", Labels: map[string]string{appsv1beta1.ControllerRevisionHashLabel: "w-1"}, Annotations: map[string]string{}},
		Spec:       *template.Spec.DeepCopy(),
	}
	pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: appsv1beta1.InPlaceUpdateReady}}
	for key, value := range template.Labels {
		pod.Labels[key] = value
	}
	for key, value := range template.Annotations {
		pod.Annotations[key] = value
	}
	restart(pod)
	return pod
}

// restart plays kubelet: every container runs what its spec says.
func restart(pod *corev1.Pod) {
	pod.Status.ContainerStatuses = nil
	for _, c := range pod.Spec.Containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, ImageID: "id-" + c.Image, ContainerID: "cri://" + c.Name + "-" + c.Image, Ready: true,
		})
	}
}

// begin starts an update on the pod and applies its writes.
func begin(t *testing.T, pod *corev1.Pod, spec Spec) Begin {
	t.Helper()
	b, err := Start(pod, &spec, t0)
	if err != nil {
		t.Fatal(err)
	}
	b.Change.Label(appsv1beta1.ControllerRevisionHashLabel, spec.Revision)
	b.CloseGate.ApplyTo(pod)
	b.Change.ApplyTo(pod)
	return b
}

func advance(t *testing.T, pod *corev1.Pod, now time.Time) Progress {
	t.Helper()
	p := Advance(pod, now)
	p.Patch.ApplyTo(pod)
	return p
}

func state(t *testing.T, pod *corev1.Pod) *State {
	t.Helper()
	s, err := ReadState(pod)
	if err != nil || s == nil {
		t.Fatalf("state %v, %v", s, err)
	}
	return s
}

func imagesOf(pod *corev1.Pod) []string {
	var out []string
	for _, c := range pod.Spec.Containers {
		out = append(out, c.Image)
	}
	return out
}

// Each row lists, batch by batch, which containers were recorded, their images after it and what is
// required to be ready before the next.
func TestBatchesByLaunchPriority(t *testing.T) {
	type batch struct {
		touched  []string
		images   string
		preCheck []string
		next     string
		recorded string // the containers whose old image ids are kept
	}
	for name, tc := range map[string]struct {
		change func(*corev1.PodTemplateSpec)
		want   []batch
	}{
		"one container": {func(t *corev1.PodTemplateSpec) { t.Spec.Containers[0].Image = "c1:2" },
			[]batch{{[]string{"c1"}, "[c1:2 c2:1 c3:1 c4:1]", nil, "map[] map[]", "c1"}}},
		"equal priority and a plain annotation": {func(t *corev1.PodTemplateSpec) {
			t.Spec.Containers[2].Image, t.Spec.Containers[3].Image, t.Annotations["note"] = "c3:2", "c4:2", "2"
		}, []batch{{[]string{"c3", "c4"}, "[c1:1 c2:1 c3:2 c4:2]", nil, "map[] map[]", "c3 c4"}}},
		"image and referenced annotation": {func(t *corev1.PodTemplateSpec) {
			t.Spec.Containers[2].Image, t.Annotations["a1"] = "c3:2", "2"
		}, []batch{{[]string{"c3", "c4"}, "[c1:1 c2:1 c3:2 c4:1]", nil, "map[] map[]", "c3"}}},
		"two priorities and a plain annotation": {func(t *corev1.PodTemplateSpec) {
			t.Spec.Containers[0].Image, t.Spec.Containers[1].Image, t.Annotations["note"] = "c1:2", "c2:2", "2"
		}, []batch{
			{[]string{"c1"}, "[c1:2 c2:1 c3:1 c4:1]", []string{"c1"}, "map[c2:c2:2] map[]", "c1"},
			{[]string{"c2"}, "[c1:2 c2:2 c3:1 c4:1]", nil, "map[] map[]", "c1 c2"},
		}},
		"three priorities": {func(t *corev1.PodTemplateSpec) {
			t.Spec.Containers[0].Image, t.Spec.Containers[1].Image, t.Spec.Containers[3].Image = "c1:2", "c2:2", "c4:2"
		}, []batch{
			{[]string{"c1"}, "[c1:2 c2:1 c3:1 c4:1]", []string{"c1"}, "map[c2:c2:2 c4:c4:2] map[]", "c1"},
			{[]string{"c2"}, "[c1:2 c2:2 c3:1 c4:1]", []string{"c2"}, "map[c4:c4:2] map[]", "c1 c2"},
			{[]string{"c4"}, "[c1:2 c2:2 c3:1 c4:2]", nil, "map[] map[]", "c1 c2 c4"},
		}},
		"shared label pulls a container in": {func(t *corev1.PodTemplateSpec) {
			t.Spec.Containers[0].Image, t.Spec.Containers[1].Image, t.Spec.Containers[3].Image, t.Labels["k2"] = "c1:2", "c2:2", "c4:2", "2"
		}, []batch{
			{[]string{"c1"}, "[c1:2 c2:1 c3:1 c4:1]", []string{"c1"}, "map[c2:c2:2 c4:c4:2] [c2 c3]", "c1"},
			{[]string{"c2", "c3"}, "[c1:2 c2:2 c3:1 c4:1]", []string{"c2", "c3"}, "map[c4:c4:2] map[]", "c1 c2"},
			{[]string{"c4"}, "[c1:2 c2:2 c3:1 c4:2]", nil, "map[] map[]", "c1 c2 c4"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			template := changed(tc.change)
			verdict := Diff(revisionOf(t, "w-1", fourContainers()), revisionOf(t, "w-2", template), Options{EnvFromMetadata: true})
			pod := runningPod(fourContainers())
			begin(t, pod, *verdict.Spec)
			if pod.Annotations["note"] != template.Annotations["note"] {
				t.Error("plain metadata must go with the first batch")
			}
			for i, want := range tc.want {
				s := state(t, pod)
				got := batch{s.ContainerBatchesRecord[i].Containers, fmt.Sprint(imagesOf(pod)), nil, nextOf(s), strings.Join(slices.Sorted(maps.Keys(s.LastContainerStatuses)), " ")}
				if s.PreCheckBeforeNext != nil {
					got.preCheck = s.PreCheckBeforeNext.ContainersRequiredReady
				}
				if diff := cmp.Diff(want, got, cmp.AllowUnexported(batch{})); diff != "" {
					t.Fatalf("batch %d (-want +got):\n%s", i+1, diff)
				}
				restart(pod)
				writeMeta(pod)
				p := advance(t, pod, t0.Add(time.Second))
				if last := i == len(tc.want)-1; last != (p.Phase == Done) {
					t.Fatalf("batch %d: phase %v, %s", i+1, p.Phase, p.Reason)
				}
			}
			if diff := cmp.Diff(template.Labels["k2"], pod.Labels["k2"]); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func nextOf(s *State) string {
	if len(s.NextContainerRefMeta) == 0 {
		return fmt.Sprint(s.NextContainerImages, " map[]")
	}
	var names []string
	for name := range s.NextContainerRefMeta {
		names = append(names, name)
	}
	slices.Sort(names)
	return fmt.Sprint(s.NextContainerImages, " ", names)
}

func TestFirstBatchRecordsOldImageIDs(t *testing.T) {
	pod := runningPod(fourContainers())
	begin(t, pod, Spec{Revision: "w-2", ContainerImages: map[string]string{"c1": "c1:2", "c2": "c2:2"}})
	if diff := cmp.Diff(map[string]ContainerStatus{"c1": ranAtT0("c1")}, state(t, pod).LastContainerStatuses); diff != "" {
		t.Error(diff)
	}
	restart(pod)
	advance(t, pod, t0)
	if diff := cmp.Diff(map[string]ContainerStatus{"c1": ranAtT0("c1"), "c2": ranAtT0("c2")}, state(t, pod).LastContainerStatuses); diff != "" {
		t.Error(diff)
	}
}

// A later batch waits for the containers of the one before, and a bad image there keeps it away.
func TestNextBatchWaitsForReadiness(t *testing.T) {
	pod := runningPod(fourContainers())
	begin(t, pod, Spec{Revision: "w-2", ContainerImages: map[string]string{"c1": "c1:bad", "c2": "c2:2"}})
	if p := advance(t, pod, t0); p.Phase != Restarting || p.Reason != "container c1 has not restarted with image c1:bad yet: the runtime still reports c1:1" {
		t.Fatalf("%v %q", p.Phase, p.Reason)
	}
	restart(pod)
	pod.Status.ContainerStatuses[0].Ready = false
	if p := advance(t, pod, t0); p.Phase != Restarting || p.Reason != "containers of the last batch are not ready: c1" {
		t.Fatalf("%v %q", p.Phase, p.Reason)
	}
	if got := state(t, pod).NextContainerImages["c2"]; got != "c2:2" {
		t.Errorf("next image %q", got)
	}
}

func gate(pod *corev1.Pod) corev1.ConditionStatus {
	c := pods.Condition(pod, appsv1beta1.InPlaceUpdateReady)
	if c == nil {
		return ""
	}
	return c.Status
}

func TestGracePeriod(t *testing.T) {
	pod := runningPod(fourContainers())
	b := begin(t, pod, Spec{Revision: "w-2", ContainerImages: map[string]string{"c1": "c1:2"}, GraceSeconds: 5})
	if b.After != 5*time.Second || gate(pod) != corev1.ConditionFalse || pod.Spec.Containers[0].Image != "c1:1" {
		t.Fatalf("after %v, gate %v, image %s", b.After, gate(pod), pod.Spec.Containers[0].Image)
	}
	p := advance(t, pod, t0.Add(1500*time.Millisecond))
	if p.Phase != InGracePeriod || p.After != 4*time.Second {
		t.Errorf("phase %v after %v", p.Phase, p.After)
	}
	if p = advance(t, pod, t0.Add(5*time.Second)); p.Phase != NextBatch || pod.Spec.Containers[0].Image != "c1:2" || InGrace(pod) {
		t.Errorf("phase %v, image %s", p.Phase, pod.Spec.Containers[0].Image)
	}
	restart(pod)
	if p = advance(t, pod, t0.Add(6*time.Second)); p.Phase != Done || gate(pod) != corev1.ConditionTrue {
		t.Errorf("phase %v gate %v", p.Phase, gate(pod))
	}
	if p = advance(t, pod, t0.Add(7*time.Second)); p.Phase != Done || !p.Patch.Empty() {
		t.Errorf("at rest: %+v", p)
	}
}

// Going back within the grace period changes no container, untagged image or not (CS-15).
func TestRollbackInGrace(t *testing.T) {
	template := fourContainers()
	template.Spec.Containers[0].Image = "nginx"
	pod := runningPod(template)
	pod.Status.ContainerStatuses[0].Image = "docker.io/library/nginx:latest"
	begin(t, pod, Spec{Revision: "w-2", ContainerImages: map[string]string{"c1": "nginx:stable"}, GraceSeconds: 30})
	begin(t, pod, Spec{Revision: "w-1", ContainerImages: map[string]string{"c1": "nginx"}, GraceSeconds: 30})
	if InGrace(pod) || pod.Spec.Containers[0].Image != "nginx" || pods.Revision(pod) != "w-1" {
		t.Errorf("grace %v, image %s, revision %s", InGrace(pod), pod.Spec.Containers[0].Image, pods.Revision(pod))
	}
	if p := advance(t, pod, t0); p.Phase != Done || gate(pod) != corev1.ConditionTrue {
		t.Errorf("phase %v, %s", p.Phase, p.Reason)
	}
}

// The revision label taken back by hand drops the waiting change.
func TestGraceOfAnotherRevisionIsDropped(t *testing.T) {
	pod := runningPod(fourContainers())
	begin(t, pod, Spec{Revision: "w-2", ContainerImages: map[string]string{"c1": "c1:2"}, GraceSeconds: 30})
	pod.Labels[appsv1beta1.ControllerRevisionHashLabel] = "w-1"
	advance(t, pod, t0.Add(time.Minute))
	if InGrace(pod) || pod.Spec.Containers[0].Image != "c1:1" {
		t.Errorf("grace %v, image %s", InGrace(pod), pod.Spec.Containers[0].Image)
	}
}

// Annotations that somebody cleared or broke never panic and never change a container (CS-26).
func TestLostAnnotations(t *testing.T) {
	graced := func() *corev1.Pod {
		pod := runningPod(fourContainers())
		begin(t, pod, Spec{Revision: "w-2", ContainerImages: map[string]string{"c1": "c1:2"}, GraceSeconds: 5})
		return pod
	}
	for name, tc := range map[string]struct {
		spoil func(*corev1.Pod)
		want  Phase
	}{
		"all":          {func(p *corev1.Pod) { p.Annotations = nil }, Idle},
		"state only":   {func(p *corev1.Pod) { delete(p.Annotations, appsv1beta1.InPlaceUpdateStateKey) }, Broken},
		"broken state": {func(p *corev1.Pod) { p.Annotations[appsv1beta1.InPlaceUpdateStateKey] = "{" }, Broken},
		"broken grace": {func(p *corev1.Pod) { p.Annotations[appsv1beta1.InPlaceUpdateGraceKey] = "[]" }, Broken},
		"empty strings": {func(p *corev1.Pod) {
			p.Annotations[appsv1beta1.InPlaceUpdateGraceKey] = ""
			p.Annotations[appsv1beta1.InPlaceUpdateStateKey] = ""
		}, Idle},
	} {
		t.Run(name, func(t *testing.T) {
			pod := graced()
			tc.spoil(pod)
			if p := advance(t, pod, t0.Add(time.Hour)); p.Phase != tc.want || pod.Spec.Containers[0].Image != "c1:1" {
				t.Errorf("phase %v, image %s", p.Phase, pod.Spec.Containers[0].Image)
			}
			if IsComplete(pod) != (tc.want == Idle) {
				t.Error("IsComplete is wrong")
			}
		})
	}
}

// The older annotation keys are read and replaced.
func TestOldKeys(t *testing.T) {
	pod := runningPod(fourContainers())
	begin(t, pod, Spec{Revision: "w-2", ContainerImages: map[string]string{"c1": "c1:2"}, GraceSeconds: 5})
	for from, to := range map[string]string{
		appsv1beta1.InPlaceUpdateStateKey: appsv1beta1.InPlaceUpdateStateKeyOld, appsv1beta1.InPlaceUpdateGraceKey: appsv1beta1.InPlaceUpdateGraceKeyOld,
	} {
		pod.Annotations[to] = pod.Annotations[from]
		delete(pod.Annotations, from)
	}
	advance(t, pod, t0.Add(time.Minute))
	if pod.Spec.Containers[0].Image != "c1:2" || pod.Annotations[appsv1beta1.InPlaceUpdateStateKey] == "" ||
		pod.Annotations[appsv1beta1.InPlaceUpdateStateKeyOld] != "" || InGrace(pod) {
		t.Errorf("annotations %v", pod.Annotations)
	}
}

// writeMeta plays the node agent.
func writeMeta(pod *corev1.Pod) {
	var set appsv1beta1.RuntimeContainerMetaSet
	for i := range pod.Spec.Containers {
		c, s := &pod.Spec.Containers[i], &pod.Status.ContainerStatuses[i]
		set.Containers = append(set.Containers, appsv1beta1.RuntimeContainerMeta{
			Name: c.Name, ContainerID: s.ContainerID, Hashes: appsv1beta1.RuntimeContainerHashes{
				PlainHash: plainHash(c), ExtractedEnvFromMetadataHash: envHash(c, pod),
			},
		})
	}
	raw, err := json.Marshal(set)
	if err != nil {
		panic(err)
	}
	pod.Annotations[appsv1beta1.RuntimeContainerMetaKey] = string(raw)
}

func TestCompletion(t *testing.T) {
	for name, tc := range map[string]struct {
		spec Spec
		play func(*corev1.Pod)
		done bool
	}{
		"nothing happened yet":    {Spec{ContainerImages: map[string]string{"c1": "c1:2"}}, func(*corev1.Pod) {}, false},
		"new image id":            {Spec{ContainerImages: map[string]string{"c1": "c1:2"}}, func(p *corev1.Pod) { p.Status.ContainerStatuses[0].ImageID = "id-new" }, true},
		"same digest, named so":   {Spec{ContainerImages: map[string]string{"c1": "c1"}}, func(p *corev1.Pod) { p.Status.ContainerStatuses[0].Image = "docker.io/library/c1:latest" }, true},
		"same digest, other name": {Spec{ContainerImages: map[string]string{"c1": "c1:2"}}, func(*corev1.Pod) {}, false},
		"same digest, agent knows": {Spec{ContainerImages: map[string]string{"c1": "c1:2"}}, func(p *corev1.Pod) {
			p.Status.ContainerStatuses[0].ContainerID = "cri://second"
			writeMeta(p)
		}, true},
		"agent lags behind": {Spec{ContainerImages: map[string]string{"c1": "c1:2"}}, func(p *corev1.Pod) {
			writeMeta(p)
			p.Status.ContainerStatuses[0].ContainerID = "cri://second"
		}, false},
		"status lost":           {Spec{ContainerImages: map[string]string{"c1": "c1:2"}}, func(p *corev1.Pod) { p.Status.ContainerStatuses = nil }, false},
		"metadata only":         {Spec{MetaDataPatch: []byte(`{"metadata":{"labels":{"x":"y"}}}`)}, func(*corev1.Pod) {}, true},
		"env without the agent": {Spec{UpdateEnvFromMetadata: true, ContainerRefMetadata: map[string]metav1.ObjectMeta{"c1": {Labels: map[string]string{"k1": "2"}}}}, func(*corev1.Pod) {}, false},
		"env, agent says old": {Spec{UpdateEnvFromMetadata: true, ContainerRefMetadata: map[string]metav1.ObjectMeta{"c1": {Labels: map[string]string{"k1": "2"}}}}, func(p *corev1.Pod) {
			p.Labels["k1"] = "1"
			writeMeta(p)
			p.Labels["k1"] = "2"
		}, false},
		"env, agent says new": {Spec{UpdateEnvFromMetadata: true, ContainerRefMetadata: map[string]metav1.ObjectMeta{"c1": {Labels: map[string]string{"k1": "2"}}}}, writeMeta, true},
	} {
		t.Run(name, func(t *testing.T) {
			pod := runningPod(fourContainers())
			tc.spec.Revision = "w-2"
			begin(t, pod, tc.spec)
			tc.play(pod)
			if got := IsComplete(pod); got != tc.done {
				t.Errorf("complete %v, want %v", got, tc.done)
			}
			p := advance(t, pod, t0)
			if (p.Phase == Done) != tc.done || (gate(pod) == corev1.ConditionTrue) != tc.done {
				t.Errorf("phase %v, gate %v: %s", p.Phase, gate(pod), p.Reason)
			}
		})
	}
}

// A container that had not started when its image was changed may start with the old one first: that is no end of it.
func TestContainerThatHadNotStarted(t *testing.T) {
	for name, tc := range map[string]struct {
		runs string
		done bool
	}{
		"nothing yet": {"", false}, "the old image, spelled out": {"docker.io/library/c1:1", false}, "the new image": {"c1:2", true},
		"by another name": {"registry.example/c1@sha256:1", true},
	} {
		pod := runningPod(fourContainers())
		status := &pod.Status.ContainerStatuses[0]
		status.ImageID, status.Image = "", "c1:1"
		begin(t, pod, Spec{Revision: "w-2", ContainerImages: map[string]string{"c1": "c1:2"}})
		if tc.runs != "" {
			status.Image, status.ImageID = tc.runs, "id"
		}
		if got := IsComplete(pod); got != tc.done {
			t.Errorf("%s: complete %v", name, got)
		}
	}
}

// Images that come one after the other faster than the container restarts: none but the last is the end.
func TestImagesInQuickSuccession(t *testing.T) {
	pod := runningPod(fourContainers())
	for i, image := range []string{"c1:2", "c1:3", "c1:4"} {
		begin(t, pod, Spec{Revision: fmt.Sprint("w-", i+2), ContainerImages: map[string]string{"c1": image}})
	}
	status := &pod.Status.ContainerStatuses[0]
	for _, image := range []string{"c1:1", "c1:2", "c1:3", "c1:4"} {
		status.Image, status.ImageID = image, "id-"+image
		if got := IsComplete(pod); got != (image == "c1:4") {
			t.Errorf("runs %s: complete %v", image, got)
		}
	}
	begin(t, pod, Spec{Revision: "w-5", ContainerImages: map[string]string{"c1": "c1:2"}})
	if got := state(t, pod).LastContainerStatuses["c1"]; got.ImageID != "id-c1:4" || len(got.Images) > 0 {
		t.Errorf("a finished update leaves %+v", got)
	}
}

// Only the gate's own condition is ever written, and nothing when there is no gate (CS-27).
func TestOnlyTheGateIsWritten(t *testing.T) {
	pod := runningPod(fourContainers())
	b := begin(t, pod, Spec{Revision: "w-2", ContainerImages: map[string]string{"c1": "c1:2"}})
	if len(b.CloseGate.Conditions) != 1 || b.CloseGate.Conditions[0].Type != appsv1beta1.InPlaceUpdateReady || len(b.Change.Conditions) != 0 {
		t.Errorf("conditions %v, %v", b.CloseGate.Conditions, b.Change.Conditions)
	}
	pod = runningPod(fourContainers())
	pod.Spec.ReadinessGates = nil
	b = begin(t, pod, Spec{Revision: "w-2", ContainerImages: map[string]string{"c1": "c1:2"}})
	restart(pod)
	if p := advance(t, pod, t0); !b.CloseGate.Empty() || !p.Patch.Empty() || p.Phase != Done {
		t.Errorf("without a gate: %v, %v", b.CloseGate, p.Patch)
	}
}

// The gate is written down even where the pod looked at has it down already: that may be an old look.
func TestGateIsAlwaysClosedFirst(t *testing.T) {
	pod := runningPod(fourContainers())
	for i := range 2 {
		b := begin(t, pod, Spec{Revision: "w-2", ContainerImages: map[string]string{"c1": fmt.Sprint("c1:", i+2)}})
		if len(b.CloseGate.Conditions) != 1 || b.CloseGate.Conditions[0].Status != corev1.ConditionFalse || b.CloseGate.Conditions[0].Reason != "StartInPlaceUpdate" {
			t.Errorf("update %d: %+v", i, b.CloseGate)
		}
	}
}

func TestGateOfANewPodOpens(t *testing.T) {
	pod := runningPod(fourContainers())
	if p := advance(t, pod, t0); p.Phase != Idle || gate(pod) != corev1.ConditionTrue {
		t.Errorf("phase %v gate %v", p.Phase, gate(pod))
	}
	pod.Status.Conditions[0].Reason = "left over"
	if p := advance(t, pod, t0); p.Patch.Empty() || pod.Status.Conditions[0].Reason != "" {
		t.Error("a condition that is not plain must be written again")
	}
}

func TestNormalImage(t *testing.T) {
	for image, want := range map[string]string{
		"nginx": "docker.io/library/nginx:latest", "nginx:1": "docker.io/library/nginx:1", "a/b": "docker.io/a/b:latest",
		"index.docker.io/nginx": "docker.io/library/nginx:latest", "localhost/x": "localhost/x:latest",
		"r.example:5000/x/y": "r.example:5000/x/y:latest", "r.example/x@sha256:1": "r.example/x@sha256:1",
	} {
		if got := normalImage(image); got != want {
			t.Errorf("%s: %s, want %s", image, got, want)
		}
	}
}

func TestLaunchPriority(t *testing.T) {
	for key, want := range map[string]string{"p_20": "20", "p_-3": "-3", "20": "none", "p_x": "none"} {
		pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Env: []corev1.EnvVar{
			{Name: "KRUISE_CONTAINER_BARRIER", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{Key: key}}}}}}}}
		got := "none"
		if p := launchPriority(pod, "c"); p != nil {
			got = strconv.Itoa(*p)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", key, got, want)
		}
	}
}
