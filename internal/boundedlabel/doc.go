// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package boundedlabel keeps the values of a metric's label few where anybody may choose them, as names of users: a
// process that lives long would hold, and show at each scrape, all it ever saw. The first ones are kept, all later
// ones count together.
package boundedlabel
