// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package archtest holds who may import whom as data (rules.go), and a test that holds the code to it.
// The linter's depguard says the most important of it earlier, in the editor; this package also sees
// what packages import by way of others.
//
// To add a package, put it into the table of layers if its folder does not say already where it
// belongs. To add an exception, write down its reason.
package archtest
