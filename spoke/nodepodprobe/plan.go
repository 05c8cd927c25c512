// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepodprobe

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	"github.com/flotilla-sh/flotilla/spoke/podprobe"
)

// snapshot is all that decides what a node's object should be.
type snapshot struct {
	node *corev1.Node           // nil: there is none
	npp  *v1alpha1.NodePodProbe // nil: there is none
	pods []corev1.Pod           // those on the node
	// markers by namespace, each in order of names.
	markers map[string][]podprobe.Marker
}

// action is what to do about the object.
type action string

const (
	keep   action = "Keep"
	create action = "Create"
	update action = "Update"
	remove action = "Remove"
)

// plan is what to do, and what to ask for.
type plan struct {
	action  action
	reason  string
	entries []v1alpha1.PodProbe
	// unresolved are the probes that cannot be asked for.
	unresolved []unresolved
	// leftOut are those that there is no room for.
	leftOut []leftOut
}

// unresolved is a probe of a marker that one pod has no port for.
type unresolved struct {
	marker     *v1alpha1.PodProbeMarker
	pod, probe string
	port       string
}

func makePlan(s *snapshot) plan {
	if why := unwanted(s.node); why != "" {
		if s.npp == nil || s.npp.DeletionTimestamp != nil {
			return plan{action: keep, reason: why}
		}
		return plan{action: remove, reason: why}
	}
	if s.npp == nil && !ready(s.node) {
		return plan{action: keep, reason: "the node is not ready yet"}
	}
	p := plan{action: keep, reason: "the object asks for what it should"}
	p.gather(s)
	switch {
	case s.npp == nil:
		p.action, p.reason = create, "the node has none"
	case s.npp.DeletionTimestamp == nil && !equality.Semantic.DeepEqual(s.npp.Spec.PodProbes, p.entries):
		p.action, p.reason = update, "other probes are wanted"
	}
	return p
}

// unwanted says why a node is to have no object, "" when it is.
func unwanted(node *corev1.Node) string {
	switch {
	case node == nil || node.DeletionTimestamp != nil:
		return "the node is gone"
	case podprobe.Serverless(node):
		return "a virtual kubelet has no node agent"
	default:
		return ""
	}
}

func ready(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// gather fills in the entries, in order of pods. The oldest pods come first where there is not room for all.
func (p *plan) gather(s *snapshot) {
	foreign, room := foreignProbes(s.npp), mostBytes
	var wishes []wish
	probed := slices.DeleteFunc(slices.Clone(s.pods), func(pod corev1.Pod) bool { return !podprobe.Probed(&pod) })
	slices.SortFunc(probed, func(a, b corev1.Pod) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	for i := range probed {
		pod := &probed[i]
		wishes = append(wishes, p.wanted(pod, s.markers[pod.Namespace])...)
		for j := range foreign[string(pod.UID)] {
			room -= costOf(pod, &foreign[string(pod.UID)][j])
		}
	}
	var granted map[types.UID][]v1alpha1.ContainerProbe
	granted, p.leftOut = grant(wishes, room)
	for i := range probed {
		pod := &probed[i]
		if probes := append(granted[pod.UID], foreign[string(pod.UID)]...); len(probes) > 0 {
			p.entries = append(p.entries, v1alpha1.PodProbe{
				Name: pod.Name, Namespace: pod.Namespace, UID: string(pod.UID), IP: pod.Status.PodIP, Probes: probes,
			})
		}
	}
	slices.SortFunc(p.entries, func(a, b v1alpha1.PodProbe) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}

// foreignProbes are the probes by the UID of their pods that no marker asked for.
func foreignProbes(npp *v1alpha1.NodePodProbe) map[string][]v1alpha1.ContainerProbe {
	out := map[string][]v1alpha1.ContainerProbe{}
	if npp == nil {
		return out
	}
	for i := range npp.Spec.PodProbes {
		pod := &npp.Spec.PodProbes[i]
		for j := range pod.Probes {
			if _, _, ours := v1alpha1.SplitNodeProbeName(pod.Probes[j].Name); !ours {
				out[pod.UID] = append(out[pod.UID], pod.Probes[j])
			}
		}
	}
	return out
}

// wanted are the probes of the markers that select a pod, in their order.
func (p *plan) wanted(pod *corev1.Pod, markers []podprobe.Marker) []wish {
	var out []wish
	for _, m := range markers {
		if !m.Selects(pod.Labels) {
			continue
		}
		for i := range m.Spec.Probes {
			asked := &m.Spec.Probes[i]
			container := podprobe.Container(pod, asked.ContainerName)
			if container == nil {
				continue
			}
			probe, missing := resolved(&asked.Probe, container)
			if missing != "" {
				p.unresolved = append(p.unresolved, unresolved{m.PodProbeMarker, pod.Name, asked.Name, missing})
				continue
			}
			out = append(out, wish{pod, m.PodProbeMarker, v1alpha1.ContainerProbe{
				Name: v1alpha1.NodeProbeName(m.Name, asked.Name), ContainerName: asked.ContainerName, Probe: *probe,
			}})
		}
	}
	return out
}

// resolved is a probe with a number for the name of its port. missing is the name that the container has no port of.
func resolved(probe *corev1.Probe, c *corev1.Container) (out *corev1.Probe, missing string) {
	out = probe.DeepCopy()
	switch {
	case out.HTTPGet != nil:
		missing = resolve(&out.HTTPGet.Port, c)
	case out.TCPSocket != nil:
		missing = resolve(&out.TCPSocket.Port, c)
	}
	return out, missing
}

func resolve(port *intstr.IntOrString, c *corev1.Container) (missing string) {
	if port.Type == intstr.Int {
		return ""
	}
	for i := range c.Ports {
		if c.Ports[i].Name == port.StrVal {
			*port = intstr.FromInt32(c.Ports[i].ContainerPort)
			return ""
		}
	}
	if number := intstr.Parse(port.StrVal); number.Type == intstr.Int {
		*port = number
		return ""
	}
	return port.StrVal
}

// String says in words what is missing.
func (u *unresolved) String() string {
	return fmt.Sprintf("Probe %s is not run in pod %s: its container has no port named %q", u.probe, u.pod, u.port)
}
