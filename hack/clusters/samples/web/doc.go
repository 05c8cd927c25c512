// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Command web is the sample web server of the local clusters. It says which version it is, and how soon it is ready, how
// slowly it answers and how long it takes to stop are set by flags or, under the flag's name in capitals with
// underscores, by the environment (READY_DELAY for --ready-delay).
//
//	GET /         one line: "web VERSION HOSTNAME"
//	GET /version  the version alone
//	GET /healthz  200 for as long as the process runs
//	GET /readyz   503 until --ready-delay has passed since the start, then 200
//	PUT /readyz   the body "false" makes it answer 503 from now on, "true" 200
//
// On the same port it answers grpc.health.v1.Health/Check without TLS: SERVING where /readyz answers 200.
package main
