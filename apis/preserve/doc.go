// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package preserve keeps what one version of a kind cannot say while an object is shown in that version.
//
// Through converts an object and looks at what would come back: what differs from the original travels in
// one annotation of the converted object. When that object comes back, each part that still is what it was
// then gets its original value again; a part that somebody changed keeps the change. So a client that reads,
// changes one field and writes loses nothing, whatever version it speaks.
//
// The annotation is JSON, or gzip of it when long. It never holds an object up when it is read: one that
// cannot be understood is dropped, and where there is too much to keep, the object can be read in the other
// version and not be written through it. Where the object's own annotations leave no room even to say so, what
// the other version cannot say is lost when it is written through it.
package preserve
