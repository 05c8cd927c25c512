// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package inplace

import (
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
)

// remembered bounds how many comparisons a Differ keeps.
const remembered = 1024

// Differ is Diff with a memory: many pods make the same step. It is safe for concurrent use.
type Differ struct {
	Options Options

	mu   sync.Mutex
	seen map[step]Verdict
}

type step struct {
	from, to types.UID
	// claims can change on a revision that exists.
	fromClaims, toClaims string
}

// Diff compares two revisions. The verdict is shared: copy it before changing it.
func (d *Differ) Diff(from, to *appsv1.ControllerRevision) Verdict {
	if from == nil || to == nil || from.UID == "" || to.UID == "" {
		return Diff(from, to, d.Options)
	}
	key := step{from.UID, to.UID, from.Annotations[claimHashKey], to.Annotations[claimHashKey]}
	d.mu.Lock()
	defer d.mu.Unlock()
	if verdict, ok := d.seen[key]; ok {
		return verdict
	}
	if d.seen == nil || len(d.seen) >= remembered {
		d.seen = map[step]Verdict{}
	}
	verdict := Diff(from, to, d.Options)
	d.seen[key] = verdict
	return verdict
}
