// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flotilla-sh/flotilla/apis/podtemplate"
)

// podTemplate checks a template as if it were defaulted. Claims are the claim templates that its
// containers may mount, besides its own volumes.
func (p *problems) podTemplate(path *field.Path, template *corev1.PodTemplateSpec, claims []corev1.PersistentVolumeClaim) {
	filled := template.DeepCopy()
	podtemplate.Default(filled, podtemplate.Options{})
	p.add(metav1validation.ValidateLabels(filled.Labels, path.Child("metadata", "labels")))
	p.add(apivalidation.ValidateAnnotations(filled.Annotations, path.Child("metadata", "annotations")))

	path, spec := path.Child("spec"), &filled.Spec
	volumes := p.volumes(path.Child("volumes"), spec.Volumes)
	for i := range claims {
		volumes[claims[i].Name] = claimVolume
	}
	p.containers(path, spec, volumes)
	if len(spec.EphemeralContainers) > 0 {
		p.forbidden(path.Child("ephemeralContainers"), "ephemeral containers are added to running pods: take them out of the template")
	}
	p.podSettings(path, spec)
	p.scheduling(path, spec)
}

// alwaysRunning wants the template of a workload that keeps its pods running.
func (p *problems) alwaysRunning(path *field.Path, spec *corev1.PodSpec) {
	if spec.RestartPolicy != "" {
		oneOf(p, path.Child("restartPolicy"), spec.RestartPolicy, corev1.RestartPolicyAlways)
	}
	if spec.ActiveDeadlineSeconds != nil {
		p.forbidden(path.Child("activeDeadlineSeconds"), "pods of this workload have no deadline: take the field out")
	}
}

func (p *problems) podSettings(path *field.Path, spec *corev1.PodSpec) {
	oneOf(p, path.Child("restartPolicy"), spec.RestartPolicy,
		corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever)
	oneOf(p, path.Child("dnsPolicy"), spec.DNSPolicy,
		corev1.DNSClusterFirst, corev1.DNSClusterFirstWithHostNet, corev1.DNSDefault, corev1.DNSNone)
	p.dns(path.Child("dnsConfig"), spec)
	p.podNames(path, spec)
	p.hostAliases(path.Child("hostAliases"), spec.HostAliases)
	if spec.HostPID && spec.ShareProcessNamespace != nil && *spec.ShareProcessNamespace {
		p.invalid(path.Child("shareProcessNamespace"), true, "must be false when hostPID is true")
	}
	gates := path.Child("readinessGates")
	for i := range spec.ReadinessGates {
		condition := string(spec.ReadinessGates[i].ConditionType)
		p.check(gates.Index(i).Child("conditionType"), condition, utilvalidation.IsQualifiedName(condition))
	}
	p.schedulingGates(path.Child("schedulingGates"), spec.SchedulingGates)
	p.quantities(path.Child("overhead"), spec.Overhead)
	p.podSecurity(path.Child("securityContext"), spec.SecurityContext)
}

// podNames checks the fields that hold a name of something else.
func (p *problems) podNames(path *field.Path, spec *corev1.PodSpec) {
	for _, f := range []named[string]{
		{"serviceAccountName", spec.ServiceAccountName}, {"nodeName", spec.NodeName}, {"priorityClassName", spec.PriorityClassName},
	} {
		if f.value != "" {
			p.check(path.Child(f.name), f.value, apivalidation.NameIsDNSSubdomain(f.value, false))
		}
	}
	if spec.RuntimeClassName != nil {
		p.check(path.Child("runtimeClassName"), *spec.RuntimeClassName, apivalidation.NameIsDNSSubdomain(*spec.RuntimeClassName, false))
	}
	for _, f := range []named[string]{{"hostname", spec.Hostname}, {"subdomain", spec.Subdomain}} {
		if f.value != "" {
			p.check(path.Child(f.name), f.value, utilvalidation.IsDNS1123Label(f.value))
		}
	}
}

func (p *problems) dns(path *field.Path, spec *corev1.PodSpec) {
	config := spec.DNSConfig
	if spec.DNSPolicy == corev1.DNSNone && (config == nil || len(config.Nameservers) == 0) {
		p.required(path.Child("nameservers"), "dnsPolicy None needs at least one name server")
	}
	if config == nil {
		return
	}
	for i, server := range config.Nameservers {
		p.add(utilvalidation.IsValidIPForLegacyField(path.Child("nameservers").Index(i), server, false, nil))
	}
	for i := range config.Options {
		if config.Options[i].Name == "" {
			p.required(path.Child("options").Index(i).Child("name"), "name the resolver option")
		}
	}
}

func (p *problems) hostAliases(path *field.Path, aliases []corev1.HostAlias) {
	for i, alias := range aliases {
		p.add(utilvalidation.IsValidIPForLegacyField(path.Index(i).Child("ip"), alias.IP, false, nil))
		for j, host := range alias.Hostnames {
			p.check(path.Index(i).Child("hostnames").Index(j), host, utilvalidation.IsDNS1123Subdomain(host))
		}
	}
}

func (p *problems) schedulingGates(path *field.Path, gates []corev1.PodSchedulingGate) {
	seen := map[string]bool{}
	for i := range gates {
		at := path.Index(i).Child("name")
		p.check(at, gates[i].Name, utilvalidation.IsQualifiedName(gates[i].Name))
		unique(p, seen, at, gates[i].Name)
	}
}

func (p *problems) podSecurity(path *field.Path, security *corev1.PodSecurityContext) {
	if security == nil {
		return
	}
	p.userID(path.Child("runAsUser"), security.RunAsUser)
	p.userID(path.Child("runAsGroup"), security.RunAsGroup)
	p.userID(path.Child("fsGroup"), security.FSGroup)
	for i := range security.SupplementalGroups {
		p.userID(path.Child("supplementalGroups").Index(i), &security.SupplementalGroups[i])
	}
}

// userID wants a numeric user or group of Linux.
func (p *problems) userID(path *field.Path, id *int64) {
	if id != nil {
		p.number(path, *id, 0, 1<<31-1, "must be between 0 and 2147483647")
	}
}
