// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package podtemplate

import (
	corev1 "k8s.io/api/core/v1"
)

// DefaultContainer fills the defaults of one container as Kubernetes does, its pull policy by its tag.
func DefaultContainer(container *corev1.Container) {
	if container != nil {
		defaultContainer(container)
	}
}

// DefaultVolume fills the defaults of one volume; one that says nothing is an emptyDir.
func DefaultVolume(volume *corev1.Volume) {
	if volume != nil {
		defaultVolume(&volume.VolumeSource)
	}
}
