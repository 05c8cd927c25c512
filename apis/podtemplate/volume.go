// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package podtemplate

import (
	corev1 "k8s.io/api/core/v1"
)

// fileMode is the mode of files in volumes that hold files of the API.
const fileMode int32 = 0o644

// defaultVolume fills the defaults of one volume; a volume that says nothing is an emptyDir.
func defaultVolume(source *corev1.VolumeSource) {
	if *source == (corev1.VolumeSource{}) {
		source.EmptyDir = &corev1.EmptyDirVolumeSource{}
	}
	defaultFileVolume(source)
	defaultDiskVolume(source)
	if source.HostPath != nil {
		point(&source.HostPath.Type, corev1.HostPathUnset)
	}
	if source.Ephemeral != nil && source.Ephemeral.VolumeClaimTemplate != nil {
		defaultClaimSpec(&source.Ephemeral.VolumeClaimTemplate.Spec)
	}
}

// defaultFileVolume fills volumes that hold files of the API.
func defaultFileVolume(source *corev1.VolumeSource) {
	if source.Secret != nil {
		point(&source.Secret.DefaultMode, fileMode)
	}
	if source.ConfigMap != nil {
		point(&source.ConfigMap.DefaultMode, fileMode)
	}
	if source.DownwardAPI != nil {
		point(&source.DownwardAPI.DefaultMode, fileMode)
		defaultDownwardFiles(source.DownwardAPI.Items)
	}
	if source.Projected == nil {
		return
	}
	point(&source.Projected.DefaultMode, fileMode)
	for i := range source.Projected.Sources {
		projection := &source.Projected.Sources[i]
		if projection.DownwardAPI != nil {
			defaultDownwardFiles(projection.DownwardAPI.Items)
		}
		if projection.ServiceAccountToken != nil {
			point(&projection.ServiceAccountToken.ExpirationSeconds, 60*60)
		}
	}
}

func defaultDownwardFiles(items []corev1.DownwardAPIVolumeFile) {
	for i := range items {
		defaultFieldRef(items[i].FieldRef)
	}
}

// defaultDiskVolume fills volumes of storage systems.
func defaultDiskVolume(source *corev1.VolumeSource) {
	if source.ISCSI != nil {
		fill(&source.ISCSI.ISCSIInterface, "default")
	}
	if source.RBD != nil {
		fill(&source.RBD.RBDPool, "rbd")
		fill(&source.RBD.RadosUser, "admin")
		fill(&source.RBD.Keyring, "/etc/ceph/keyring")
	}
	if source.AzureDisk != nil {
		point(&source.AzureDisk.CachingMode, corev1.AzureDataDiskCachingReadWrite)
		point(&source.AzureDisk.FSType, "ext4")
		point(&source.AzureDisk.ReadOnly, false)
		point(&source.AzureDisk.Kind, corev1.AzureSharedBlobDisk)
	}
	if source.ScaleIO != nil {
		fill(&source.ScaleIO.StorageMode, "ThinProvisioned")
		fill(&source.ScaleIO.FSType, "xfs")
	}
}
