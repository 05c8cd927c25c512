// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package share holds the words in which the placement reconciler and the dividers of the kinds talk:
// a Request (the object, the clusters chosen for it, what they hold now), the Plan a divider makes of
// it, and the Summary of what the members report, from which a divider makes the object's status. It is
// data, and what all dividers count alike (Buckets, InProportion), and pure.
//
// A kind joins the fleet by a folder of its own with a divider, and one line in the wiring table.
package share
