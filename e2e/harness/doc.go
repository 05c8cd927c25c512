// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package harness brings local clusters up for end-to-end tests and reaches them from outside: through
// their kubeconfigs, their processes and their audit logs. It knows nothing of how Flotilla is built.
//
// The clusters stay up when a suite ends, so that the next suite finds them; `make e2e` takes them
// down. FLOTILLA_E2E_NAME names a set that is already up.
package harness
