// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cloneset runs CloneSets: equal pods with random names, updated in place or by recreation.
//
// One pass of the reconciler:
//
//	gather     pods, claims and revisions from the cache, brought up to our own last writes
//	claims     claims of vanished pods are handed on, kept or deleted; those of deleted pods go
//	revision   the ControllerRevision of the template is found or made
//	execute    podset plans (scale, refresh, update), budgets are asked about updates, and execute writes
//	status     counters and conditions, one patch, only on change
//	tidy       names trimmed from podsToDelete, old revisions deleted
//
// What it promises:
//   - never fewer than replicas-maxUnavailable available pods by its own doing, never more than
//     replicas+maxSurge pods, and no pod of a revision nobody asked for;
//   - no write at rest; counters alone are written in steps, some twenty for a whole rollout;
//   - while something is waited for, condition Waiting says what, and which pods;
//   - FailedScale and FailedUpdate go away with the first pass that succeeds;
//   - it may be killed between any two writes: the next process goes on, nothing is made twice, and no
//     claim of a pod that the set deleted stays behind or is taken for that of a vanished one;
//   - at most three Failed or Succeeded pods are kept to be looked at.
//
// It defaults what it reads: objects stored before the webhook ran work the same.
package cloneset
