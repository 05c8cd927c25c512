// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apply is server-side apply that sends nothing when nothing changed. It remembers, for each
// object and field owner, what was last applied and which generation came of it; while both stand,
// no request is made. A process that starts anew applies each object once, which changes nothing.
package apply
