// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ControllerUIDIndex is the cache index of objects by the uid of their controller. Register it with
// IndexByController.
const ControllerUIDIndex = ".metadata.controllerUID"

// ControllerOf returns the controller reference of the object when it is of that group and kind, in
// any version; else nil.
func ControllerOf(obj metav1.Object, gk schema.GroupKind) *metav1.OwnerReference {
	ref := metav1.GetControllerOfNoCopy(obj)
	if ref == nil || ref.Kind != gk.Kind {
		return nil
	}
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil || gv.Group != gk.Group {
		return nil
	}
	return ref
}

// IsControlledBy tells whether the object's controller has that uid.
func IsControlledBy(obj metav1.Object, uid types.UID) bool {
	ref := metav1.GetControllerOfNoCopy(obj)
	return ref != nil && ref.UID == uid
}

// IndexByController is the index function of ControllerUIDIndex.
func IndexByController(obj client.Object) []string {
	ref := metav1.GetControllerOfNoCopy(obj)
	if ref == nil {
		return nil
	}
	return []string{string(ref.UID)}
}
