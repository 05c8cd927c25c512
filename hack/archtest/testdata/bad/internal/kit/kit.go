// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kit breaks a rule on purpose.
package kit

import (
	_ "github.com/flotilla-sh/flotilla/spoke/rollout"
)
