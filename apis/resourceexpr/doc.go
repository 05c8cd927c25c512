// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package resourceexpr reads and computes the expressions by which a SidecarSet derives the resources of a
// sidecar from those of the containers beside it, such as max(cpu*50%, 50m).
//
// An expression has numbers (2, 0.5, 1e3), percentages (50% is 0.5), quantities (50m, 200Mi; suffixes m, k, M,
// G, T, P, Ki, Mi, Gi, Ti, Pi), variables, + - * / with the usual precedence, unary minus, parentheses, and max
// and min of two arguments. Names do not depend on case. A quantity is a whole number of thousandths: products
// and quotients are cut off there, and a number beside a quantity in a sum, max or min is made one. Two
// quantities cannot be multiplied, and nothing can be divided by one.
package resourceexpr
