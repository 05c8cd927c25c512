// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ranges keeps packets to the addresses of a set of clusters on the machine: where the tool may (as root), the
// kernel answers "unreachable" for every address of simulated pods and of services, which otherwise would go out by the
// default route.
package ranges
