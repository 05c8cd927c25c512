// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package components

import (
	"k8s.io/client-go/tools/clientcmd"

	"github.com/flotilla-sh/flotilla/hack/clusters/controlplane"
	"github.com/flotilla-sh/flotilla/hack/clusters/state"
)

// nodeNameKey is where the token of a pod's service account says on which node the pod is.
const nodeNameKey = "authentication.kubernetes.io/node-name"

// agentKubeconfig writes the kubeconfig of a node's agent. It is a service account on a node to the API server, as by the
// token of its pod: no certificate could say on which.
func agentKubeconfig(c *state.Cluster, member, node string) (string, error) {
	config, err := clientcmd.LoadFromFile(c.Kubeconfig(member))
	if err != nil {
		return "", err
	}
	who := controlplane.ServiceAccountIdentity(namespace, nodeagent)
	for _, user := range config.AuthInfos {
		user.Impersonate, user.ImpersonateGroups = who.User, who.Groups
		user.ImpersonateUserExtra = map[string][]string{nodeNameKey: {node}}
	}
	raw, err := clientcmd.Write(*config)
	if err != nil {
		return "", err
	}
	path := c.Path("config", member, node+"-"+nodeagent+".kubeconfig")
	return path, state.WriteFile(path, raw, 0o600)
}
