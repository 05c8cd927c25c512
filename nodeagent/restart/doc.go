// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package restart carries out the ContainerRecreateRequests for pods of its node: it ends the containers that a request
// names, in its order, and tells how far each is. The kubelet starts them anew; the spoke does the rest.
//
// It promises:
//   - A request can do nothing beyond its pod. The pod is looked up by namespace and name among those of this node and
//     must have the UID of the request's label; instances are found by the runtime's own labels of that pod, never by an
//     ID that a request names; preStop hooks are those of the pod's spec, not of the request.
//   - One request of a pod at a time: the one under way, else the oldest. The others are Pending, and the next begins when
//     the one before has ended or is deleted (CR-01). They are so at once, however long a container takes to end.
//   - Of one pod one container is stopped at a time. Stops hold no worker: one that takes hours keeps nobody else waiting.
//     Those of a pod that is gone are given up: requests for another of its name do not wait for them.
//   - Of one container one instance is stopped for one request, also when the agent is killed in the middle.
//   - Whether a container was restarted is told by its instance and its restart count, not by times (CR-03).
//   - Without a runtime nothing is done or written; the work goes on when it is back.
//
// State of one container, the first line that holds (next):
//
//	it Succeeded or Failed                                        stays
//	the runtime has no instance of it                             Pending     "not found container on Node"
//	the newest has ended, forceRecreate, not stopped by us, and
//	the kubelet says that the container waits                     Failed      there is nothing to stop (CR-04)
//	the newest has ended                                          Recreating
//	the newest is made and does not run yet, forceRecreate, and
//	none was stopped yet                                          Pending     "the container has not started yet"
//	forceRecreate, and none was stopped yet                       Pending
//	the newest is another than the request's, or a later one      Recreating, Succeeded when ready for long enough
//	otherwise                                                     Pending
//
// States that changed are written first. Then the containers are walked through in order: Pending ones are stopped, one
// a pass, as soon as they run; Recreating ones are waited for where the request wants order; a Failed one ends the request unless its policy
// is Ignore; when all are Succeeded or Failed the request is Completed.
//
// With forceRecreate the state cannot tell the instance to stop from the one that follows it. So its message names the
// instance before it is stopped. Where there turns out to be nothing to stop, nothing is taken for stopped: the next look
// tells by the instance.
package restart
