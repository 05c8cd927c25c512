// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package webhookserver serves admission and conversion webhooks with certificates of its own
// making, kept in one Secret that all replicas share, and tells the API server to trust them.
//
// The keeper puts the authority's certificate and the server's address into the component's webhook
// configurations and into the conversion of Flotilla's CRDs: at once when somebody takes it out, and
// never when it is already there. The serving certificate is renewed long before it ends; the
// authority outlives it, and a new authority is added beside the old one first.
package webhookserver
