// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cloneset breaks a rule on purpose.
package cloneset

import (
	_ "github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	_ "github.com/flotilla-sh/flotilla/internal/testkit"
	_ "github.com/flotilla-sh/flotilla/spoke/daemonset"
	_ "open-cluster-management.io/api/cluster/v1"
	_ "sigs.k8s.io/kustomize/api/krusty"
)
