// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package testkit starts a real API server for tests, with Flotilla's CRDs, and counts who writes
// what to it. Tests that start one carry the build tag integration. It also reads what is generated for the API
// server, and metrics.
package testkit
