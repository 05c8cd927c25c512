// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
)

// ValidateConfigMapSet says what is wrong with a ConfigMapSet for itself, which may come with or without its
// defaults. A nil old means that the object is new.
func ValidateConfigMapSet(old, obj *v1alpha1.ConfigMapSet) field.ErrorList {
	p := configMapSet(obj)
	if old == nil {
		return p.list
	}
	updates := problems{}
	if !equality.Semantic.DeepEqual(old.Spec.Selector, obj.Spec.Selector) {
		updates.forbidden(field.NewPath("spec", "selector"), "cannot be changed: make another ConfigMapSet")
	}
	return append(updates.list, p.since(configMapSet(old).list)...)
}

func configMapSet(obj *v1alpha1.ConfigMapSet) *problems {
	p := &problems{}
	p.check(field.NewPath("metadata", "name"), obj.Name, utilvalidation.IsDNS1123Label(obj.Name))
	filled := v1alpha1.ConfigMapSet{Spec: *obj.Spec.DeepCopy()}
	v1alpha1.DefaultConfigMapSet(&filled, v1alpha1.ReloadSidecarConfigMapRef{})
	spec, at := &filled.Spec, field.NewPath("spec")

	if p.selector(at.Child("selector"), spec.Selector) != nil && len(spec.Selector.MatchLabels) == 0 {
		p.required(at.Child("selector", "matchLabels"), "name at least one label")
	}
	p.content(at.Child("data"), spec.Data)
	p.targets(at.Child("containers"), spec.Containers)
	p.reloadSidecar(at.Child("reloadSidecarConfig"), spec.ReloadSidecarConfig)
	p.effectPolicy(at.Child("effectPolicy"), spec.EffectPolicy)
	p.number(at.Child("revisionHistoryLimit"), int64(*spec.RevisionHistoryLimit), 1, 100, "must be between 1 and 100")
	strategy, below := spec.UpdateStrategy, at.Child("updateStrategy")
	p.share(below.Child("partition"), *strategy.Partition, 0)
	p.share(below.Child("maxUnavailable"), *strategy.MaxUnavailable, 1)
	seen := map[string]bool{}
	for i, key := range strategy.MatchLabelKeys {
		p.add(metav1validation.ValidateLabelName(key, below.Child("matchLabelKeys").Index(i)))
		unique(p, seen, below.Child("matchLabelKeys").Index(i), key)
		if spec.Selector != nil && spec.Selector.MatchLabels[key] != "" {
			p.invalid(below.Child("matchLabelKeys").Index(i), key, "is in selector.matchLabels: all pods have the same value, take it out")
		}
	}
	return p
}

func (p *problems) content(path *field.Path, data map[string]string) {
	if len(data) == 0 {
		p.required(path, "name at least one key")
	}
	for _, key := range sortedKeys(data) {
		p.check(path.Key(key), key, utilvalidation.IsConfigMapKey(key))
		if strings.HasPrefix(key, ".") && key != "." && key != ".." {
			p.invalid(path.Key(key), key, "must not start with '.': such files belong to the reload sidecar")
		}
	}
}

// share wants a number of at least least, in quotes or not, or a whole percentage from there to 100%.
func (p *problems) share(path *field.Path, value intstr.IntOrString, least int) {
	if percent, isPercent := percentOf(value); isPercent {
		if percent < float64(least) || percent > 100 || percent != float64(int(percent)) {
			p.invalid(path, value.StrVal, "must be a whole percentage, at most 100% and at least "+leastPercent(least))
		}
		return
	}
	number, err := wholeNumber(value)
	switch {
	case err != nil:
		p.invalid(path, value.String(), wantsNumberOrPercent)
	case number < least && least > 0:
		p.invalid(path, value.String(), "must be more than 0: no pod could ever be updated")
	case number < least:
		p.invalid(path, value.String(), "must be 0 or more")
	}
}

func leastPercent(least int) string {
	if least > 0 {
		return "1%"
	}
	return "0%"
}

// targets checks the containers that get the content.
func (p *problems) targets(list *field.Path, containers []v1alpha1.ConfigMapSetContainer) {
	if len(containers) == 0 {
		p.required(list, "name at least one container")
	}
	names, dynamic := map[string]bool{}, map[string]bool{}
	for i := range containers {
		at, container := list.Index(i), &containers[i]
		if (container.Name == "") == (container.NameFrom == nil) {
			p.required(at, "set exactly one of name and nameFrom")
		}
		unique(p, names, at.Child("name"), container.Name)
		p.mountPath(at.Child("mountPath"), container.MountPath)
		switch {
		case container.NameFrom == nil:
		case container.NameFrom.FieldRef == nil:
			p.required(at.Child("nameFrom", "fieldRef"), "name a label or an annotation of the pod")
		default:
			p.podField(at.Child("nameFrom", "fieldRef"), container.NameFrom.FieldRef)
			unique(p, dynamic, at, container.NameFrom.FieldRef.FieldPath+" at "+path.Clean(container.MountPath))
		}
	}
}

func (p *problems) mountPath(at *field.Path, text string) {
	switch {
	case !strings.HasPrefix(text, "/"):
		p.invalid(at, text, "must be an absolute path")
	case slices.Contains(strings.Split(text, "/"), ".."):
		p.invalid(at, text, "must not contain '..'")
	}
}

// reloadSidecar wants the fields of the type, and no others.
func (p *problems) reloadSidecar(path *field.Path, config *v1alpha1.ReloadSidecarConfig) {
	oneOf(p, path.Child("type"), config.Type, v1alpha1.ReloadSidecarTypeK8s, v1alpha1.ReloadSidecarTypeSidecarSet, v1alpha1.ReloadSidecarTypeCustom)
	options, at := config.Config, path.Child("config")
	if options == nil {
		options = &v1alpha1.ReloadSidecarOptions{}
	}
	k8s := []named[bool]{
		{"name", options.Name != ""}, {"image", options.Image != ""},
		{"restartPolicy", options.RestartPolicy != ""}, {"command", len(options.Command) > 0},
	}
	if config.Type != v1alpha1.ReloadSidecarTypeK8s {
		p.unused(at, config.Type, k8s)
	} else if options.Image == "" {
		p.required(at.Child("image"), "say which image the reload sidecar runs")
	}
	if config.Type != v1alpha1.ReloadSidecarTypeSidecarSet {
		p.unused(at, config.Type, []named[bool]{{"sidecarSetRef", options.SidecarSetRef != nil}})
	} else if ref := options.SidecarSetRef; ref == nil || ref.Name == "" || ref.ContainerName == "" {
		p.required(at.Child("sidecarSetRef"), "name the SidecarSet and its container")
	}
	if config.Type != v1alpha1.ReloadSidecarTypeCustom {
		p.unused(at, config.Type, []named[bool]{{"configMapRef", options.ConfigMapRef != nil}})
	} else if ref := options.ConfigMapRef; ref != nil && ref.Name == "" {
		p.required(at.Child("configMapRef", "name"), "name the ConfigMap")
	}
}

func (p *problems) unused(path *field.Path, kind v1alpha1.ReloadSidecarType, fields []named[bool]) {
	for _, f := range fields {
		if f.value {
			p.invalid(path.Child(f.name), f.name, "is not for type "+string(kind)+": take it out")
		}
	}
}

func (p *problems) effectPolicy(path *field.Path, policy *v1alpha1.EffectPolicy) {
	known := slices.ContainsFunc([]v1alpha1.EffectPolicyType{
		v1alpha1.EffectPolicyReStart, v1alpha1.EffectPolicyPostHook, v1alpha1.EffectPolicyHotUpdate,
	}, policy.Type.Is)
	if !known {
		p.list = append(p.list, field.NotSupported(path.Child("type"), policy.Type, []v1alpha1.EffectPolicyType{
			v1alpha1.EffectPolicyReStart, v1alpha1.EffectPolicyPostHook, v1alpha1.EffectPolicyHotUpdate}))
	}
	hook, at := policy.PostHook, path.Child("postHook")
	if !policy.Type.Is(v1alpha1.EffectPolicyPostHook) {
		if hook != nil {
			p.invalid(at, "postHook", "is for type PostHook only: take it out")
		}
		return
	}
	if hook == nil || (len(hook.HTTPGet) == 0) == (len(hook.TCPSocket) == 0) {
		p.invalid(at, "postHook", "set exactly one of httpGet and tcpSocket")
		return
	}
	for i := range hook.HTTPGet {
		p.localHook(at.Child("httpGet").Index(i), hook.HTTPGet[i].Host, hook.HTTPGet[i].Port)
		if scheme := hook.HTTPGet[i].Scheme; scheme != "" {
			oneOf(p, at.Child("httpGet").Index(i).Child("scheme"), scheme, corev1.URISchemeHTTP, corev1.URISchemeHTTPS)
		}
	}
	for i := range hook.TCPSocket {
		p.localHook(at.Child("tcpSocket").Index(i), hook.TCPSocket[i].Host, hook.TCPSocket[i].Port)
	}
}

func (p *problems) localHook(path *field.Path, host string, port intstr.IntOrString) {
	if host != "" && host != "127.0.0.1" {
		p.invalid(path.Child("host"), host, "must be 127.0.0.1: only the pod itself is told")
	}
	p.port(path.Child("port"), port)
}
