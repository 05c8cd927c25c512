// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package allocate shares the replicas of one UnitedDeployment out among its subsets. It is pure:
// equal input gives equal output, and with one cluster the hub and the member get the same numbers
// from it.
//
// Four rules exist, two of them for the Fixed schedule and two for the Adaptive one:
//
//	Specific  some subsets say replicas, the others share the rest evenly. The first ones of the
//	          rest, in ascending order of what they have now (then of name), get no remainder.
//	MinMax    every subset gets its minimum in list order, then is filled to its maximum in list order.
//	Adaptive  MinMax, but a subset that cannot schedule its pods keeps what is ready and its minimum,
//	          and ready pods stay where they are.
//	Reserve   MinMax, but pods that cannot be scheduled stay, and others are substitutes for them.
//
// The sum is exact in every result without an error, unless maxima or an unknown total forbid it:
// Result.Unplaced says what is left over. With Reserve it is above the total by the substitutes.
package allocate
