// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package convert serves the conversion webhook of our CustomResourceDefinitions. What converts into
// what is read from the scheme, where the API packages register their generated conversions: a new
// version of a kind needs no wiring here.
package convert
