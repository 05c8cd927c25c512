// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pki keeps certificate authorities and the certificates they issue in files. Everything is made once and read
// from then on; a certificate is issued anew when it is asked for other names or nears its end. For tests on one
// machine: keys lie unencrypted in the set's folder, readable by their owner alone.
package pki
