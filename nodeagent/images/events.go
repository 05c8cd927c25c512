// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/conditions"
	"github.com/flotilla-sh/flotilla/internal/events"
)

const (
	// longest is how long messages in a status and notes of events may be, in bytes.
	longest = 1000
	action  = "PullImage"
)

func short(words string) string { return conditions.Cut(words, longest) }

func nodeImage(node string) client.Object {
	return &v1beta1.NodeImage{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1beta1.SchemeGroupVersion.String(), Kind: "NodeImage"},
		ObjectMeta: metav1.ObjectMeta{Name: node, UID: types.UID(node)},
	}
}

// pathOf is the tag's place in the NodeImage.
func pathOf(order Order) string { return "spec.images{" + order.String() + "}" }

// succeeded is the event of a tag that was pulled, with the word by which others find it.
func succeeded(node string, order Order, took time.Duration) events.Event {
	note := fmt.Sprintf("Image %s, ecalpsedTime %s", order, took.Round(time.Millisecond))
	return events.Normal(nodeImage(node), v1beta1.PullImageSucceedReason, action, note).Of(pathOf(order))
}

// failed are the events of a tag that was given up: one for each job, one for the node.
func failed(node string, order Order, err error) []events.Event {
	note := short(fmt.Sprintf("Image %s %v", order, err))
	var out []events.Event
	for _, o := range order.Owners {
		owner := &metav1.PartialObjectMetadata{
			TypeMeta:   metav1.TypeMeta{APIVersion: o.APIVersion, Kind: o.Kind},
			ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name, UID: o.UID},
		}
		out = append(out, events.Warning(owner, v1beta1.PullImageFailedReason, action, note))
	}
	return append(out, events.Warning(nodeImage(node), v1beta1.PullImageFailedReason, action, note).Of(pathOf(order)))
}
