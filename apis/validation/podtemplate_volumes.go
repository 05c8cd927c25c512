// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// volumeKind is what a container may do with a volume.
type volumeKind int

const (
	// fileVolume can be mounted.
	fileVolume volumeKind = iota
	// claimVolume can be mounted or used as a block device.
	claimVolume
)

// volumes checks the volumes and returns what each name stands for.
func (p *problems) volumes(path *field.Path, volumes []corev1.Volume) map[string]volumeKind {
	kinds := map[string]volumeKind{}
	seen := map[string]bool{}
	for i := range volumes {
		at, volume := path.Index(i), &volumes[i]
		if volume.Name == "" {
			p.required(at.Child("name"), "name the volume")
		} else {
			p.check(at.Child("name"), volume.Name, utilvalidation.IsDNS1123Label(volume.Name))
		}
		unique(p, seen, at.Child("name"), volume.Name)
		p.volumeSource(at, &volume.VolumeSource)
		kinds[volume.Name] = fileVolume
		if volume.PersistentVolumeClaim != nil || volume.Ephemeral != nil {
			kinds[volume.Name] = claimVolume
		}
	}
	return kinds
}

func (p *problems) volumeSource(path *field.Path, source *corev1.VolumeSource) {
	if setFields(*source) > 1 {
		p.forbidden(path, "a volume has one source: keep one and make other volumes of the rest")
	}
	if source.HostPath != nil && source.HostPath.Path == "" {
		p.required(path.Child("hostPath", "path"), "say which path of the node")
	}
	if source.EmptyDir != nil && source.EmptyDir.SizeLimit != nil && source.EmptyDir.SizeLimit.Sign() < 0 {
		p.invalid(path.Child("emptyDir", "sizeLimit"), source.EmptyDir.SizeLimit.String(), "must be 0 or more")
	}
	p.diskSource(path, source)
	p.fileSource(path, source)
}

// diskSource checks the sources that come from a storage system.
func (p *problems) diskSource(path *field.Path, source *corev1.VolumeSource) {
	if source.PersistentVolumeClaim != nil && source.PersistentVolumeClaim.ClaimName == "" {
		p.required(path.Child("persistentVolumeClaim", "claimName"), "name the claim")
	}
	if source.CSI != nil && source.CSI.Driver == "" {
		p.required(path.Child("csi", "driver"), "name the driver")
	}
	if source.Ephemeral != nil && source.Ephemeral.VolumeClaimTemplate == nil {
		p.required(path.Child("ephemeral", "volumeClaimTemplate"), "say what claim to make")
	}
}

// fileSource checks the sources that put files of the API into a volume.
func (p *problems) fileSource(path *field.Path, source *corev1.VolumeSource) {
	if secret := source.Secret; secret != nil {
		if secret.SecretName == "" {
			p.required(path.Child("secret", "secretName"), "name the Secret")
		}
		p.fileMode(path.Child("secret", "defaultMode"), secret.DefaultMode)
		p.keys(path.Child("secret", "items"), secret.Items)
	}
	if config := source.ConfigMap; config != nil {
		if config.Name == "" {
			p.required(path.Child("configMap", "name"), "name the ConfigMap")
		}
		p.fileMode(path.Child("configMap", "defaultMode"), config.DefaultMode)
		p.keys(path.Child("configMap", "items"), config.Items)
	}
	if source.DownwardAPI != nil {
		p.fileMode(path.Child("downwardAPI", "defaultMode"), source.DownwardAPI.DefaultMode)
	}
	if source.Projected == nil {
		return
	}
	p.fileMode(path.Child("projected", "defaultMode"), source.Projected.DefaultMode)
	for i := range source.Projected.Sources {
		if setFields(source.Projected.Sources[i]) > 1 {
			p.forbidden(path.Child("projected", "sources").Index(i), "keep one kind and list the rest as other sources")
		}
	}
}

func (p *problems) keys(path *field.Path, items []corev1.KeyToPath) {
	for i := range items {
		if items[i].Key == "" {
			p.required(path.Index(i).Child("key"), "say which key of the object")
		}
		if items[i].Path == "" {
			p.required(path.Index(i).Child("path"), "say at which path in the volume")
		}
		p.descending(path.Index(i).Child("path"), items[i].Path)
		p.fileMode(path.Index(i).Child("mode"), items[i].Mode)
	}
}

func (p *problems) fileMode(path *field.Path, mode *int32) {
	if mode != nil {
		p.number(path, int64(*mode), 0, 0o777, "must be between 0000 and 0777 (octal)")
	}
}

// setFields counts the fields of a union of pointers that are set.
func setFields(union any) int {
	set := 0
	value := reflect.ValueOf(union)
	for i := range value.NumField() {
		if value.Field(i).Kind() == reflect.Pointer && !value.Field(i).IsNil() {
			set++
		}
	}
	return set
}
