// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package nodeimage keeps one NodeImage for each node that has an agent: made a while after the node is ready, with the
// node's labels, deleted with the node.
//
// It promises that a tag is there as long as somebody asks for it and no longer: it goes with its last job, or when its
// time after its end is over. A tag of which the node's agent says nothing for ten minutes fails, with a message that
// says so. So does one that the agent began with, when nobody has heard of the node for ten minutes, or when it is overdue
// by ten minutes: by its deadline, or without one by the attempts that it and the tags beside it have. A dead node or
// agent holds up no job.
//
// States of a NodeImage:
//
//	(none)  node ready for the delay, and not virtual   -> there
//	there   labels, tags and overdue tags are put right -> (none) when the node is gone, unless it is labelled fake
package nodeimage
