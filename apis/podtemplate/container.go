// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package podtemplate

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

func defaultContainer(container *corev1.Container) {
	fill(&container.ImagePullPolicy, pullPolicyOf(container.Image))
	fill(&container.TerminationMessagePath, corev1.TerminationMessagePathDefault)
	fill(&container.TerminationMessagePolicy, corev1.TerminationMessageReadFile)
	for i := range container.Ports {
		fill(&container.Ports[i].Protocol, corev1.ProtocolTCP)
	}
	for i := range container.Env {
		defaultEnv(container.Env[i].ValueFrom)
	}
	roundUp(container.Resources.Limits)
	roundUp(container.Resources.Requests)
	for _, probe := range []*corev1.Probe{container.LivenessProbe, container.ReadinessProbe, container.StartupProbe} {
		defaultProbe(probe)
	}
	if container.Lifecycle != nil {
		defaultHook(container.Lifecycle.PostStart)
		defaultHook(container.Lifecycle.PreStop)
	}
}

func defaultEnv(source *corev1.EnvVarSource) {
	if source == nil {
		return
	}
	defaultFieldRef(source.FieldRef)
	if source.FileKeyRef != nil {
		point(&source.FileKeyRef.Optional, false)
	}
}

func defaultFieldRef(ref *corev1.ObjectFieldSelector) {
	if ref != nil {
		fill(&ref.APIVersion, "v1")
	}
}

func defaultProbe(probe *corev1.Probe) {
	if probe == nil {
		return
	}
	fill(&probe.TimeoutSeconds, 1)
	fill(&probe.PeriodSeconds, 10)
	fill(&probe.SuccessThreshold, 1)
	fill(&probe.FailureThreshold, 3)
	defaultHTTPGet(probe.HTTPGet)
	if probe.GRPC != nil {
		point(&probe.GRPC.Service, "")
	}
}

func defaultHook(hook *corev1.LifecycleHandler) {
	if hook != nil {
		defaultHTTPGet(hook.HTTPGet)
	}
}

func defaultHTTPGet(action *corev1.HTTPGetAction) {
	if action != nil {
		fill(&action.Path, "/")
		fill(&action.Scheme, corev1.URISchemeHTTP)
	}
}

// pullPolicyOf is Always for tag latest and for an image with neither tag nor digest.
func pullPolicyOf(image string) corev1.PullPolicy {
	name, _, hasDigest := strings.Cut(image, "@")
	tag := ""
	if colon := strings.LastIndex(name, ":"); colon > strings.LastIndex(name, "/") {
		tag = name[colon+1:]
	}
	if tag == "latest" || tag == "" && !hasDigest && name != "" {
		return corev1.PullAlways
	}
	return corev1.PullIfNotPresent
}
