// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package podadmission is the only webhook on pods. It runs an ordered list of steps that
// spoke/setup assembles; a step that fails or panics becomes an error of that one request, never of
// the process, and the webhook's failure policy lets pods pass while the spoke is away.
package podadmission
