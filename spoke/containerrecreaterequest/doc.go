// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package containerrecreaterequest is the spoke's half of ContainerRecreateRequests; the agent of the pod's node stops
// the containers. The spoke keeps the pod not ready beforehand where that is asked for, tells the agent how the new
// instances are, ends requests that cannot go on, and cleans up after those that have ended.
//
// It promises:
//   - A request that has ended, or is deleted, holds no pod unready and is no longer watched by any agent.
//   - Only the pod that the request was made for, by UID, is ever held.
//   - Condition PreRecreateGrace is written once: the grace period does not begin anew.
//   - What counts as a new instance is told by its ID and restart count, not by clocks (CR-03).
//   - Zero writes at rest.
//
// What is done, the first line that holds (MakePlan):
//
//	deleted or Completed                                      give the pod back and take the finalizer off; then take label
//	                                                          active off; then, ttlSecondsAfterFinished later, delete
//	the pod is gone, going, or another one                    Completed: pod has gone
//	the pod has ended, and so have the containers             Completed: pod has ended
//	no agent has seen it for a minute                         Completed: daemon has not responded for a long time
//	activeDeadlineSeconds are over                            Completed: recreating has exceeded the activeDeadlineSeconds
//	Recreating                                                hold the pod unready, if asked for; tell the new instances
//	otherwise                                                 wait for the agent
package containerrecreaterequest
