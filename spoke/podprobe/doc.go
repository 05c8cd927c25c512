// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package podprobe says what the controllers of custom probes have in common: which pods are probed, which
// PodProbeMarkers speak of a pod, and the cache indexes by which either is found, so that a change costs what depends on
// it and no more.
package podprobe
