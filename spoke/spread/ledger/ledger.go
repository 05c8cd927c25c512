// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/spoke/books"
	"github.com/flotilla-sh/flotilla/spoke/spread"
)

// Ledger keeps the books. One serves a process.
type Ledger struct {
	// Live reads from the API server, Writer writes the status of WorkloadSpreads.
	Live   client.Reader
	Writer client.SubResourceWriter
	// FieldOwner of the writes.
	FieldOwner client.FieldOwner
	Clock      clock.Clock

	once  sync.Once
	books *books.Books[*appsv1beta1.WorkloadSpread]
}

// Subject is the pod that the books are asked about.
type Subject struct {
	// Version of the pod, Replicas of its workload; they count for percentages alone.
	Version  string
	Replicas int32
	// Key is the pod's name if it is Named, else what stands for it in the books. Admit alone reads them.
	Key   string
	Named bool
}

// Forget drops what is remembered of a WorkloadSpread that is gone.
func (l *Ledger) Forget(uid types.UID) { l.kept().Forget(uid) }

// Books are the newest books of a WorkloadSpread that this process knows of. They must not be changed.
func (l *Ledger) Books(seen *appsv1beta1.WorkloadSpread) *appsv1beta1.WorkloadSpreadStatus {
	return &l.kept().Freshest(seen).Status
}

// Admit finds a place for a new pod, and has it in the books when it returns. No place is told only by what the API
// server has. Errors are those of books, and of a quota that cannot be told.
func (l *Ledger) Admit(ctx context.Context, seen *appsv1beta1.WorkloadSpread, of Subject) (spread.Decision, error) {
	return l.write(ctx, seen, of, func(b spread.Books, _ *appsv1beta1.WorkloadSpread) (spread.Decision, error) {
		return b.Admit(of.Key, of.Named, l.Clock.Now()), nil
	})
}

// Release frees the place of a pod of that subset whose deletion is let through. Errors are as Admit's.
func (l *Ledger) Release(ctx context.Context, seen *appsv1beta1.WorkloadSpread, of Subject, pod *corev1.Pod, subset string) (spread.Decision, error) {
	return l.write(ctx, seen, of, func(b spread.Books, ws *appsv1beta1.WorkloadSpread) (spread.Decision, error) {
		quota, err := quotaOf(ws, subset, of.Replicas)
		if err != nil {
			return spread.Decision{}, err
		}
		return b.Release(pod, subset, quota, l.Clock.Now()), nil
	})
}

type decide func(b spread.Books, ws *appsv1beta1.WorkloadSpread) (spread.Decision, error)

func (l *Ledger) write(ctx context.Context, seen *appsv1beta1.WorkloadSpread, of Subject, decide decide) (spread.Decision, error) {
	var decision spread.Decision
	var problem error
	_, err := l.kept().Write(ctx, seen, func(ws *appsv1beta1.WorkloadSpread) (changed, surer bool) {
		var b spread.Books
		if b, problem = spread.Align(ws.Spec.Subsets, of.Replicas, ws.Status.VersionedSubsetStatuses[of.Version]); problem != nil {
			return false, false
		}
		if decision, problem = decide(b, ws); problem != nil {
			return false, false
		}
		if !decision.Booked {
			return false, decision.Subset == ""
		}
		if ws.Status.VersionedSubsetStatuses == nil {
			ws.Status.VersionedSubsetStatuses = map[string][]appsv1beta1.WorkloadSpreadSubsetStatus{}
		}
		ws.Status.VersionedSubsetStatuses[of.Version] = b
		return true, false
	})
	if err == nil {
		err = problem
	}
	if err != nil {
		return spread.Decision{}, err
	}
	return decision, nil
}

func quotaOf(ws *appsv1beta1.WorkloadSpread, subset string, replicas int32) (int32, error) {
	for i := range ws.Spec.Subsets {
		if ws.Spec.Subsets[i].Name == subset {
			return spread.Quota(ws.Spec.Subsets[i].MaxReplicas, replicas)
		}
	}
	return 0, nil
}

func (l *Ledger) kept() *books.Books[*appsv1beta1.WorkloadSpread] {
	l.once.Do(func() {
		l.books = &books.Books[*appsv1beta1.WorkloadSpread]{
			Live: l.Live, Writer: l.Writer, FieldOwner: l.FieldOwner, Clock: l.Clock,
			New: func() *appsv1beta1.WorkloadSpread { return &appsv1beta1.WorkloadSpread{} }, Patch: patchOf,
		}
	})
	return l.books
}

// patchOf makes the books what they should be, of the very version that was read.
func patchOf(before, after *appsv1beta1.WorkloadSpread) (client.Patch, error) {
	old := before.DeepCopy()
	next := before.DeepCopy()
	next.Status = after.Status
	patch := client.MergeFromWithOptions(old, client.MergeFromWithOptimisticLock{})
	body, err := patch.Data(next)
	return client.RawPatch(types.MergePatchType, body), err
}
