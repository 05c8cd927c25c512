// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package nodeimage

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/events"
)

// failureEvents tell each job and the node of tags that were given up.
func failureEvents(obj *appsv1beta1.NodeImage, failures []Failure) []events.Event {
	var out []events.Event
	for _, f := range failures {
		note := fmt.Sprintf("Failed to pull image %s on node %s for %s", appsv1beta1.ImageReference(f.Image, f.Tag), obj.Name, f.Message)
		for _, o := range f.Owners {
			e := events.Warning(ownerOf(o), appsv1beta1.PullImageFailedReason, "PullImage", note)
			e.Related = obj // else events of all nodes count as one, with the first node's note
			out = append(out, e)
		}
		node := ownerOf(corev1.ObjectReference{APIVersion: appsv1beta1.SchemeGroupVersion.String(), Kind: "NodeImage", Name: obj.Name, UID: obj.UID})
		out = append(out, events.Warning(node, appsv1beta1.PullImageFailedReason, "PullImage", note).Of("spec.images{"+appsv1beta1.ImageReference(f.Image, f.Tag)+"}"))
	}
	return out
}

func ownerOf(o corev1.ObjectReference) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: o.APIVersion, Kind: o.Kind},
		ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name, UID: o.UID},
	}
}
