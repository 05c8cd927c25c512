// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package workload answers whose a pod is: it lists the pods of a workload, through ReplicaSets where
// there are any, and finds the workload a pod belongs to. It reads the cache only, by the
// indexes that AddIndexes names.
//
// Finder says how many pods a workload wants: from the cache for Deployments, StatefulSets and CloneSets, and by
// the scale subresource, from the API server, for all other kinds.
package workload
