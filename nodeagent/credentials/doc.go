// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package credentials finds the credentials with which an image may be pulled: those of pull secrets, as
// kubectl create secret docker-registry makes them, and those of the kubelet's credential provider plugins.
//
// It promises:
//   - Who may use which credential is decided as the kubelet does: by the registry's host, with * for a part of its
//     name, its port, and the beginning of the image's path. The most specific is tried first.
//   - Plugins are run as the kubelet runs them: the same configuration file, request, answer and caching. A plugin
//     that fails or hangs costs its own credential, at most a minute, and no other.
//   - No credential is ever part of an error or a log line.
package credentials
