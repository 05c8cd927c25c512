// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// envFieldPaths are the fields of a pod that a variable can hold, besides one label or annotation.
var envFieldPaths = []string{
	"metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
	"spec.host", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs",
}

func (p *problems) env(path *field.Path, vars []corev1.EnvVar) {
	for i := range vars {
		at, variable := path.Index(i), &vars[i]
		if variable.Name == "" {
			p.required(at.Child("name"), "name the variable")
		} else {
			p.check(at.Child("name"), variable.Name, utilvalidation.IsRelaxedEnvVarName(variable.Name))
		}
		if variable.ValueFrom == nil {
			continue
		}
		if variable.Value != "" {
			p.invalid(at.Child("valueFrom"), "", "cannot be set together with value: keep one of the two")
		}
		p.envSource(at.Child("valueFrom"), variable.ValueFrom)
	}
}

func (p *problems) envSource(path *field.Path, source *corev1.EnvVarSource) {
	set := 0
	for _, present := range []bool{
		source.FieldRef != nil, source.ResourceFieldRef != nil, source.ConfigMapKeyRef != nil,
		source.SecretKeyRef != nil, source.FileKeyRef != nil,
	} {
		if present {
			set++
		}
	}
	if set != 1 {
		p.invalid(path, "", "set exactly one of fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef and fileKeyRef")
	}
	if ref := source.FieldRef; ref != nil {
		p.fieldPath(path.Child("fieldRef", "fieldPath"), ref.FieldPath)
	}
	if ref := source.ResourceFieldRef; ref != nil && ref.Resource == "" {
		p.required(path.Child("resourceFieldRef", "resource"), "say which resource, as limits.cpu")
	}
	if ref := source.ConfigMapKeyRef; ref != nil {
		p.keyRef(path.Child("configMapKeyRef"), ref.Name, ref.Key)
	}
	if ref := source.SecretKeyRef; ref != nil {
		p.keyRef(path.Child("secretKeyRef"), ref.Name, ref.Key)
	}
}

func (p *problems) fieldPath(path *field.Path, value string) {
	if value == "" {
		p.required(path, "say which field of the pod, as metadata.name")
		return
	}
	subscripted := strings.HasSuffix(value, "']") &&
		(strings.HasPrefix(value, "metadata.labels['") || strings.HasPrefix(value, "metadata.annotations['"))
	if !subscripted && !slices.Contains(envFieldPaths, value) {
		p.list = append(p.list, field.NotSupported(path, value,
			append([]string{"metadata.labels['KEY']", "metadata.annotations['KEY']"}, envFieldPaths...)))
	}
}

func (p *problems) keyRef(path *field.Path, name, key string) {
	if name == "" {
		p.required(path.Child("name"), "name the object")
	}
	if key == "" {
		p.required(path.Child("key"), "say which key of the object")
	} else {
		p.check(path.Child("key"), key, utilvalidation.IsConfigMapKey(key))
	}
}

func (p *problems) envFrom(path *field.Path, sources []corev1.EnvFromSource) {
	for i := range sources {
		at, source := path.Index(i), &sources[i]
		if source.Prefix != "" {
			p.check(at.Child("prefix"), source.Prefix, utilvalidation.IsRelaxedEnvVarName(source.Prefix))
		}
		if (source.ConfigMapRef == nil) == (source.SecretRef == nil) {
			p.invalid(at, "", "set exactly one of configMapRef and secretRef")
		}
		if source.ConfigMapRef != nil && source.ConfigMapRef.Name == "" {
			p.required(at.Child("configMapRef", "name"), "name the ConfigMap")
		}
		if source.SecretRef != nil && source.SecretRef.Name == "" {
			p.required(at.Child("secretRef", "name"), "name the Secret")
		}
	}
}

// resources wants quantities of zero or more, and no request above its limit.
func (p *problems) resources(path *field.Path, resources *corev1.ResourceRequirements) {
	p.quantities(path.Child("limits"), resources.Limits)
	p.quantities(path.Child("requests"), resources.Requests)
	for _, name := range slices.Sorted(maps.Keys(resources.Requests)) {
		request := resources.Requests[name]
		if limit, limited := resources.Limits[name]; limited && request.Cmp(limit) > 0 {
			p.invalid(path.Child("requests").Key(string(name)), request.String(), "must not exceed the limit of "+limit.String())
		}
	}
}

func (p *problems) quantities(path *field.Path, list corev1.ResourceList) {
	for _, name := range slices.Sorted(maps.Keys(list)) {
		quantity := list[name]
		at := path.Key(string(name))
		p.check(at, string(name), utilvalidation.IsQualifiedName(string(name)))
		if quantity.Cmp(resource.Quantity{}) < 0 {
			p.invalid(at, quantity.String(), "must be 0 or more")
		}
	}
}
