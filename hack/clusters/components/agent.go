// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package components

import (
	"context"
	_ "embed"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-sh/flotilla/hack/clusters/controlplane"
	"github.com/flotilla-sh/flotilla/hack/clusters/state"
)

//go:embed agent.yaml
var agentManifest string

// agentAccess lets the member's spoke into the member's namespace on the hub and returns the kubeconfig for it. The
// identity is the one that Open Cluster Management gives an add-on's agent.
func (b *built) agentAccess(ctx context.Context, member string) (string, error) {
	c, err := clientOf(b.Cluster, state.Hub)
	if err != nil {
		return "", err
	}
	objects, err := agentObjects(member)
	if err != nil {
		return "", err
	}
	if err := apply(ctx, c, objects); err != nil {
		return "", err
	}
	// The hub's certificates go by the file's name: members that share one would take each other's.
	path := b.Cluster.Path("config", member, member+"-hub-agent.kubeconfig")
	return path, controlplane.WriteKubeconfig(b.Cluster, state.Hub, path, "", agentIdentity(member))
}

// agentIdentity is the user and groups of the add-on's agent of a cluster.
func agentIdentity(member string) controlplane.Identity {
	cluster := "system:open-cluster-management:cluster:" + member + ":addon:flotilla"
	return controlplane.Identity{
		User:   cluster + ":agent:flotilla-agent",
		Groups: []string{cluster, "system:open-cluster-management:addon:flotilla"},
	}
}

// agentObjects are the namespace and the rights of the agent of a cluster.
func agentObjects(member string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for doc := range strings.SplitSeq(strings.ReplaceAll(agentManifest, "CLUSTER", member), "\n---\n") {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(doc), &u.Object); err != nil {
			return nil, err
		}
		objects = append(objects, u)
	}
	return objects, nil
}
