// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hub breaks a rule on purpose.
package hub

import (
	_ "github.com/flotilla-sh/flotilla/hub/split"
)
