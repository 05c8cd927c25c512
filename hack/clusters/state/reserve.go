// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// Ports are taken below the range the kernel gives to outgoing connections, so that none of those holds a port while
// its process is being restarted.
const firstPort, lastPort = 20000, 31999

// reservations is the machine-wide book of who has which port and slot, by folder of the set of clusters.
type reservations struct {
	Ports map[int]string `json:"ports"`
	Slots map[int]string `json:"slots"`
}

// ReserveSlot gives the set its slot: the one it holds, or a free one. It fails when Slots sets are up.
func (c *Cluster) ReserveSlot() error {
	return withReservations(func(r *reservations) error {
		slot, err := r.slot(c.Dir)
		c.Slot = slot
		return err
	})
}

// Release gives back the slot and all ports of the set.
func (c *Cluster) Release() error {
	return withReservations(func(r *reservations) error {
		r.drop(func(dir string) bool { return dir == c.Dir })
		return nil
	})
}

func reservePort(dir string) (int, error) {
	var port int
	err := withReservations(func(r *reservations) error {
		var err error
		port, err = r.port(dir, rand.IntN, listens)
		return err
	})
	return port, err
}

// listens reports whether the port can be listened on now on every address.
func listens(port int) bool {
	l, err := net.Listen("tcp", ":"+strconv.Itoa(port))
	if err != nil {
		return false
	}
	return l.Close() == nil
}

func (r *reservations) port(dir string, random func(int) int, free func(int) bool) (int, error) {
	const n = lastPort - firstPort + 1
	start := random(n)
	for i := range n {
		p := firstPort + (start+i)%n
		if _, taken := r.Ports[p]; !taken && free(p) {
			r.Ports[p] = dir
			return p, nil
		}
	}
	return 0, fmt.Errorf("no free port from %d to %d", firstPort, lastPort)
}

func (r *reservations) slot(dir string) (int, error) {
	for slot, d := range r.Slots {
		if d == dir {
			return slot, nil
		}
	}
	for slot := range Slots {
		if _, taken := r.Slots[slot]; !taken {
			r.Slots[slot] = dir
			return slot, nil
		}
	}
	dirs := slices.Sorted(maps.Values(r.Slots))
	return 0, fmt.Errorf("%d sets of clusters are up already; take one down: %q", Slots, dirs)
}

func (r *reservations) drop(gone func(dir string) bool) {
	maps.DeleteFunc(r.Ports, func(_ int, dir string) bool { return gone(dir) })
	maps.DeleteFunc(r.Slots, func(_ int, dir string) bool { return gone(dir) })
}

// withReservations runs f on the book under the machine-wide lock and stores what f made of it. Entries of folders
// that no longer exist are dropped first.
func withReservations(f func(*reservations) error) error {
	cache, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	path := filepath.Join(cache, "flotilla", "reservations.json")
	unlock, err := Lock(path + ".lock")
	if err != nil {
		return err
	}
	defer unlock()
	r := &reservations{}
	raw, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(raw, r)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read %s: %w", path, err)
	}
	if r.Ports == nil {
		r.Ports = map[int]string{}
	}
	if r.Slots == nil {
		r.Slots = map[int]string{}
	}
	r.drop(func(dir string) bool { _, err := os.Stat(dir); return errors.Is(err, fs.ErrNotExist) })
	if err := f(r); err != nil {
		return err
	}
	raw, err = json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return WriteFile(path, append(raw, '\n'), 0o644)
}
