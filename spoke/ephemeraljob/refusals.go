// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package ephemeraljob

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
)

const (
	// remembered bounds the jobs whose refusals are known; what is forgotten costs one more request a pod.
	remembered = 1024
	// aside is how long a pod is left alone that could not get the containers, soon is how soon the next ones get them
	// after one that refused.
	aside, soon = time.Minute, 100 * time.Millisecond
	// mostErrors ends a pass: where so many fail, it is not the pods.
	mostErrors = 10
)

// Refusals are the pods by UID that could not have a job's containers.
type Refusals map[types.UID]refusal

// refusal is final, or holds until some time.
type refusal struct {
	final bool
	until time.Time
}

// at is the state that a pod is in which has none of the containers, and how long until that is another.
func (r refusal) at(now time.Time) (state, time.Duration) {
	switch left := r.until.Sub(now); {
	case r.final:
		return failed, 0
	case left > 0 && !r.until.IsZero():
		return later, left
	default:
		return absent, 0
	}
}

// refusals are those of a job as it is now: a change of its spec may mend what was wrong. They may be added to.
func (r *Reconciler) refusals(job *v1alpha1.EphemeralJob) Refusals {
	type version struct {
		uid        types.UID
		generation int64
	}
	key := version{job.UID, job.Generation}
	if job.Status.CompletionTime != nil {
		r.refused.Remove(key)
		return nil
	}
	known, _ := r.refused.Get(key)
	list, ok := known.(Refusals)
	if !ok {
		list = Refusals{}
		r.refused.Add(key, list)
	}
	return list
}
