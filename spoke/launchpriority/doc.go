// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package launchpriority starts the containers of one pod in order. At admission every container gets an
// environment variable which refers to a key of ConfigMap <pod>-barrier, one key for each priority; the kubelet
// does not start a container before its key is there. The controller puts the keys in, from the highest priority
// down, each when all containers above are ready.
//
// It promises:
//   - A level is let go once every container of a higher one is ready, or has ended well and is not started again.
//   - All init containers are left alone; a pod of one container, or of one priority, gets neither variables nor a
//     ConfigMap.
//   - One ConfigMap a pod, for as long as its containers may restart: a restart needs the keys. The last write makes
//     it immutable, so that kubelets stop watching it; it goes when the pod has ended, or, if nobody saw that, with the pod. One that
//     somebody took away is made again when a container misses it. A ConfigMap of that name which is neither the pod's
//     nor an earlier one's is never touched; an event on the pod names it.
//   - No reads of ConfigMaps, none of them in memory; whose one is that is in the way, or goes at the end, is asked by a
//     patch that changes nothing. A pod of n priorities costs n writes of its ConfigMap and
//     n-1 of the pod: each tells the kubelet to look again at once rather than after its own pause. At rest none.
//     Beside them n events: who waits, and that it is no fault; then who may start.
//
// The kubelet reports a container that waits as CreateContainerConfigError (LP-03). Nothing else in the API of pods
// holds back one container without the help of its image: gates and volumes hold the whole pod, an optional key holds
// nobody, and a postStart hook, which the kubelet runs before it starts the next container, keeps readiness from being
// looked at until it ends. So the state stays, and an event explains it.
//
// One barrier for many pods would be fewer objects (LP-02), and hold nobody: its keys are there once the first pod has
// started. Keys for each pod in one ConfigMap would grow without bound and wake every kubelet for every pod. Its name,
// <pod>-barrier, is part of the API besides. Nor can it go before the pod has ended, since containers that restart need it.
//
//	pod                                             what is done            Reason
//	no barrier, or being deleted                    nothing                 NotOurs
//	ended                                           barrier removed         Ended
//	let go; a container misses its key              all keys made again     Missing
//	let go                                          nothing                 Launched
//	all containers ready                            nothing                 Launched
//	highest pending priority not let go             its key put in          Release
//	the same, and none is pending below it          the same, and let go    ReleaseLast
package launchpriority
