// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fakenodes gives members simulated nodes: Node objects, and a kwok for each member which plays their kubelets
// by the stages in the folder stages. They model what updating pods in place needs: an image that differs between spec
// and status restarts the container with a new ID and one restart more, Ready follows ContainersReady and every
// readiness gate, conditions of others are left alone. What pods can ask for by annotation is listed in
// stages/pods.yaml.
package fakenodes
