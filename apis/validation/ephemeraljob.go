// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
)

// ephemeralFields are the fields that an ephemeral container may have, by their names in Go.
var ephemeralFields = map[string]bool{
	"Name": true, "Image": true, "Command": true, "Args": true, "WorkingDir": true, "EnvFrom": true, "Env": true,
	"VolumeMounts": true, "VolumeDevices": true, "TerminationMessagePath": true, "TerminationMessagePolicy": true,
	"ImagePullPolicy": true, "SecurityContext": true, "Stdin": true, "StdinOnce": true, "TTY": true,
}

// ValidateEphemeralJob says what is wrong with an EphemeralJob. A nil old means that the object is new.
func ValidateEphemeralJob(old, obj *v1alpha1.EphemeralJob) field.ErrorList {
	p := ephemeralJob(obj)
	if old == nil {
		return p.list
	}
	updates := problems{}
	updates.metadataUpdate(&obj.ObjectMeta, &old.ObjectMeta)
	return append(updates.list, p.since(ephemeralJob(old).list)...)
}

// ephemeralJob checks one EphemeralJob for itself. A template without a container is let in: the job ends
// with phase Error.
func ephemeralJob(obj *v1alpha1.EphemeralJob) *problems {
	p := &problems{}
	p.metadata(&obj.ObjectMeta)
	path := field.NewPath("spec")
	if obj.Spec.Selector != nil {
		lenient := metav1validation.LabelSelectorValidationOptions{AllowInvalidLabelValueInSelector: true}
		p.add(metav1validation.ValidateLabelSelector(obj.Spec.Selector, lenient, path.Child("selector")))
	}
	names := map[string]bool{}
	for i := range obj.Spec.Template.EphemeralContainers {
		at, container := path.Child("template", "ephemeralContainers").Index(i), &obj.Spec.Template.EphemeralContainers[i]
		p.ephemeralContainer(at, &container.EphemeralContainerCommon)
		unique(p, names, at.Child("name"), container.Name)
	}
	return p
}

func (p *problems) ephemeralContainer(path *field.Path, container *corev1.EphemeralContainerCommon) {
	if container.Name == "" {
		p.required(path.Child("name"), "name the container")
	} else {
		p.check(path.Child("name"), container.Name, utilvalidation.IsDNS1123Label(container.Name))
	}
	if container.Image == "" {
		p.required(path.Child("image"), "say which image the container runs")
	} else if strings.TrimSpace(container.Image) != container.Image {
		p.invalid(path.Child("image"), container.Image, "must not start or end with spaces")
	}
	oneOf(p, path.Child("imagePullPolicy"), container.ImagePullPolicy, corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever)
	oneOf(p, path.Child("terminationMessagePolicy"), container.TerminationMessagePolicy,
		corev1.TerminationMessageReadFile, corev1.TerminationMessageFallbackToLogsOnError)
	p.env(path.Child("env"), container.Env)
	p.envFrom(path.Child("envFrom"), container.EnvFrom)
	p.containerSecurity(path.Child("securityContext"), container.SecurityContext)
	for i := range container.VolumeMounts {
		at, mount := path.Child("volumeMounts").Index(i), &container.VolumeMounts[i]
		for _, f := range []named[string]{{"subPath", mount.SubPath}, {"subPathExpr", mount.SubPathExpr}} {
			if f.value != "" {
				p.forbidden(at.Child(f.name), "ephemeral containers mount whole volumes: take it out")
			}
		}
	}
	p.ephemeralFields(path, container)
}

// ephemeralFields wants no field but those that an ephemeral container may have.
func (p *problems) ephemeralFields(path *field.Path, container *corev1.EphemeralContainerCommon) {
	fields := reflect.TypeFor[corev1.EphemeralContainerCommon]()
	values := reflect.ValueOf(container).Elem()
	for i := range fields.NumField() {
		if ephemeralFields[fields.Field(i).Name] || isEmpty(values.Field(i)) {
			continue
		}
		name, _, _ := strings.Cut(fields.Field(i).Tag.Get("json"), ",")
		p.forbidden(path.Child(name), "ephemeral containers cannot have it: take it out")
	}
}

func isEmpty(value reflect.Value) bool {
	return value.IsZero() || (value.Kind() == reflect.Slice && value.Len() == 0)
}
