// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package podtemplate fills the defaults of pod templates and claim templates, which our kinds store
// without a schema, so that the API server cannot fill them itself. It fills what Kubernetes fills in
// the templates of its own workloads, with two differences that OpenKruise's users rely on: an app
// container without a pull policy gets Always, whatever its tag, because in-place updates to the same
// tag must pull; and nothing newer than Kubernetes 1.32 is filled into fields that existed then, because
// another byte in a stored template is another revision.
//
// Everything here is pure, takes nil for empty, and changes nothing the second time.
package podtemplate
