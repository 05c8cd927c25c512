// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package images pulls what the NodeImage of this node asks for, and says in its status how far that is.
//
// It promises:
//   - One puller for each image and tag, however many jobs ask for it, and at most so many at once as the
//     administrator allows. A new version of a tag ends the puller of the old one.
//   - An attempt takes one of these places and gives it back: a tag that pauses between attempts, or waits for the
//     runtime, has none. Whoever waits longest for a place gets the next, so that no tag keeps the others from theirs.
//   - What is finished stays finished: an agent that starts anew pulls no tag again whose status has an end.
//   - A runtime that goes away costs no attempt: the puller waits, says so in the tag's message, and goes on as soon
//     as it is back.
//   - Secrets are read from one namespace only, and only those that the NodeImage names.
//   - At most one status write a second, one every two seconds for long, none when nothing changes. Progress alone is
//     written when a tag went on by five points, every ten seconds at most for all tags together.
//
// States of a tag (its phase):
//
//	Waiting    it had no place yet             -> Pulling when it gets one
//	Pulling    attempts, with pauses between   -> Succeeded, or Failed after the last attempt or the deadline
//	Succeeded  the image is there              -> (a new version) Waiting
//	Failed     message has the last error      -> (a new version) Waiting
//
// Progress never goes back, is 100 when the image is there and at most 99 before. CRI tells nothing in between: while a
// pull runs it is read every few seconds from the store of containerd, as the part of the bytes of those images of the
// repository that are being fetched. So tags of one repository that are pulled at once share it. With a runtime that
// has no such store (CRI-O, cri-dockerd) it stays what it was, 0 at first.
package images
