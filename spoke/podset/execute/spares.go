// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// spares remembers claims that were made for pods which were then refused, per workload. Without it each
// attempt would make claims which the next pass deletes, and the claims' events would undo the
// back-off. Losing it costs one more round of claims. It is safe for concurrent use.
type spares struct {
	mu  sync.Mutex
	set map[types.UID]map[types.UID]bool
}

func (s *spares) keep(owner types.UID, claims []*corev1.PersistentVolumeClaim) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, claim := range claims {
		if claim.UID == "" {
			continue // there before: not made for this pod
		}
		if s.set == nil {
			s.set = map[types.UID]map[types.UID]bool{}
		}
		if s.set[owner] == nil {
			s.set[owner] = map[types.UID]bool{}
		}
		s.set[owner][claim.UID] = true
	}
}

// Spare says whether the claim was made for a pod that was refused, and has been in no other's use: it
// is to be used by the next attempt.
func (e *Executor) Spare(owner client.Object, claim *corev1.PersistentVolumeClaim) bool {
	e.spares.mu.Lock()
	defer e.spares.mu.Unlock()
	return e.spares.set[owner.GetUID()][claim.UID]
}

// Used notes that a pod has the claim: it is no spare one any more.
func (e *Executor) Used(owner client.Object, claim *corev1.PersistentVolumeClaim) {
	e.spares.mu.Lock()
	defer e.spares.mu.Unlock()
	delete(e.spares.set[owner.GetUID()], claim.UID)
}

// DropSpares forgets the spare claims of a workload and says whether there were any.
func (e *Executor) DropSpares(owner client.Object) bool {
	e.spares.mu.Lock()
	defer e.spares.mu.Unlock()
	_, had := e.spares.set[owner.GetUID()]
	delete(e.spares.set, owner.GetUID())
	return had
}
