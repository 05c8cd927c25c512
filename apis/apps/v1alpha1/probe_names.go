// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "strings"

// NodeProbeName is the name that a PodProbeMarker's probe has in a NodePodProbe.
func NodeProbeName(marker, probe string) string { return marker + "#" + probe }

// SplitNodeProbeName takes a probe's name in a NodePodProbe apart; ok is false for the name of a liveness probe, which
// belongs to no PodProbeMarker.
func SplitNodeProbeName(name string) (marker, probe string, ok bool) { return strings.Cut(name, "#") }
