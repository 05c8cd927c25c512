// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package books keeps books that are the status of API objects: numbers which admission and controllers change
// together, as quotas and reservations are.
//
// Each write holds only for the version that was read, and one that is refused for it is decided anew on what the API
// server has, whoever else writes the same books. Within this process, those who want to change the books of one
// object while a write is under way wait for it, and are then written together in one: fifty at once cost two or
// three writes, not fifty, and each still decides on what those before it left. What was written is seen at once, though the
// cache does not show it yet.
//
// A change is answered within Patience: the API server would go its own way when a webhook does not answer.
package books
