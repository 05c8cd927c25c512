// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 breaks a rule on purpose.
package v1alpha1
