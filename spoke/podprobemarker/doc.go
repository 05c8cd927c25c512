// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package podprobemarker keeps the status of PodProbeMarkers, and holds one that is deleted until none of its probes is
// asked for any more: finalizer kruise.io/node-pod-probe-cleanup. What is probed on which node is spoke/nodepodprobe's
// to say, what becomes of results spoke/podmarks's.
//
// Where a virtual kubelet runs pods there is no node agent: the probes go with the pod, in annotations that Serverless
// puts on pods at their creation.
//
// Changes of pods are taken in for a second before a marker's pods are counted, so that a thousand pods that start cost
// a write a second, not one each. At rest nothing is written.
package podprobemarker
