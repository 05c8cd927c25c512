// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bootstrap turns command line flags into a running controller-runtime manager: client and
// cache settings, leader election, metrics, health, logs and feature gates are the same in the hub
// and the spoke.
package bootstrap
