// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-sh/flotilla/internal/podpatch"
	"github.com/flotilla-sh/flotilla/spoke/podset"
)

// maxRetries bounds how often one patch is repeated because the pod's status moved in between.
const maxRetries = 5

// Executor writes pods and claims. One serves all workloads of a controller.
type Executor struct {
	Client client.Client
	// Live reads from the API server.
	Live client.Reader
	// FieldOwner of the writes.
	FieldOwner client.FieldOwner
	// Expectations of the workloads.
	Expectations *Expectations
	Now          func() time.Time
	// Lagged, when set, is told that the cache was behind for longer than Patience.
	Lagged func(owner client.Object)

	spares spares
}

// Builder makes the objects of one creation.
type Builder interface {
	// Build returns the pod and the claims that must exist before it.
	Build(podset.Create) (*corev1.Pod, []*corev1.PersistentVolumeClaim, error)
	// Claims returns the claims that go when the pod is deleted.
	Claims(*corev1.Pod) []*corev1.PersistentVolumeClaim
	// ReusesClaims says whether claims outlive pods that vanish: those that do not are marked first.
	ReusesClaims() bool
}

// Fact is one thing that happened, or failed to.
type Fact struct {
	Kind FactKind
	// Pod concerned; on a failed creation it may be nil.
	Pod *corev1.Pod
	// Change that was made, for Changed.
	Change *podset.Change
	// ForUpdate says of a deletion that the replacement will be of another revision.
	ForUpdate bool
	// Reason of the plan.
	Reason string
	// Err is nil when it worked.
	Err error
}

// FactKind tells facts apart.
type FactKind int

// The kinds of facts.
const (
	Created FactKind = iota
	Deleted
	Changed
	ClaimFailed
)

// Outcome is what became of a plan.
type Outcome struct {
	Facts []Fact
}

// Err joins the errors. Lost races are left out: the next pass sees what won. So are creations in
// vain: trying again makes no difference; and deletions that were refused: Refused tells of them.
func (o *Outcome) Err() error {
	var errs []error
	for i := range o.Facts {
		if f := &o.Facts[i]; f.Err != nil && !f.Raced() && !f.InVain() && !f.Refused() {
			errs = append(errs, f.Err)
		}
	}
	return errors.Join(errs...)
}

// Raced says whether anything was lost to another writer, so that a pass soon is worth it.
func (o *Outcome) Raced() bool {
	for i := range o.Facts {
		if o.Facts[i].Raced() {
			return true
		}
	}
	return false
}

// Refused says whether a deletion was refused, so that it is to be tried again after a while that does not grow.
func (o *Outcome) Refused() bool {
	for i := range o.Facts {
		if o.Facts[i].Refused() {
			return true
		}
	}
	return false
}

// Raced says whether the fact failed because somebody else was faster: the pod changed or is gone.
func (f *Fact) Raced() bool {
	return f.Kind != Created && (apierrors.IsConflict(f.Err) || apierrors.IsNotFound(f.Err))
}

// InVain says whether the fact failed because the namespace is being deleted: nothing can be made in it
// any more, and the workload goes with it.
func (f *Fact) InVain() bool {
	return apierrors.HasStatusCause(f.Err, corev1.NamespaceTerminatingCause)
}

// Refused says whether the fact is a deletion that was not let through: by a PodUnavailableBudget that is spent, as a
// rule, which no event of the workload tells the end of.
func (f *Fact) Refused() bool { return f.Kind == Deleted && apierrors.IsForbidden(f.Err) }

// Execute carries the plan out. Creations are in slow start: 1, 2, 4, … at once, and a batch with a
// failure is the last. Every write is tried; failures are facts.
func (e *Executor) Execute(ctx context.Context, owner client.Object, plan *podset.Plan, b Builder) Outcome {
	var out Outcome
	out.Facts = append(out.Facts, e.create(ctx, owner, plan.Create, b)...)
	out.Facts = append(out.Facts, parallel(len(plan.Delete), func(i int) []Fact {
		return e.delete(ctx, owner, &plan.Delete[i], b)
	})...)
	out.Facts = append(out.Facts, parallel(len(plan.Change), func(i int) []Fact {
		change := &plan.Change[i]
		err := e.change(ctx, owner, change)
		return []Fact{{Kind: Changed, Pod: change.Pod, Change: change, Reason: change.Reason, Err: err}}
	})...)
	return out
}

// change sends the writes of one change. What differs after one of them beside the status and what was written
// was changed by somebody else, and the rest must be planned anew.
func (e *Executor) change(ctx context.Context, owner client.Object, change *podset.Change) error {
	pod := change.Pod
	if err := e.tryResize(ctx, change); err != nil {
		return fmt.Errorf("resize pod %s: %w", pod.Name, err)
	}
	for i := range change.Writes {
		write := &change.Writes[i]
		after, err := e.patch(ctx, pod, write)
		if err != nil {
			return fmt.Errorf("patch pod %s: %w", pod.Name, err)
		}
		e.Expectations.Patched(owner.GetUID(), after, e.Now())
		if i+1 < len(change.Writes) && !onlyStatusDiffers(written(pod, &write.Patch), after) {
			return fmt.Errorf("pod %s: %w", pod.Name, errChanged)
		}
		pod = after
	}
	return nil
}

// tryResize asks the API server whether it would resize the pod, where something else is written before: a pod that
// cannot be resized must not be taken out of service for it.
func (e *Executor) tryResize(ctx context.Context, change *podset.Change) error {
	for i := 1; i < len(change.Writes); i++ {
		if patch := &change.Writes[i].Patch; patch.OnResize() {
			_, err := e.resize(ctx, change.Pod, patch, "", client.DryRunAll)
			return err
		}
	}
	return nil
}

// written is the pod as a write should leave it.
func written(pod *corev1.Pod, patch *podpatch.Patch) *corev1.Pod {
	out := *pod // ApplyTo changes copies of what it changes
	patch.ApplyTo(&out)
	return &out
}

// errChanged is a conflict found by looking.
var errChanged = apierrors.NewConflict(corev1.Resource("pods"), "", errors.New("it was changed since it was planned on"))

// patch sends one write. A conflict is tried again at the pod's new version when the write allows
// it and nothing but the status changed.
func (e *Executor) patch(ctx context.Context, pod *corev1.Pod, write *podset.Write) (*corev1.Pod, error) {
	version := pod.ResourceVersion
	if write.Only == podset.SamePod {
		version = ""
	}
	for try := 0; ; try++ {
		after, err := e.send(ctx, pod, &write.Patch, version)
		if err == nil {
			return after, nil
		}
		if !apierrors.IsConflict(err) || write.Only != podset.SameContent || try >= maxRetries {
			return nil, err
		}
		var live corev1.Pod
		if getErr := e.Live.Get(ctx, client.ObjectKeyFromObject(pod), &live); getErr != nil {
			return nil, getErr
		}
		if !onlyStatusDiffers(pod, &live) {
			return nil, err
		}
		version = live.ResourceVersion
	}
}

func onlyStatusDiffers(a, b *corev1.Pod) bool {
	return a.UID == b.UID && (b.DeletionTimestamp == nil) == (a.DeletionTimestamp == nil) &&
		equality.Semantic.DeepEqual(a.Labels, b.Labels) &&
		equality.Semantic.DeepEqual(a.Annotations, b.Annotations) &&
		equality.Semantic.DeepEqual(a.Finalizers, b.Finalizers) &&
		equality.Semantic.DeepEqual(a.Spec, b.Spec)
}

func (e *Executor) send(ctx context.Context, pod *corev1.Pod, patch *podpatch.Patch, version string) (*corev1.Pod, error) {
	if patch.OnResize() {
		return e.resize(ctx, pod, patch, version)
	}
	after, raw, err := request(pod, patch, version)
	switch {
	case err != nil:
		return nil, err
	case patch.OnStatus():
		return after, e.Client.Status().Patch(ctx, after, raw, e.FieldOwner, client.DisableReadYourWritesConsistency)
	default:
		return after, e.Client.Patch(ctx, after, raw, e.FieldOwner, client.DisableReadYourWritesConsistency)
	}
}

func (e *Executor) resize(ctx context.Context, pod *corev1.Pod, patch *podpatch.Patch, version string, options ...client.SubResourcePatchOption) (*corev1.Pod, error) {
	after, raw, err := request(pod, patch, version)
	if err != nil {
		return nil, err
	}
	options = append(options, e.FieldOwner, client.DisableReadYourWritesConsistency)
	return after, e.Client.SubResource("resize").Patch(ctx, after, raw, options...)
}

// request is what to send for a patch of a pod, and where the answer goes.
func request(pod *corev1.Pod, patch *podpatch.Patch, version string) (*corev1.Pod, client.Patch, error) {
	body, err := patch.JSON(pod.UID, version)
	if err != nil {
		return nil, nil, err
	}
	after := &corev1.Pod{}
	after.Namespace, after.Name, after.UID = pod.Namespace, pod.Name, pod.UID
	return after, client.RawPatch(types.StrategicMergePatchType, body), nil
}

func (e *Executor) delete(ctx context.Context, owner client.Object, d *podset.Delete, b Builder) []Fact {
	var claims []*corev1.PersistentVolumeClaim
	if !d.KeepClaims {
		claims = b.Claims(d.Pod)
	}
	if b.ReusesClaims() {
		for _, claim := range claims {
			if err := e.MarkClaim(ctx, owner, claim, d.Pod.UID); err != nil {
				return []Fact{{Kind: ClaimFailed, Pod: d.Pod, Err: err}}
			}
		}
	}
	err := e.Client.Delete(ctx, d.Pod, client.Preconditions{UID: &d.Pod.UID}, client.DisableReadYourWritesConsistency)
	if err != nil {
		return []Fact{{Kind: Deleted, Pod: d.Pod, ForUpdate: d.ForUpdate, Reason: d.Reason, Err: fmt.Errorf("delete pod %s: %w", d.Pod.Name, err)}}
	}
	e.Expectations.Deleted(owner.GetUID(), d.Pod, e.Now())
	facts := []Fact{{Kind: Deleted, Pod: d.Pod, ForUpdate: d.ForUpdate, Reason: d.Reason}}
	for _, claim := range claims {
		if err := e.DeleteClaim(ctx, owner, claim); err != nil {
			facts = append(facts, Fact{Kind: ClaimFailed, Pod: d.Pod, Err: err})
		}
	}
	return facts
}

// DeleteClaim deletes a claim by uid; one that is gone is fine.
func (e *Executor) DeleteClaim(ctx context.Context, owner client.Object, claim *corev1.PersistentVolumeClaim) error {
	err := e.Client.Delete(ctx, claim, client.Preconditions{UID: &claim.UID}, client.DisableReadYourWritesConsistency)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete claim %s: %w", claim.Name, err)
	}
	e.Expectations.Deleted(owner.GetUID(), claim, e.Now())
	return nil
}
