// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// Container is one container as the runtime of a real node has it.
type Container struct {
	// ID as the kubelet writes it: containerd://…
	ID string
	// PodUID and Name say whose it is; Attempt counts its restarts.
	PodUID, Name string
	Attempt      int
	// Running tells whether it runs now.
	Running bool
}

// Containers asks the container runtime of a real node, by CRI, for all its containers, running or not.
func (f *Fleet) Containers(ctx context.Context, node string) ([]Container, error) {
	nodes := filepath.Join(f.Dir(), "nodes")
	socket := filepath.Join(nodes, "cri", node, "containerd.sock")
	crictl, err := filepath.EvalSymlinks(filepath.Join(nodes, "crictl"))
	if err != nil {
		return nil, err
	}
	out, err := exec.CommandContext(ctx, crictl, "--runtime-endpoint", "unix://"+socket, "ps", "--all", "--output", "json").Output()
	if err != nil {
		return nil, fmt.Errorf("crictl on %s: %w", node, err)
	}
	var answer struct {
		Containers []struct {
			ID       string
			State    string
			Metadata struct {
				Name    string
				Attempt int
			}
			Labels map[string]string
		}
	}
	if err := json.Unmarshal(out, &answer); err != nil {
		return nil, err
	}
	var list []Container
	for _, c := range answer.Containers {
		list = append(list, Container{
			ID: "containerd://" + strings.TrimPrefix(c.ID, "containerd://"), PodUID: c.Labels["io.kubernetes.pod.uid"],
			Name: c.Metadata.Name, Attempt: c.Metadata.Attempt, Running: c.State == "CONTAINER_RUNNING",
		})
	}
	return list, nil
}
