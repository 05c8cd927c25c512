// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package budget decides about PodUnavailableBudgets: what an update of a pod is (Classify), whether a pod may be
// made unavailable (Check), and what a budget's books say after a look at its pods (Tally). It is pure; package
// ledger keeps the books.
//
// Check goes through these questions; the first that answers counts:
//
//	1  the pod has annotation pub.kruise.io/no-protect: true              allow
//	2  the pod is not available, or in the middle of an update in place   allow, but see below
//	3  no budget protects it                                              allow
//	4  spec.ignoredPodSelector matches it                                 allow
//	5  no pod has to stay available                                       allow
//	6  the budget does not protect against this operation                 allow
//	7  the pod is in the books already                                    allow, at no further cost
//	8  no more pods may be unavailable, or the books are full             deny
//	9  else                                                               reserve: write the pod into the books
//
// A pod is available when it is Running and Ready, not on its way out, bears no label unavailable-pod.kruise.io/… and
// is Consistent: what runs is what its spec says. A pod in the books counts as unavailable, for 10 seconds after an
// update was let through and for 20 after anything else; a pod of the same name that was made later is another one, and
// has to ask for itself.
//
// A budget with annotation pub.kruise.io/protect-unready-pods: true also guards pods that are not available against
// deletion and eviction, while fewer pods are available than have to be. Updates in place of such pods are let
// through all the same: they are how a broken workload is put right.
package budget
