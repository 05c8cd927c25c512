// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
)

// key tells probes apart.
type key struct {
	uid              types.UID
	container, probe string
}

// target is one probe and what the agent itself knows of the container it is for.
type target struct {
	key
	pod   types.NamespacedName
	probe corev1.Probe
	view  view
}

// liveness says whether the probe stands for a liveness probe: those of PodProbeMarkers have a # in their names.
func (k key) liveness() bool { return !strings.Contains(k.probe, "#") }

// view is a container as its pod's status has it.
type view struct {
	// ip is the pod's, "" while it has none.
	ip string
	// instance is the container's ID (runtime://id), "" while there is none.
	instance string
	// started is when the instance started; zero while it does not run.
	started time.Time
}

// Refusal says why an entry is not probed.
type Refusal string

// The refusals.
const (
	// NotHere: there is no such pod on this node.
	NotHere Refusal = "NotHere"
	// OtherPod: a pod of that name is here, and has another UID.
	OtherPod Refusal = "OtherPod"
	// Ended: the pod has ended.
	Ended Refusal = "Ended"
	// NoContainer: the pod has no such container.
	NoContainer Refusal = "NoContainer"
	// HostNamed: the probe names a host; only pods are probed.
	HostNamed Refusal = "HostNamed"
	// NameTaken: a probe of another container of the pod has the name; results are told apart by names alone.
	NameTaken Refusal = "NameTaken"
)

// targetsOf holds the entries of a NodePodProbe against the pods of this node. It returns what to probe, and how
// many probes were refused for which reason.
func targetsOf(spec *v1alpha1.NodePodProbeSpec, pods map[types.NamespacedName]*corev1.Pod) (map[key]target, map[Refusal]int) {
	targets, refused, twins := map[key]target{}, map[Refusal]int{}, twinsOf(spec)
	for i := range spec.PodProbes {
		entry := &spec.PodProbes[i]
		name := types.NamespacedName{Namespace: entry.Namespace, Name: entry.Name}
		pod := pods[name]
		if why := refusePod(pod, entry.UID); why != "" {
			refused[why] += len(entry.Probes)
			continue
		}
		for j := range entry.Probes {
			p := &entry.Probes[j]
			if why := refuseProbe(pod, p); why != "" {
				refused[why]++
				continue
			}
			k := key{pod.UID, p.ContainerName, p.Name}
			if twins[k] {
				refused[NameTaken]++
				continue
			}
			targets[k] = target{key: k, pod: name, probe: p.Probe, view: viewOf(pod, p.ContainerName)}
		}
	}
	return targets, refused
}

// twinsOf returns the probes of which another container of their pod has one of the same name before them.
func twinsOf(spec *v1alpha1.NodePodProbeSpec) map[key]bool {
	twins, first := map[key]bool{}, map[key]string{}
	for i := range spec.PodProbes {
		entry := &spec.PodProbes[i]
		for j := range entry.Probes {
			p := &entry.Probes[j]
			name := key{uid: types.UID(entry.UID), probe: p.Name}
			if container, taken := first[name]; !taken {
				first[name] = p.ContainerName
			} else if container != p.ContainerName {
				twins[key{name.uid, p.ContainerName, p.Name}] = true
			}
		}
	}
	return twins
}

func refusePod(pod *corev1.Pod, uid string) Refusal {
	switch {
	case pod == nil:
		return NotHere
	case string(pod.UID) != uid:
		return OtherPod
	case pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed:
		return Ended
	default:
		return ""
	}
}

func refuseProbe(pod *corev1.Pod, p *v1alpha1.ContainerProbe) Refusal {
	switch {
	case !hasContainer(pod, p.ContainerName):
		return NoContainer
	case p.Probe.HTTPGet != nil && p.Probe.HTTPGet.Host != "", p.Probe.TCPSocket != nil && p.Probe.TCPSocket.Host != "":
		return HostNamed
	default:
		return ""
	}
}

func hasContainer(pod *corev1.Pod, name string) bool {
	for _, list := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range list {
			if list[i].Name == name {
				return true
			}
		}
	}
	return false
}

func viewOf(pod *corev1.Pod, container string) view {
	v := view{ip: pod.Status.PodIP}
	for _, list := range [][]corev1.ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses} {
		for i := range list {
			if list[i].Name != container {
				continue
			}
			v.instance = list[i].ContainerID
			if running := list[i].State.Running; running != nil {
				v.started = running.StartedAt.Time
			}
			return v
		}
	}
	return v
}
