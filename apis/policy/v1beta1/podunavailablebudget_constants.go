// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

// Annotations of PodUnavailableBudgets: v1alpha1's way to say what v1beta1 has fields for.
const (
	// PodUnavailableBudgetProtectOperationsKey lists operations, separated by commas. Users and the
	// conversion write it; the conversion reads it, and so does pod admission where spec.protectOperations
	// is empty.
	PodUnavailableBudgetProtectOperationsKey = "kruise.io/pub-protect-operations"
	// PodUnavailableBudgetProtectTotalReplicasKey is the number of pods expected. Users and the conversion
	// write it; the conversion reads it.
	PodUnavailableBudgetProtectTotalReplicasKey = "pub.kruise.io/protect-total-replicas"
	// PodUnavailableBudgetProtectUnreadyKey with a true value keeps pods that are not available from being deleted
	// and evicted too, while fewer are available than have to be. OpenKruise does not know it. Users write it; pod
	// admission reads it.
	PodUnavailableBudgetProtectUnreadyKey = "pub.kruise.io/protect-unready-pods"
)

// Annotations and labels of pods.
const (
	// PodPubNoProtectKey is an annotation: a true value takes the pod out of protection. Deprecated in
	// favour of spec.ignoredPodSelector. Users write it; pod admission reads it.
	PodPubNoProtectKey = "pub.kruise.io/no-protect"
	// PodRelatedPubKey is an annotation: the budget that protects the pod. Pod admission and the
	// PodUnavailableBudget controller write it, and read it before PodRelatedPubKeyOld.
	PodRelatedPubKey = "pub.kruise.io/related-pub"
	// PodRelatedPubKeyOld is the older name of PodRelatedPubKey: written beside it, read where it is empty.
	PodRelatedPubKeyOld = "kruise.io/related-pub"
	// PubUnavailablePodLabelPrefix starts labels that mark a pod unavailable though it is ready. Users
	// write them; pod admission, the PodUnavailableBudget controller and the workloads read them.
	PubUnavailablePodLabelPrefix = "unavailable-pod.kruise.io/"
)

// Event reasons. The first two are on budgets, the others on pods.
const (
	// PubEventNoPods (Normal): no pod is protected.
	PubEventNoPods = "NoPods"
	// PubEventCalculateExpectedPodCountFailed (Warning): how many pods are expected is not known.
	PubEventCalculateExpectedPodCountFailed = "CalculateExpectedPodCountFailed"
	// PubEventNotDeleted (Warning, by the controller): a deletion that was let through was not seen.
	PubEventNotDeleted = "NotDeleted"
	// PubEventPreventPodDeletion (Warning, by pod admission): the budget refused a disruption.
	PubEventPreventPodDeletion = "PubPreventPodDeletion"
)

// PubMaxBookedPods is how many pods disruptedPods and unavailablePods may hold together; beyond it pod
// admission refuses.
const PubMaxBookedPods = 2000
