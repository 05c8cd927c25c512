// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package conversiondata keeps, in one annotation, what one version of an object says and the other has no
// place for, so that reading and writing through the other version loses nothing.
//
// The conversion out of a version puts what would be lost; the conversion back into it takes it. An object
// carries the annotation only while there is something to keep. Where both versions have a place and only
// the form differs, the one who takes believes what was kept only while the object still says the same in
// the version it comes from: whoever changed it there has the last word.
//
// The annotation is ours: whatever else stands in it is dropped, and never makes a conversion fail.
package conversiondata
