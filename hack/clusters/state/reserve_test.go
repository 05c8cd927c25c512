// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"os"
	"strings"
	"testing"
)

func newBook() *reservations { return &reservations{Ports: map[int]string{}, Slots: map[int]string{}} }

func TestPortsAreTakenOnceAndOnlyIfFree(t *testing.T) {
	book := newBook()
	taken := map[int]bool{firstPort: true}
	free := func(p int) bool { return !taken[p] }
	last := func(int) int { return lastPort - firstPort } // starts at the last port, so that the search wraps round
	var got []int
	for range 3 {
		p, err := book.port("dir", last, free)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, p)
	}
	if got[0] != lastPort || got[1] != firstPort+1 || got[2] != firstPort+2 {
		t.Errorf("got %v", got)
	}
	if _, err := newBook().port("dir", last, func(int) bool { return false }); err == nil {
		t.Error("a port was found where none is free")
	}
}

func TestSlotsAreKeptAndGivenBack(t *testing.T) {
	book := newBook()
	for i := range Slots {
		dir := strings.Repeat("x", i+1)
		for range 2 {
			if slot, err := book.slot(dir); err != nil || slot != i {
				t.Fatalf("%s: slot %d, error %v", dir, slot, err)
			}
		}
	}
	if _, err := book.slot("one too many"); err == nil {
		t.Fatal("a slot was found where none is free")
	}
	book.Ports[firstPort] = "xx"
	book.drop(func(dir string) bool { return dir == "xx" })
	if slot, err := book.slot("new"); err != nil || slot != 1 || len(book.Ports) != 0 {
		t.Errorf("slot %d, error %v, ports %v", slot, err, book.Ports)
	}
}

func TestReservationsOfDeletedFoldersAreDropped(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	root := t.TempDir()
	gone := New(root, Options{Name: "gone"})
	if err := gone.Save(); err != nil {
		t.Fatal(err)
	}
	if err := gone.ReserveSlot(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(gone.Dir); err != nil {
		t.Fatal(err)
	}
	other := New(t.TempDir(), Options{Name: "other"})
	if err := other.Save(); err != nil {
		t.Fatal(err)
	}
	if err := other.ReserveSlot(); err != nil || other.Slot != 0 {
		t.Fatalf("slot %d, error %v", other.Slot, err)
	}
	port, err := other.Port("x")
	if err != nil || port < firstPort || port > lastPort {
		t.Fatalf("port %d, error %v", port, err)
	}
	again, err := Load(other.Root, "other")
	if err != nil || again.Ports["x"] != port {
		t.Fatalf("stored port %d, want %d, error %v", again.Ports["x"], port, err)
	}
	if err := other.Release(); err != nil {
		t.Fatal(err)
	}
	err = withReservations(func(r *reservations) error {
		if len(r.Ports) != 0 || len(r.Slots) != 0 {
			t.Errorf("left over: %v %v", r.Ports, r.Slots)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
