// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// ErrNone says that there is no set of clusters of that name.
var ErrNone = errors.New("no such clusters")

// Cluster is the state of one set of clusters. Its methods are safe for concurrent use; the fields may be read freely
// once `up` has settled them.
type Cluster struct {
	// Dir is the absolute path of .clusters/NAME.
	Dir string `json:"-"`
	// Root is the absolute path of the repository.
	Root string `json:"-"`
	// Options of the latest `up`.
	Options Options `json:"options"`
	// Slot tells this set's address ranges from those of other sets on the machine: 0 to Slots-1.
	Slot int `json:"slot"`
	// Ports by what listens on them, as "hub/kube-apiserver".
	Ports map[string]int `json:"ports"`
	// ServingAddresses are addresses, besides 127.0.0.1, at which the control planes are reached (the bridges of real
	// nodes); serving certificates name them.
	ServingAddresses []string `json:"servingAddresses,omitempty"`
	// Parts is what single parts of the tool keep, by part.
	Parts map[string]json.RawMessage `json:"parts,omitempty"`

	mu sync.Mutex
}

// Dir returns the folder of the set called name under the repository root.
func Dir(root, name string) string { return filepath.Join(root, ".clusters", name) }

// New returns an empty state that is not stored yet.
func New(root string, options Options) *Cluster {
	return &Cluster{Dir: Dir(root, options.Name), Root: root, Options: options, Ports: map[string]int{}, Parts: map[string]json.RawMessage{}}
}

// Load reads the stored state. It returns ErrNone where there is none.
func Load(root, name string) (*Cluster, error) {
	c := New(root, Options{Name: name})
	raw, err := os.ReadFile(c.Path("state.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s", ErrNone, name)
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(raw, c); err != nil {
		return nil, fmt.Errorf("read %s: %w", c.Path("state.json"), err)
	}
	return c, nil
}

// Save stores the state.
func (c *Cluster) Save() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.save()
}

func (c *Cluster) save() error {
	raw, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	return WriteFile(c.Path("state.json"), append(raw, '\n'), 0o644)
}

// Stored reports whether the state was ever stored, that is whether there was an `up` of this set before.
func (c *Cluster) Stored() bool {
	_, err := os.Stat(c.Path("state.json"))
	return err == nil
}

// Path joins elements to the set's folder.
func (c *Cluster) Path(elements ...string) string {
	return filepath.Join(append([]string{c.Dir}, elements...)...)
}

// Kubeconfig is the path of the admin kubeconfig of a plane (Hub or a member's name).
func (c *Cluster) Kubeconfig(plane string) string { return c.Path(plane + ".kubeconfig") }

// Port returns the port that belongs to key, reserving and storing a free one at the first call.
func (c *Cluster) Port(key string) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p, ok := c.Ports[key]; ok {
		return p, nil
	}
	p, err := reservePort(c.Dir)
	if err != nil {
		return 0, fmt.Errorf("find a port for %s: %w", key, err)
	}
	c.Ports[key] = p
	return p, c.save()
}

// GetPart reads what a part has stored into out, and leaves out alone where it has stored nothing.
func (c *Cluster) GetPart(part string, out any) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	raw, ok := c.Parts[part]
	if !ok {
		return nil
	}
	return json.Unmarshal(raw, out)
}

// SetPart stores a part's own value.
func (c *Cluster) SetPart(part string, value any) error {
	raw, err := json.Marshal(value)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Parts[part] = raw
	return c.save()
}

// WriteFile writes a file whole or not at all, making its folder where needed.
func WriteFile(path string, data []byte, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	if _, err := tmp.Write(data); err != nil {
		return errors.Join(err, tmp.Close())
	}
	if err := errors.Join(tmp.Chmod(mode), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
