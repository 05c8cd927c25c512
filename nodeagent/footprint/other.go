//go:build !linux

// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package footprint

// DropProgram does nothing here.
func DropProgram() error { return nil }
