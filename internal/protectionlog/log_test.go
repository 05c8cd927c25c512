// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package protectionlog

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLinesAreAppended(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "log")
	for range 2 { // as after a restart
		log, err := Open(folder)
		if err != nil {
			t.Fatal(err)
		}
		if err := log.Write(Entry{Event: DeletionProtection, Kind: "Namespace", Name: "shop", UserAgent: "jo\n\"e"}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(filepath.Join(folder, "protection.log"))
	if err != nil {
		t.Fatal(err)
	}
	line := `{"Event":"DeletionProtection","Kind":"Namespace","Namespace":"","Name":"shop","UserAgent":"jo\n\"e"}` + "\n"
	if d := cmp.Diff(line+line, string(got)); d != "" {
		t.Error(d)
	}
}

func TestWithoutFolderThereIsNoFile(t *testing.T) {
	log, err := Open("")
	if err != nil || log != nil {
		t.Fatal(log, err)
	}
	if err := log.Write(Entry{}); err != nil {
		t.Error(err)
	}
}

func TestFolderThatCannotBe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(filepath.Join(file, "log")); err == nil {
		t.Error("opened")
	}
	if _, err := Open("/proc/self"); err == nil {
		t.Error("opened where no file can be made")
	}
}
