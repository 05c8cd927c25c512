// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Command demo shows Flotilla at work: it brings up a hub and two member clusters on this machine,
// places one UnitedDeployment over both, changes its image, and counts what happened to each pod.
package main
