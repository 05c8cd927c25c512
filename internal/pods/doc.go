// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pods answers questions about one pod: is it active, ready, available, of that revision.
// Every function is pure, takes the time as an argument and only reads the pod.
package pods
