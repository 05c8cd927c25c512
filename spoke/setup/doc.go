// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package setup is the spoke's wiring table: every controller, webhook, converter, index and gate is
// named here and nowhere else. How objects of each kind are defaulted and validated at admission is the table
// of internal/kindadmission, which the hub serves as well.
//
// Gates refuse the kinds they are of while they are off, as OpenKruise's do: see kindGates.
package setup
