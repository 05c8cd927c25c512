// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package a breaks a rule on purpose.
package a

import (
	_ "fmt"
	_ "github.com/flotilla-sh/flotilla/internal/kit"
	_ "sigs.k8s.io/yaml"
)
