// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package livefacts answers what admission asks of the cluster that runs the pods, from the API server at each
// request. It writes nothing: what it creates, it creates as a dry run.
package livefacts
