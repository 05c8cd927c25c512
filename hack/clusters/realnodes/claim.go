// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package realnodes

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/flotilla-sh/flotilla/hack/clusters/state"
)

// claim makes the set's folder on the machine its own. What a set left there whose own folder was deleted is removed
// first; it is an error where the folder belongs to another set.
func (p place) claim(ctx context.Context) error {
	owner, err := p.readOwner()
	if err != nil || owner == p.owner {
		return err
	}
	if owner != "" {
		if _, err := os.Stat(owner); err == nil {
			return fmt.Errorf("%s belongs to the clusters of %s", p.path(), owner)
		}
		if err := p.remove(ctx); err != nil {
			return fmt.Errorf("clear up after the clusters of %s: %w", owner, err)
		}
	}
	return state.WriteFile(p.path("owner"), []byte(p.owner+"\n"), 0o644)
}

// claimed reports whether the set has a folder on the machine.
func (p place) claimed() (bool, error) {
	owner, err := p.readOwner()
	return owner == p.owner, err
}

// readOwner returns "" where there is no folder.
func (p place) readOwner() (string, error) {
	raw, err := os.ReadFile(p.path("owner"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(raw)), err
}

// linkFolder makes the set's folder on the machine show up as `nodes` in its own.
func (p place) linkFolder(c *state.Cluster) error {
	link := c.Path("nodes")
	if target, err := os.Readlink(link); err == nil && target == p.path() {
		return nil
	}
	if err := os.Remove(link); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Symlink(p.path(), link)
}

// existing are the nodes that have a folder.
func (p place) existing() ([]node, error) {
	entries, err := os.ReadDir(p.path("nodes"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var nodes []node
	for _, e := range entries {
		n := node{place: p}
		if _, err := fmt.Sscanf(e.Name(), "member-%d-node-%d", &n.member, &n.number); err == nil && n.name() == e.Name() {
			nodes = append(nodes, n)
		}
	}
	return nodes, err
}
