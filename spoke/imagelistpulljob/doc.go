// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package imagelistpulljob makes an ImagePullJob for each image of a list, and sums up how far they are.
//
// It promises stable children: one for each image, kept over restarts and upgrades of the spoke as long as what it was
// made of does not change. One that is done stays until its list goes, whatever its own time. parallelism and
// all other bounds hold for each child by itself.
//
// States of a list:
//
//	running    missing children are made, those of other terms made anew, those of images taken out deleted -> completed
//	completed  (type Always, when every child is done)                            -> deleted after its time, if it has one
package imagelistpulljob
