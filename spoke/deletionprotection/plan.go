// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package deletionprotection

import (
	"fmt"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// The values of the label that mean something.
const (
	always    = "Always"
	cascading = "Cascading"
)

// cascade says what value Cascading looks at.
type cascade int

const (
	// nothing: Cascading means nothing for the kind.
	nothing cascade = iota
	// content of a namespace: pods and claims.
	content
	// instances of a definition.
	instances
	// replicas that are asked for.
	replicas
)

// protected is a kind that can be protected.
type protected struct {
	// path of its webhook.
	path string
	// kind as log and metrics call it.
	kind    string
	cascade cascade
}

// kinds are all that can be protected.
var kinds = []protected{
	{"/validate-namespace", "Namespace", content},
	{"/validate-customresourcedefinition", "CustomResourceDefinition", instances},
	{"/validate-apps-deployment", "Deployment", replicas},
	{"/validate-apps-replicaset", "ReplicaSet", replicas},
	{"/validate-apps-statefulset", "StatefulSet", replicas},
	{"/validate-deletion-apps-kruise-io-cloneset", "CloneSet", replicas},
	{"/validate-deletion-apps-kruise-io-statefulset", "StatefulSet", replicas},
	{"/validate-deletion-apps-kruise-io-uniteddeployment", "UnitedDeployment", replicas},
	{"/validate-service", "Service", nothing},
	{"/validate-ingress", "Ingress", nothing},
}

// step is what comes of a label.
type step int

const (
	pass step = iota
	refuse
	// look: it depends on what there is.
	look
)

// next decides as far as the label tells.
func next(value string, deleting bool, on cascade) step {
	switch {
	case deleting:
		return pass
	case value == always:
		return refuse
	case value == cascading && on != nothing:
		return look
	default:
		return pass
	}
}

// finding is what there is of something.
type finding struct {
	// one and many are what it is called.
	one, many string
	count     int
	// more: there may be others, which nobody counted.
	more bool
}

func (f finding) String() string {
	what, least := f.many, ""
	if f.count == 1 {
		what = f.one
	}
	if f.more {
		least = "at least "
	}
	return fmt.Sprintf("%s%d %s", least, f.count, what)
}

// judge is what a user whose object is looked at is told, "" where it may go: nothing was found, and all was seen.
func judge(value string, found finding, lookup error) string {
	switch {
	case found.count > 0:
		return refusal(value, ": "+found.String())
	case lookup != nil:
		return refusal(value, ": "+lookup.Error())
	default:
		return ""
	}
}

// refusal is what users are told, and programs match the beginning of.
func refusal(value, because string) string {
	return fmt.Sprintf("forbidden by ResourcesProtectionDeletion for %s=%s%s", appsv1beta1.DeleteProtectionKey, value, because)
}
