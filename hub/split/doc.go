// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package split decides how many replicas go to which cluster. It is pure: it knows no API and no
// clock, and all its arithmetic is exact integers.
//
// Steady keeps what there is and makes only forced moves. First every share is brought within its
// bounds. Then what is missing is given, one replica at a time, to the share with the least
// (x+½)/weight, or what is too much is taken from the share with the greatest (x−½)/weight (Webster's
// method). Ties go by a hash of the key and the bucket's name, so that many small workloads do not all
// favour one cluster.
//
// What it promises, whatever the input:
//
//   - the shares sum to Replicas, unless the upper bounds do not allow it: then every share is at its
//     bound, Short says how many replicas have no place, and Full names the buckets and why
//   - every share is within its bounds, unless the lower bounds sum to more than Replicas: then they are
//     served in order of Rank
//   - no other result within the bounds moves fewer replicas
//   - a second call on the result changes nothing, and the order of buckets does not matter
//   - with bounds unchanged, more replicas lower no share and fewer replicas raise none
//
// Work is O(n log n) in the number of buckets, whatever the number of replicas.
//
// Ideal is the division from scratch, towards which a later, rate-limited homing step moves; Steady
// never does. Homing's seam: it calls Ideal, and hands Steady bounds that let through the moves of the
// current minute.
package split
