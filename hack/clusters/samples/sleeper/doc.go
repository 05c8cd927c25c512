// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Command sleeper is the sample that does nothing: it sleeps for --for (or SLEEP_FOR, for ever when neither is given) and
// exits 0, at once when SIGTERM comes.
//
// Under other names it is the few small tools which tests run in containers: sleep, cat, env, echo, touch, rm, true,
// false, and dial, which tries whether a TCP connection can be made. Every sample image has them in /bin.
package main
