// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package revision breaks a rule on purpose.
package revision

import (
	_ "github.com/flotilla-sh/flotilla/spoke/cloneset"
)
