// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package convert serves the conversion webhook of our CustomResourceDefinitions. What converts into
// what is read from the scheme, where the API packages register their generated conversions: a new
// version of a kind needs no wiring here.
//
// The parts of an object that are stored without a schema, pod templates above all, have the same shape
// in every version. They are handed on as they came (see verbatim.go): fields that an API server newer
// than this program knows survive, and nothing is added that the sender did not write.
package convert
