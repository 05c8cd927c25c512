// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package podunavailablebudget runs PodUnavailableBudgets: it stamps pods with the budget that protects them, keeps the
// budget's books in its status, and answers admission. What it decides by is in spoke/budget.
//
// A pod is stamped at admission, or by the controller where it was made before its budget, or while no webhook looked;
// a stamp of a budget that is gone is replaced. A pod has one budget: the first by name whose targetRef is its workload,
// or whose selector matches it.
//
// One pass of the reconciler:
//
//	gather     the pods that are protected, and how many there should be
//	stamp      those without a stamp, or with that of a budget that is gone
//	settle     the books: entries that ran out go, what is available is counted; one write, only on change
//
// It is woken by what can change the books: a pod that comes, goes, or becomes available or unavailable, replicas of a
// workload, the budget itself, and the time at which an entry runs out. One event of a pod wakes only the budget of that
// pod.
//
// What wakes when:
//
//	pod made                        at once
//	pod available <-> not           at once
//	pod begins to go, in the books  after 5 seconds, with others that go with it: the books are right already
//	pod begins to go, else          at once
//	pod gone without a sign         at once
//
// # Admission
//
// Deletions and updates of pods come with what the pod was, so the API server itself leaves out those that cannot
// matter: the webhooks' match conditions ask for a stamp on the old pod, and leave out pods that go already (the
// kubelet's last word on a pod is a deletion), that have finished, or that bear annotation
// pub.kruise.io/no-protect; of updates, those of labels and annotations as well, unless a label marks the pod
// unavailable. The status of pods, which kubelets write, is never asked about. What is left is about protected pods
// alone, so these webhooks fail closed: a protection that opens whenever nobody answers protects nobody. They hold
// up nothing of the system's: its namespace and our own are left out, as everywhere.
//
// An eviction names a pod and says nothing of it, so each comes, protected or not. Its webhook fails open: all drains
// of a cluster would stand still without a spoke, for pods that nobody wanted protected. Under load that does not happen,
// for package ledger refuses by itself before the API server loses its patience; it takes that no replica can
// be reached. An administrator who wants it the other way sets failurePolicy Fail.
//
// Updates have a path of their own, so that API servers do not call us for them while their gate is off.
//
// Let through although the budget is spent is the deletion of a pod whose controller is gone or going, which would only
// hold up the garbage collector, and what that deletes itself; and of a pod in a namespace that is being deleted: who deletes a namespace means
// all of it (deletion protection is what holds that back), and it would hang for ever.
package podunavailablebudget
