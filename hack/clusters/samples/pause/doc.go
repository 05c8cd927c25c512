// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Command pause is the process of the sandbox container, which holds a pod's namespaces: it waits, reaps orphans that
// became its children (it is PID 1 where the pod shares its process namespace), and exits 0 at SIGTERM or SIGINT.
package main
