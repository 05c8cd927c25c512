// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleetplacement

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/hub/share"
)

// Divider knows how objects of some kinds are divided over clusters. It is pure.
type Divider interface {
	// Divide makes the plan. An error of type share.Problem says that the object cannot be divided as
	// it is; members then keep what they have.
	Divide(share.Request) (share.Plan, error)
	// Status makes the object's status from what the members report; nil leaves it as it is.
	Status(target *unstructured.Unstructured, s share.Summary) (map[string]any, error)
}

// Companion is a divider that goes by a second object beside the target, and makes the status of that too.
type Companion interface {
	Divider
	// Companion returns that object, which must not be changed, and its new status.
	Companion(share.Summary) (*unstructured.Unstructured, map[string]any, error)
}

// Dividers finds the divider of a kind.
type Dividers interface {
	// For returns the divider and a name for it in metrics, or why there is none: a sentence that says
	// which kinds there are dividers for.
	For(gk schema.GroupKind, mode fleetv1alpha1.DivisionMode) (d Divider, name, whyNot string)
}
