// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/apis/resourceexpr"
)

// sidecars checks the containers as those of a pod of their own.
func (p *problems) sidecars(path *field.Path, spec *v1beta1.SidecarSetSpec, noPrivileges bool) {
	if len(spec.Containers)+len(spec.InitContainers) == 0 {
		p.required(path.Child("containers"), "name at least one container or init container")
		return
	}
	pod := corev1.PodSpec{Volumes: spec.Volumes}
	for i := range spec.InitContainers {
		container := &spec.InitContainers[i]
		pod.InitContainers = append(pod.InitContainers, container.Container)
		p.resourcesPolicy(path.Child("initContainers").Index(i), container, isNativeSidecar(&container.Container))
	}
	for i := range spec.Containers {
		container := &spec.Containers[i]
		pod.Containers = append(pod.Containers, container.Container)
		p.resourcesPolicy(path.Child("containers").Index(i), container, true)
		p.sidecar(path.Child("containers").Index(i), container)
	}
	if len(pod.Containers) == 0 {
		filler := corev1.Container{Name: "test", Image: "busybox", ImagePullPolicy: corev1.PullAlways, TerminationMessagePolicy: corev1.TerminationMessageReadFile}
		pod.Containers = append(pod.Containers, filler)
	}
	p.containers(path, &pod, p.volumes(path.Child("volumes"), pod.Volumes))
	for i := range pod.InitContainers {
		p.unprivileged(path.Child("initContainers").Index(i), &pod.InitContainers[i], noPrivileges)
	}
	for i := range pod.Containers {
		p.unprivileged(path.Child("containers").Index(i), &pod.Containers[i], noPrivileges)
	}
}

func (p *problems) unprivileged(path *field.Path, container *corev1.Container, noPrivileges bool) {
	security := container.SecurityContext
	if noPrivileges && security != nil && security.Privileged != nil && *security.Privileged {
		p.forbidden(path.Child("securityContext", "privileged"), "privileged containers are disallowed here")
	}
}

func (p *problems) sidecar(path *field.Path, container *v1beta1.SidecarContainer) {
	oneOf(p, path.Child("podInjectPolicy"), container.PodInjectPolicy, v1beta1.BeforeAppContainerType, v1beta1.AfterAppContainerType)
	oneOf(p, path.Child("shareVolumePolicy", "type"), container.ShareVolumePolicy.Type,
		v1beta1.ShareVolumePolicyEnabled, v1beta1.ShareVolumePolicyDisabled)
	for i := range container.TransferEnv {
		if from := container.TransferEnv[i].SourceContainerNameFrom; from != nil && from.FieldRef != nil {
			p.podField(path.Child("transferEnv").Index(i).Child("sourceContainerNameFrom", "fieldRef"), from.FieldRef)
		}
	}
}

// podFieldPath is one entry of a pod's labels or annotations.
var podFieldPath = regexp.MustCompile(`^metadata\.(labels|annotations)\['(.*)'\]$`)

// podField wants one label or annotation of a pod.
func (p *problems) podField(path *field.Path, ref *corev1.ObjectFieldSelector) {
	if ref.APIVersion != "v1" {
		p.invalid(path.Child("apiVersion"), ref.APIVersion, "must be v1")
	}
	parts := podFieldPath.FindStringSubmatch(ref.FieldPath)
	if parts == nil {
		p.invalid(path.Child("fieldPath"), ref.FieldPath, "must be metadata.labels['key'] or metadata.annotations['key']")
		return
	}
	key := parts[2]
	if parts[1] == "annotations" {
		key = strings.ToLower(key)
	}
	p.check(path.Child("fieldPath"), ref.FieldPath, utilvalidation.IsQualifiedName(key))
}

// resourcesPolicy checks the policy of one container, of which those that run to their end can have none.
func (p *problems) resourcesPolicy(path *field.Path, container *v1beta1.SidecarContainer, stays bool) {
	policy, at := container.ResourcesPolicy, path.Child("resourcesPolicy")
	if policy == nil {
		return
	}
	if !stays {
		p.forbidden(at, "only an init container with restartPolicy Always may have it")
		return
	}
	if len(container.Resources.Limits)+len(container.Resources.Requests) > 0 {
		p.forbidden(at, "resources and resourcesPolicy cannot be configured together: keep one of the two")
		return
	}
	oneOf(p, at.Child("targetContainersMode"), policy.TargetContainersMode, v1beta1.TargetContainersModeSum, v1beta1.TargetContainersModeMax)
	p.regex(at.Child("targetContainersNameRegex"), policy.TargetContainersNameRegex)
	limits, requests := policy.ResourcesExpr.Limits, policy.ResourcesExpr.Requests
	if limits == nil && requests == nil {
		p.required(at.Child("resourcesExpr"), "set limits or requests")
	}
	if limits != nil {
		p.expressions(at.Child("resourcesExpr", "limits"), limits.CPU, limits.Memory)
	}
	if requests != nil {
		p.expressions(at.Child("resourcesExpr", "requests"), requests.CPU, requests.Memory)
	}
}

func (p *problems) regex(path *field.Path, text string) {
	if text == "" {
		p.required(path, "say which containers to look at: .* means all")
		return
	}
	if _, err := regexp.Compile(text); err != nil {
		p.invalid(path, text, "must be a regular expression: "+err.Error())
	}
}

// expressions computes each expression once, with 1 for its variable.
func (p *problems) expressions(path *field.Path, cpu, memory string) {
	for _, f := range []named[string]{{"cpu", cpu}, {"memory", memory}} {
		if f.value == "" {
			continue
		}
		if _, err := resourceexpr.Evaluate(f.value, map[string]resourceexpr.Value{f.name: resourceexpr.Number(1)}); err != nil {
			p.invalid(path.Child(f.name), f.value, "must be an expression in "+f.name+", such as "+f.name+"*50%: "+err.Error())
		}
	}
}

// sidecarsUpdate wants no container added or renamed, and each to keep its way of upgrading.
func (p *problems) sidecarsUpdate(path *field.Path, old, containers []v1beta1.SidecarContainer) {
	before := map[string]v1beta1.SidecarContainerUpgradeType{}
	for i := range old {
		before[old[i].Name] = upgradeType(&old[i])
	}
	for i := range containers {
		kind, found := before[containers[i].Name]
		if !found {
			p.forbidden(path.Index(i).Child("name"), "container "+containers[i].Name+" is not found in the stored object: containers cannot be added or renamed, make another SidecarSet")
		} else if kind != upgradeType(&containers[i]) {
			p.forbidden(path.Index(i).Child("upgradeStrategy", "upgradeType"), "container "+containers[i].Name+" upgradeType is immutable: make another SidecarSet")
		}
	}
}

func upgradeType(container *v1beta1.SidecarContainer) v1beta1.SidecarContainerUpgradeType {
	if container.UpgradeStrategy.UpgradeType == "" {
		return v1beta1.SidecarContainerColdUpgrade
	}
	return container.UpgradeStrategy.UpgradeType
}
