// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package imagepulljob has nodes pull an image: it writes into their NodeImages what to pull, so many nodes at once as
// the job's parallelism says, and counts in the job's status how far they are.
//
// It promises:
//   - One write per node for a job, and at most one status write a second.
//   - Pull secrets are copied into the namespace that node agents read, once for all jobs that use the same Secret; the
//     copy follows its source and goes with the last job that needs it.
//   - Only the jobs that a change concerns are woken.
//   - Where several jobs pull one tag, the most patient of those under way decides its time-out, retries and deadline. A
//     changed time-out, and a pull secret that comes late, reach the nodes that pull.
//
// States of a job:
//
//	running    nodes are served in the order of their names  -> completed when every node has an end, or at the deadline
//	completed  its secrets are given back                     -> deleted after its time, if it has one
//
// A job that an ImageListPullJob made goes with that list and not after its own time. A job of type Never is never
// completed: nodes that come later are served as well.
package imagepulljob
