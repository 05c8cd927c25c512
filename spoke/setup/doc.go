// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package setup is the spoke's wiring table: every controller, webhook, converter, index and gate is
// named here and nowhere else. How objects of each kind are defaulted and validated at admission is the table
// of internal/kindadmission, which the hub serves as well.
//
// Gates that refuse a kind while they are off, as OpenKruise has them (ImagePullJobGate,
// ResourceDistributionGate, WorkloadSpread, PodProbeMarkerGate, KruiseDaemon), are not looked at so far: every
// kind is let in.
package setup
