// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ledger keeps the books of PodUnavailableBudgets, which are their status: it reserves for pods that are to be
// made unavailable (Ask), and brings the books up to what is seen of the pods (Settle).
//
// Never more pods are let through than a budget allows, whoever else writes the same books (spoke/books). Nobody is
// refused on the word of a copy: the API server is asked first. Who is refused, also because too many ask at once, may
// ask again.
package ledger
