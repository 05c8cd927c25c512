// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package podmarks

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	"github.com/flotilla-sh/flotilla/spoke/podprobe"
)

var since, probed = metav1.Unix(100, 0), metav1.Unix(200, 0)

func healthy(state v1alpha1.ProbeState, value string) v1alpha1.ProbeMarkerPolicy {
	return v1alpha1.ProbeMarkerPolicy{State: state, Labels: map[string]string{"nginx": value}}
}

func cost(state v1alpha1.ProbeState, value string) v1alpha1.ProbeMarkerPolicy {
	return v1alpha1.ProbeMarkerPolicy{State: state, Annotations: map[string]string{"cost": value}}
}

func newMarker(name string, probes ...v1alpha1.PodContainerProbe) v1alpha1.PodProbeMarker {
	m := v1alpha1.PodProbeMarker{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
	m.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	m.Spec.Probes = probes
	return m
}

func probe(name, condition string, policies ...v1alpha1.ProbeMarkerPolicy) v1alpha1.PodContainerProbe {
	return v1alpha1.PodContainerProbe{Name: name, ContainerName: "main", PodConditionType: condition, MarkerPolicy: policies}
}

func result(name string, state v1alpha1.ProbeState, message string) v1alpha1.ContainerProbeState {
	return v1alpha1.ContainerProbeState{Name: name, State: state, Message: message, LastTransitionTime: since, LastProbeTime: probed}
}

func newPod(labels, annotations map[string]string, conditions ...corev1.PodCondition) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web-0", UID: "u", Labels: map[string]string{"app": "web"}, Annotations: annotations}}
	for k, v := range labels {
		pod.Labels[k] = v
	}
	pod.Status.Conditions = conditions
	return pod
}

func condition(kind string, status corev1.ConditionStatus, message string) corev1.PodCondition {
	return corev1.PodCondition{Type: corev1.PodConditionType(kind), Status: status, Message: message, LastTransitionTime: since, LastProbeTime: probed}
}

func TestPatch(t *testing.T) {
	m := newMarker("m", probe("a", "A", healthy("Succeeded", "healthy"), healthy("Failed", "ill"), cost("Failed", "-10")))
	onlyGood := newMarker("m", probe("a", "A", healthy("Succeeded", "healthy")))
	for name, tc := range map[string]struct {
		pod     *corev1.Pod
		results []v1alpha1.ContainerProbeState
		markers []v1alpha1.PodProbeMarker
		want    string // of the patch; "" for none
	}{
		"no result":  {newPod(nil, nil), nil, []v1alpha1.PodProbeMarker{m}, ""},
		"no marker":  {newPod(nil, nil), []v1alpha1.ContainerProbeState{result("m#a", "Succeeded", "")}, nil, ""},
		"no state":   {newPod(nil, nil), []v1alpha1.ContainerProbeState{result("m#a", "", "")}, []v1alpha1.PodProbeMarker{m}, ""},
		"liveness":   {newPod(nil, nil), []v1alpha1.ContainerProbeState{result("web-0-main", "Failed", ""), result("", "Failed", "")}, []v1alpha1.PodProbeMarker{m}, ""},
		"taken out":  {newPod(nil, nil), []v1alpha1.ContainerProbeState{result("m#gone", "Failed", "")}, []v1alpha1.PodProbeMarker{m}, ""},
		"first good": {newPod(nil, nil), []v1alpha1.ContainerProbeState{result("m#a", "Succeeded", "fine")}, []v1alpha1.PodProbeMarker{m}, `{"metadata":{"labels":{"nginx":"healthy"},"uid":"u"},"status":{"conditions":[{"lastProbeTime":"1970-01-01T00:03:20Z","lastTransitionTime":"1970-01-01T00:01:40Z","message":"fine","reason":null,"status":"True","type":"A"}]}}`},
		"PM-05 as it should be": {
			newPod(map[string]string{"nginx": "healthy"}, nil, condition("A", "True", "fine")), []v1alpha1.ContainerProbeState{result("m#a", "Succeeded", "fine")}, []v1alpha1.PodProbeMarker{m}, "",
		},
		"PM-05 only times": {
			newPod(map[string]string{"nginx": "healthy"}, nil, corev1.PodCondition{Type: "A", Status: "True", Message: "fine"}), []v1alpha1.ContainerProbeState{result("m#a", "Succeeded", "fine")}, []v1alpha1.PodProbeMarker{m}, "",
		},
		"PM-04 message": {
			newPod(map[string]string{"nginx": "healthy"}, nil, condition("A", "True", "fine")), []v1alpha1.ContainerProbeState{result("m#a", "Succeeded", "finer")}, []v1alpha1.PodProbeMarker{m}, `{"metadata":{"uid":"u"},"status":{"conditions":[{"lastProbeTime":"1970-01-01T00:03:20Z","lastTransitionTime":"1970-01-01T00:01:40Z","message":"finer","reason":null,"status":"True","type":"A"}]}}`,
		},
		"turns ill": {
			newPod(map[string]string{"nginx": "healthy"}, nil, condition("A", "True", "")), []v1alpha1.ContainerProbeState{result("m#a", "Failed", "")}, []v1alpha1.PodProbeMarker{m}, `{"metadata":{"annotations":{"cost":"-10"},"labels":{"nginx":"ill"},"uid":"u"},"status":{"conditions":[{"lastProbeTime":"1970-01-01T00:03:20Z","lastTransitionTime":"1970-01-01T00:01:40Z","message":null,"reason":null,"status":"False","type":"A"}]}}`,
		},
		"turns well": {
			newPod(map[string]string{"nginx": "ill"}, map[string]string{"cost": "-10"}, condition("A", "True", "")), []v1alpha1.ContainerProbeState{result("m#a", "Succeeded", "")}, []v1alpha1.PodProbeMarker{m}, `{"metadata":{"annotations":{"cost":null},"labels":{"nginx":"healthy"},"uid":"u"}}`,
		},
		"no policy for it": {
			newPod(map[string]string{"nginx": "healthy"}, nil, condition("A", "False", "")), []v1alpha1.ContainerProbeState{result("m#a", "Failed", "")}, []v1alpha1.PodProbeMarker{onlyGood}, `{"metadata":{"labels":{"nginx":null},"uid":"u"}}`,
		},
		"unknown": {
			newPod(map[string]string{"nginx": "healthy"}, map[string]string{"cost": "-10"}, condition("A", "False", "")), []v1alpha1.ContainerProbeState{result("m#a", "Unknown", "")}, []v1alpha1.PodProbeMarker{m}, `{"metadata":{"annotations":{"cost":null},"labels":{"nginx":null},"uid":"u"}}`,
		},
		"a mark was taken off": {
			newPod(nil, nil, condition("A", "True", "")), []v1alpha1.ContainerProbeState{result("m#a", "Succeeded", "")}, []v1alpha1.PodProbeMarker{m}, `{"metadata":{"labels":{"nginx":"healthy"},"uid":"u"}}`,
		},
		"the first for a condition counts": {
			newPod(nil, nil), []v1alpha1.ContainerProbeState{result("m#a", "Succeeded", "1"), result("n#b", "Failed", "2")},
			[]v1alpha1.PodProbeMarker{newMarker("m", probe("a", "A")), newMarker("n", probe("b", "A"))}, `{"metadata":{"uid":"u"},"status":{"conditions":[{"lastProbeTime":"1970-01-01T00:03:20Z","lastTransitionTime":"1970-01-01T00:01:40Z","message":"1","reason":null,"status":"True","type":"A"}]}}`,
		},
		"what one sets no other takes off": {
			newPod(map[string]string{"nginx": "healthy"}, nil), []v1alpha1.ContainerProbeState{result("m#a", "Succeeded", ""), result("n#b", "Failed", "")},
			[]v1alpha1.PodProbeMarker{newMarker("m", probe("a", "", healthy("Succeeded", "healthy"))), newMarker("n", probe("b", "", healthy("Succeeded", "other")))}, "",
		},
		"a condition of the kubelet": {
			newPod(nil, nil), []v1alpha1.ContainerProbeState{result("m#a", "Succeeded", "")}, []v1alpha1.PodProbeMarker{newMarker("m", probe("a", "Ready"))}, "",
		},
		"a condition that holds the pod": {
			newPod(nil, nil, condition("KruisePodReady", "False", `[{"userAgent":"ContainerRecreateRequest","key":"ns/r"}]`)), []v1alpha1.ContainerProbeState{result("m#a", "Succeeded", "hi")},
			[]v1alpha1.PodProbeMarker{newMarker("m", probe("a", "KruisePodReady", healthy("Succeeded", "healthy")))}, `{"metadata":{"labels":{"nginx":"healthy"},"uid":"u"}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			patch := makePatch(tc.pod, findings(tc.results, podprobe.Markers(tc.markers)))
			got := ""
			if !patch.Empty() {
				raw, err := patch.JSON(tc.pod.UID, "")
				if err != nil {
					t.Fatal(err)
				}
				got = string(raw)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("patch (-want +got):\n%s", diff)
			}
			patch.ApplyTo(tc.pod)
			if again := makePatch(tc.pod, findings(tc.results, podprobe.Markers(tc.markers))); !again.Empty() {
				raw, _ := json.Marshal(again)
				t.Errorf("after the patch there is more to write: %s", raw)
			}
		})
	}
}

func TestServerlessPatch(t *testing.T) {
	m := newMarker("m", probe("a", "A", healthy("Succeeded", "healthy"), cost("Failed", "-10")), probe("b", "", healthy("Succeeded", "never")))
	for name, tc := range map[string]struct {
		pod                 *corev1.Pod
		labels, annotations map[string]*string
	}{
		"no condition": {newPod(nil, nil), nil, nil},
		"well":         {newPod(nil, nil, condition("A", "True", "")), map[string]*string{"nginx": ptr("healthy")}, nil},
		"marked":       {newPod(map[string]string{"nginx": "healthy"}, nil, condition("A", "True", "")), nil, nil},
		"ill: nothing is taken off": {
			newPod(map[string]string{"nginx": "healthy"}, nil, condition("A", "False", "")), nil, map[string]*string{"cost": ptr("-10")},
		},
		"unknown": {newPod(map[string]string{"nginx": "healthy"}, nil, condition("A", "Unknown", "")), nil, nil},
		"not selected": {func() *corev1.Pod {
			pod := newPod(nil, nil, condition("A", "True", ""))
			pod.Labels = nil
			return pod
		}(), nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			patch := makeServerlessPatch(tc.pod, reported(tc.pod, podprobe.Markers([]v1alpha1.PodProbeMarker{m})))
			if diff := cmp.Diff(tc.labels, patch.Labels) + cmp.Diff(tc.annotations, patch.Annotations); diff != "" || len(patch.Conditions) > 0 {
				t.Errorf("patch (-want +got):\n%s%v", diff, patch.Conditions)
			}
		})
	}
}

func ptr(s string) *string { return &s }

// Only pods whose results changed are woken: a refresh of a thousand times wakes none.
func TestChangedPods(t *testing.T) {
	status := func(uid string, states ...v1alpha1.ContainerProbeState) v1alpha1.PodProbeStatus {
		return v1alpha1.PodProbeStatus{Namespace: "ns", Name: "pod-" + uid, UID: uid, ProbeStates: states}
	}
	npp := func(list ...v1alpha1.PodProbeStatus) *v1alpha1.NodePodProbe {
		return &v1alpha1.NodePodProbe{Status: v1alpha1.NodePodProbeStatus{PodProbeStatuses: list}}
	}
	refreshed := result("m#a", "Succeeded", "fine")
	refreshed.LastProbeTime = metav1.Unix(900, 0)
	old := npp(status("1", result("m#a", "Succeeded", "fine")), status("2", result("m#a", "Failed", "x")), status("3", result("m#a", "Failed", "x")))
	now := npp(status("1", refreshed), status("2", result("m#a", "Failed", "y")), status("4", result("m#a", "Failed", "x")))
	want := []types.NamespacedName{{Namespace: "ns", Name: "pod-2"}, {Namespace: "ns", Name: "pod-4"}}
	if diff := cmp.Diff(want, changedPods(old, now)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := changedPods(nil, old); len(got) != 3 {
		t.Errorf("of a new object: %v", got)
	}
}
