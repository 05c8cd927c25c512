// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package readyholds is the switch that many share to keep one pod not ready: condition KruisePodReady, behind the
// readiness gate of that name. Its message lists who holds it; it is True when nobody does. Only this condition is ever
// written: Ready is the kubelet's to conclude from it.
package readyholds
