// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package podmarks puts the results of custom probes on pods: conditions, labels and annotations, as the
// PodProbeMarkers say.
//
// It promises one write for a pod however many results are new, through the pod's status, of what differs alone, and no
// write when nothing does. Only pods whose results changed are looked at, and those whose metadata somebody changed: a
// mark that was taken off comes back within a second or so.
//
// What a result makes of a pod:
//
//	Succeeded  condition True, the marks of Succeeded; those of Failed alone are taken off
//	Failed     condition False, the marks of Failed; those of Succeeded alone are taken off
//	Unknown    condition False, all marks of the probe are taken off
//
// Of several probes for one condition type the first counts, in the order of markers' names and of probes in them; so it
// does where they set one label to different values. What one probe sets no other takes off.
//
// Pods of virtual kubelets have their conditions set by these. There the marks follow the conditions, and are set, never
// taken off.
package podmarks
