// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ledger keeps the books of PodUnavailableBudgets, which are their status: it reserves for pods that are to be
// made unavailable (Ask), and brings the books up to what is seen of the pods (Settle).
//
// Never more pods are let through than a budget allows, whoever else writes the same books: each write holds only for
// the version that was read, and one that is refused for it is decided anew on what the API server has. Within this
// process the writers of one budget take turns, and each sees what the one before wrote, though the cache does not show
// it yet. Nobody is refused on the word of a copy: the API server is asked first.
//
// Ask answers within Patience: the API server would go its own way when a webhook does not answer, so under load it is
// better to refuse. Who is refused may ask again.
package ledger
