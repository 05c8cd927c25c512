// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rollout breaks a rule on purpose.
package rollout

import (
	_ "github.com/flotilla-sh/flotilla/spoke/revision"
	_ "k8s.io/client-go/rest"
)
