// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package steps runs the parts of one reconcile in order: an error in one does not keep later ones
// from running, errors join, and the soonest requeue wins. Pacer lets big objects rest between
// reconciles.
package steps
