// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ephemeraljob is the controller of EphemeralJobs: it puts ephemeral containers into pods that run, a few
// pods at a time, and tells how they end.
//
// It promises:
//   - A pod gets a job's containers once. What cannot be undone, since no API takes an ephemeral container out of a
//     pod, is done only to pods that are selected, active, and within replicas and parallelism; an existing container
//     of the same name is never touched: its pod is left to whoever made it.
//   - A job ends when nothing is under way in any of its pods: Succeeded when all went well, Failed otherwise. It is
//     removed ttlSecondsAfterFinished later.
//   - A pod that refuses the containers for good counts as failed; one that cannot get them for another reason is tried
//     again a minute later. Neither holds up others.
//   - No finalizer: there is nothing to clean up. One that OpenKruise put on is taken off at deletion.
//   - One write a pod, status writes only when something changed, none at rest.
//
// Phases, in the order in which they are looked for; the last three end the job:
//
//	no container in the template                         Error
//	paused                                               Paused
//	no pod selected                                      Waiting    condition MatchedEmpty
//	every pod succeeded                                  Succeeded  condition JobSucceeded
//	every pod succeeded or failed, or the deadline       Failed     condition JobFailed
//	a container runs                                     Running
//	containers wait in every pod                         Waiting
//	otherwise                                            Unknown
package ephemeraljob
