// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pullsecrets shows the Secrets of the one namespace that node agents read pull secrets in.
//
// It promises:
//   - It watches that namespace and no other, so that no right to list Secrets is needed anywhere else.
//   - A namespace that is not there, or in which the spoke has no role, costs those who need a Secret of it an error that
//     says so. Controllers start all the same, and see what is in it within half a minute after it is there.
package pullsecrets
