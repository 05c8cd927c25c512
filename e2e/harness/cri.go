// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
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

// crictl runs it against the runtime of a real node.
func (f *Fleet) crictl(ctx context.Context, node string, args ...string) ([]byte, error) {
	nodes := filepath.Join(f.Dir(), "nodes")
	program, err := filepath.EvalSymlinks(filepath.Join(nodes, "crictl"))
	if err != nil {
		return nil, err
	}
	endpoint := "unix://" + filepath.Join(nodes, "cri", node, "containerd.sock")
	out, err := exec.CommandContext(ctx, program, append([]string{"--runtime-endpoint", endpoint, "--image-endpoint", endpoint}, args...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("crictl %s on %s: %w", strings.Join(args, " "), node, err)
	}
	return out, nil
}

// RemoveImage takes an image, named as pods name it, away from a real node that has it.
func (f *Fleet) RemoveImage(ctx context.Context, node, image string) error {
	_, err := f.crictl(ctx, node, "rmi", image)
	return err
}

// HasImage tells whether a real node has an image, named as pods name it.
func (f *Fleet) HasImage(ctx context.Context, node, image string) (bool, error) {
	out, err := f.crictl(ctx, node, "images", "--output", "json")
	if err != nil {
		return false, err
	}
	var answer struct{ Images []struct{ RepoTags []string } }
	if err := json.Unmarshal(out, &answer); err != nil {
		return false, err
	}
	for _, have := range answer.Images {
		if slices.ContainsFunc(have.RepoTags, func(tag string) bool { return tag == image || strings.HasSuffix(tag, "/"+image) }) {
			return true, nil
		}
	}
	return false, nil
}

// Containers asks the container runtime of a real node, by CRI, for all its containers, running or not.
func (f *Fleet) Containers(ctx context.Context, node string) ([]Container, error) {
	out, err := f.crictl(ctx, node, "ps", "--all", "--output", "json")
	if err != nil {
		return nil, err
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
