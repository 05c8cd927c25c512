// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package consumer is what a program of somebody else does with our clients: it is a module of its own, and
// imports nothing but apis and generated.
package consumer
