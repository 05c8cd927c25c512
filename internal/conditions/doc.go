// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package conditions sets conditions so that nothing changes when nothing happened: equal input
// leaves times alone and reports no change.
package conditions
