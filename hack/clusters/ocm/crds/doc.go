// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package crds installs the CustomResourceDefinitions of Open Cluster
// Management. The files are those of the module open-cluster-management.io/api
// at the version go.mod names: they are read from the module cache, where the
// build has already put them, so types and CRDs cannot drift apart and no copy
// is kept.
//
// The add-on kinds are served at two versions by OCM, with a conversion
// webhook. Nobody converts here, and without conversion a field known to one
// version only would be lost: so v1beta1, the version that addon-framework
// speaks, is installed as the only one.
//
// Kinds that nothing would act upon (ManifestWorkReplicaSet, AddOnTemplate) are
// left out.
package crds
