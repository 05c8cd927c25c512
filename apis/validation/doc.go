// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package validation says what is wrong with an object and what to do about it. Each ValidateX(old, new)
// is pure, takes a nil old for a new object, and is used by the webhooks of hub and members alike.
//
// Nothing is refused that OpenKruise accepts and that could ever work. Pod templates are checked for the mistakes that would only
// show later, when the API server refuses their pods; what it alone can know is left to it.
//
// An update is never refused for what it does not touch: a complaint that the stored object already gives
// rise to, word for word, is left out. Objects from before a rule was made stay editable, and their
// finalizers removable.
package validation
