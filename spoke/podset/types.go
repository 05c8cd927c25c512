// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package podset

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/podpatch"
	"github.com/flotilla-sh/flotilla/spoke/inplace"
	"github.com/flotilla-sh/flotilla/spoke/rollout"
)

// Snapshot is what was seen of one workload. Nothing in it is changed.
type Snapshot struct {
	Now time.Time
	// Pods the workload controls, also finished and terminating ones, sorted by name.
	Pods []*corev1.Pod
	// Update is the revision of the present template, Current the last one rolled out in full.
	Update, Current *appsv1.ControllerRevision
	// Revisions are all that are known.
	Revisions []*appsv1.ControllerRevision
	// NodeLabels returns a node's labels; nil when nodes do not matter.
	NodeLabels func(node string) (map[string]string, bool)
}

// Policy says how a pod gets another revision.
type Policy int

const (
	// Recreate replaces the pod.
	Recreate Policy = iota
	// InPlaceIfPossible updates in place, or replaces where that cannot be.
	InPlaceIfPossible
	// InPlaceOnly never replaces.
	InPlaceOnly
)

// Rules is what a workload asks for.
type Rules struct {
	// Members says who should exist and who moves next.
	Members Members
	// Lifecycle hooks, may be nil.
	Lifecycle *appsv1beta1.Lifecycle
	// NormalAtOnce lets new pods become Normal before they are scheduled.
	NormalAtOnce bool
	// MinReady is how long a pod is ready before it is available.
	MinReady time.Duration
	// Update says how a pod is updated.
	Update UpdateRules
	// RevisionLabels returns the labels that mark a pod of a revision.
	RevisionLabels func(*appsv1.ControllerRevision) map[string]string
	// KeepFinished is how many Failed and Succeeded pods are kept, newest first; negative: all.
	KeepFinished int
	// DropFinished are names of Failed and Succeeded pods to delete whatever KeepFinished says, beside those labelled so.
	DropFinished []string
}

// UpdateRules say how a pod is updated.
type UpdateRules struct {
	Policy Policy
	// Hold, when not nil, keeps updates from starting and says why. Those under way go on.
	Hold *Wait
	// OnDelete says that pods are never updated, only replaced when somebody deletes them.
	OnDelete bool
	// ReplaceFirst says that a pod to recreate stays until its replacement runs, as far as the surge lets it.
	ReplaceFirst bool
	// GraceSeconds between closing a pod's gate and changing its containers.
	GraceSeconds int32
	// Differ compares revisions; nil means that nothing is possible in place.
	Differ Differ
}

// Differ says whether a pod can go from one revision to another in place. inplace.Differ does it for
// pod templates.
type Differ interface {
	Diff(from, to *appsv1.ControllerRevision) inplace.Verdict
}

// Members is what differs between kinds of workloads.
type Members interface {
	// Scale says who is missing and who is too many.
	Scale(v *View) Scale
	// Select says which pods should move to another revision now.
	Select(v *View) Selection
}

// View is a snapshot with its pods judged.
type View struct {
	*Snapshot
	Rules *Rules
	// Active are the pods that run or will run, in the snapshot's order.
	Active []rollout.Pod
	// Terminating and Finished are the others.
	Terminating, Finished []*corev1.Pod
}

// Scale is a kind's answer to who should exist.
type Scale struct {
	Create []Create
	// Remove are indexes into View.Active.
	Remove []Removal
	// Revive are pods whose deletion is called off.
	Revive []int
	Waits  []Wait
}

// Removal takes a pod away, through its preDelete hook.
type Removal struct {
	At     int
	Reason string
}

// Selection is a kind's answer to who moves to which revision.
type Selection struct {
	// Wanted are all that should move sooner or later, as indexes into View.Active; Take are those
	// that may move now, in order.
	Wanted, Take []int
	// Unknown says that it could not be decided who should move.
	Unknown bool
	// Target is the revision they move to; nil when none is wanted.
	Target *appsv1.ControllerRevision
	Waits  []Wait
}

// Plan is what one pass does.
type Plan struct {
	Create []Create
	Delete []Delete
	Change []Change
	// Starts are the pods whose update is started or prepared, in the order in which they were selected.
	Starts []*corev1.Pod
	// Waits say what is not done yet and why.
	Waits []Wait
}

// Empty says whether the plan writes nothing.
func (p *Plan) Empty() bool { return len(p.Create)+len(p.Delete)+len(p.Change) == 0 }

// Create makes one pod.
type Create struct {
	Revision *appsv1.ControllerRevision
	// Slot is the pod's place (ordinal, node); empty for anonymous pods.
	Slot   string
	Reason string
}

// Delete removes one pod, and its claims unless they are kept.
type Delete struct {
	Pod        *corev1.Pod
	KeepClaims bool
	// ForUpdate says that its replacement will be of another revision.
	ForUpdate bool
	Reason    string
}

// ChangeKind says what a change is for.
type ChangeKind int

const (
	// Refresh moves an update or a lifecycle step on.
	Refresh ChangeKind = iota
	// UpdateInPlace starts an in-place update.
	UpdateInPlace
	// PrepareUpdate puts a pod into PreparingUpdate because its hook is held.
	PrepareUpdate
	// MarkForRecreate labels a pod so that the next passes replace it, where it cannot be deleted at once.
	MarkForRecreate
	// PrepareDelete puts a pod into PreparingDelete because its hook is held.
	PrepareDelete
	// Revive calls a deletion off.
	Revive
)

// Change patches one pod, by one write after the other.
type Change struct {
	Kind   ChangeKind
	Pod    *corev1.Pod
	Writes []Write
	// Revision the pod moves to, for updates.
	Revision string
	Reason   string
}

// Write is one patch and the version of the pod it is meant for.
type Write struct {
	Patch podpatch.Patch
	Only  Only
}

// Only says for which version of the pod a write holds.
type Only int

const (
	// SameContent allows any version whose spec, labels, annotations and finalizers are those planned on.
	SameContent Only = iota
	// SameVersion allows only the very version planned on.
	SameVersion
	// SamePod allows every version.
	SamePod
)
