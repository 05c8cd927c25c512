// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package podtemplate

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Options are choices of the person who runs us, taken from feature gates.
type Options struct {
	// HostPorts copies container ports to host ports where the template uses the host's network.
	HostPorts bool
}

// Default fills the defaults of a pod template.
func Default(template *corev1.PodTemplateSpec, opts Options) {
	if template == nil {
		return
	}
	spec := &template.Spec
	defaultSpec(spec)
	for i := range spec.Volumes {
		defaultVolume(&spec.Volumes[i].VolumeSource)
	}
	for i := range spec.InitContainers {
		defaultContainer(&spec.InitContainers[i])
	}
	for i := range spec.Containers {
		fill(&spec.Containers[i].ImagePullPolicy, corev1.PullAlways)
		defaultContainer(&spec.Containers[i])
	}
	for i := range spec.EphemeralContainers {
		defaultContainer((*corev1.Container)(&spec.EphemeralContainers[i].EphemeralContainerCommon))
	}
	if opts.HostPorts && spec.HostNetwork {
		copyHostPorts(spec.InitContainers)
		copyHostPorts(spec.Containers)
	}
}

// DefaultClaim fills the defaults of a claim template.
func DefaultClaim(claim *corev1.PersistentVolumeClaim) {
	if claim == nil {
		return
	}
	fill(&claim.Status.Phase, corev1.ClaimPending)
	defaultClaimSpec(&claim.Spec)
	roundUp(claim.Status.Capacity)
	roundUp(claim.Status.AllocatedResources)
}

func defaultSpec(spec *corev1.PodSpec) {
	fill(&spec.DNSPolicy, corev1.DNSClusterFirst)
	fill(&spec.RestartPolicy, corev1.RestartPolicyAlways)
	fill(&spec.SchedulerName, corev1.DefaultSchedulerName)
	point(&spec.SecurityContext, corev1.PodSecurityContext{})
	point(&spec.TerminationGracePeriodSeconds, corev1.DefaultTerminationGracePeriodSeconds)
	roundUp(spec.Overhead)
	if spec.Resources != nil {
		roundUp(spec.Resources.Limits)
		roundUp(spec.Resources.Requests)
	}
}

func defaultClaimSpec(spec *corev1.PersistentVolumeClaimSpec) {
	point(&spec.VolumeMode, corev1.PersistentVolumeFilesystem)
	roundUp(spec.Resources.Limits)
	roundUp(spec.Resources.Requests)
}

func copyHostPorts(containers []corev1.Container) {
	for i := range containers {
		for j := range containers[i].Ports {
			port := &containers[i].Ports[j]
			fill(&port.HostPort, port.ContainerPort)
		}
	}
}

// roundUp rounds quantities up to thousandths: what the API can express.
func roundUp(list corev1.ResourceList) {
	for name, quantity := range list {
		quantity.RoundUp(resource.Milli)
		list[name] = quantity
	}
}

// fill sets a field that is empty.
func fill[T comparable](field *T, value T) {
	var empty T
	if *field == empty {
		*field = value
	}
}

// point sets a field that is nil.
func point[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}
