// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
)

var started = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// newPod has container main, which runs as c://1, init containers side (a sidecar that runs) and once, and late,
// which has no instance yet.
func newPod(name, uid string) *corev1.Pod {
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(started)}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(uid)}}
	pod.Spec.Containers = []corev1.Container{{Name: "main"}, {Name: "late"}}
	pod.Spec.InitContainers = []corev1.Container{{Name: "side"}, {Name: "once"}}
	pod.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: "10.0.0.5",
		ContainerStatuses:     []corev1.ContainerStatus{{Name: "late"}, {Name: "main", ContainerID: "c://1", State: running}},
		InitContainerStatuses: []corev1.ContainerStatus{{Name: "side", ContainerID: "c://2", State: running}, {Name: "once", ContainerID: "c://3"}},
	}
	return pod
}

func entryOf(name, uid string, probes ...v1alpha1.ContainerProbe) v1alpha1.PodProbe {
	return v1alpha1.PodProbe{Namespace: "ns", Name: name, UID: uid, IP: "192.0.2.1", Probes: probes}
}

func probeOf(name, container string) v1alpha1.ContainerProbe {
	return v1alpha1.ContainerProbe{Name: name, ContainerName: container, Probe: corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{}}}}
}

// TestTargets: whoever writes a NodePodProbe cannot have anything probed but containers of pods that are here, at
// the addresses that these pods have.
func TestTargets(t *testing.T) {
	ended := newPod("ended", "e")
	ended.Status.Phase = corev1.PodFailed
	pods := map[types.NamespacedName]*corev1.Pod{}
	for _, pod := range []*corev1.Pod{newPod("web", "u"), ended} {
		pods[types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}] = pod
	}
	tcpHost, httpHost := probeOf("m#tcp", "main"), probeOf("m#http", "main")
	tcpHost.Probe.TCPSocket.Host = "192.0.2.1"
	httpHost.Probe = corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Host: "192.0.2.1"}}}
	otherNamespace := entryOf("web", "u", probeOf("m#p", "main"))
	otherNamespace.Namespace = "other"
	targets, refused := targetsOf(&v1alpha1.NodePodProbeSpec{PodProbes: []v1alpha1.PodProbe{
		entryOf("web", "u", probeOf("m#p", "main"), probeOf("m#side", "side"), probeOf("m#late", "late"), probeOf("m#once", "once"),
			probeOf("m#none", "none"), tcpHost, httpHost, probeOf("m#p", "side")),
		entryOf("web", "old", probeOf("m#p", "main"), probeOf("m#q", "main")),
		entryOf("web", "", probeOf("m#p", "main")),
		entryOf("elsewhere", "x", probeOf("m#p", "main")),
		otherNamespace,
		entryOf("ended", "e", probeOf("m#p", "main")),
	}}, pods)
	wantRefused := map[Refusal]int{NotHere: 2, OtherPod: 3, Ended: 1, NoContainer: 1, HostNamed: 2, NameTaken: 1}
	if diff := cmp.Diff(wantRefused, refused); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
	want := map[key]view{
		{"u", "main", "m#p"}:    {"10.0.0.5", "c://1", started},
		{"u", "side", "m#side"}: {"10.0.0.5", "c://2", started},
		{"u", "late", "m#late"}: {ip: "10.0.0.5"},
		{"u", "once", "m#once"}: {ip: "10.0.0.5", instance: "c://3"},
	}
	got := map[key]view{}
	for k := range targets {
		got[k] = targets[k].view
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(key{}, view{})); diff != "" {
		t.Errorf("views (-want +got):\n%s", diff)
	}
}
