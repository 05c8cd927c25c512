// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package nodepodprobe keeps a NodePodProbe for each node that has a node agent, and in it the probes that
// PodProbeMarkers ask for there.
//
// It is the one writer of what these objects ask for, and derives all of it anew from the pods of the node and the
// markers of their namespaces. So what no marker asks for any more goes: probes that were taken out of a marker
// (OpenKruise leaves them), those of markers that are gone or whose selector the pod has left, and entries of pods that
// have ended or made way for another of their name. Probes that belong to no marker (liveness probes, names without #)
// are left as they are while their pod is there.
//
// An object has a bound, which etcd sets, and one that is larger could not be written for anybody. Namespaces share it
// evenly, and what one does not need goes to the others. Probes that are beyond the share of their namespace are left
// out, those of the youngest pods first, and an event on their marker says so.
//
// A node's object is made when the node is Ready, and goes with the node. Nodes of virtual kubelets get none, and lose
// one that they have: a marker that is deleted waits until it is asked for no more. A write is a
// patch of the entries alone; it holds only for the version that was looked at, so that it undoes nobody's change.
package nodepodprobe
