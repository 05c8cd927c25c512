// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package daemonset breaks a rule on purpose.
package daemonset

import (
	_ "github.com/flotilla-sh/flotilla/hack/tool"
	_ "github.com/flotilla-sh/flotilla/hub/split"
	_ "k8s.io/cri-api/pkg/apis"
	_ "k8s.io/kubernetes/pkg/apis/core"
)
