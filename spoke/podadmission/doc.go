// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package podadmission is the only webhook on pods. It runs ordered lists of steps that spoke/setup assembles: mutators
// on new pods, validators on pods that are updated, deleted or evicted. A step that fails or panics becomes an error of
// that one request, never of the process. The failure policy of the webhook on new pods lets them pass while the
// spoke is away.
package podadmission
