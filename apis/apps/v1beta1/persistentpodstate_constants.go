// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

// Annotations of workloads by which users have a PersistentPodState made for them. The
// PersistentPodState controller reads them.
const (
	// AutoGeneratePersistentPodStateKey asks for it: "true".
	AutoGeneratePersistentPodStateKey = "kruise.io/auto-generate-persistent-pod-state"
	// RequiredPersistentTopologyKey lists node labels, separated by commas, that pods must come back to.
	RequiredPersistentTopologyKey = "kruise.io/required-persistent-topology"
	// PreferredPersistentTopologyKey lists node labels, separated by commas, that pods should come back
	// to, with weight 100.
	PreferredPersistentTopologyKey = "kruise.io/preferred-persistent-topology"
	// PersistentPodAnnotationsKey lists annotations of pods, separated by commas, to remember.
	PersistentPodAnnotationsKey = "kruise.io/persistent-pod-annotations"
)

const (
	// InjectedPersistentPodStateKey is an annotation on pods: the PersistentPodState that sent them to
	// their node. Pod admission writes it; the PersistentPodState controller reads it.
	InjectedPersistentPodStateKey = "kruise.io/injected-persistent-pod-state"
	// PersistentPodStateWhiteListKey is the key in ConfigMap ConfigurationName for workloads that
	// PersistentPodStates may target. The PersistentPodState controller and admission read it.
	PersistentPodStateWhiteListKey = "PPS_Watch_Custom_Workload_WhiteList"
)
