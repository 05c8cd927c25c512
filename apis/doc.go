// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apis is the contract: types, names, defaults and validation. It talks to no cluster and
// imports k8s.io/apimachinery and k8s.io/api only.
package apis
