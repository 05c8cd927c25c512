// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package assets

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const root = "../../.."

func TestEveryProgramHasAModuleWithAVersion(t *testing.T) {
	for name, p := range programs {
		version, err := moduleVersion(root, p.module)
		if err != nil || !strings.HasPrefix(version, "v") {
			t.Errorf("%s: version %q, error %v", name, version, err)
		}
	}
}

func TestKubernetesProgramsSayTheirVersion(t *testing.T) {
	args := buildArgs(programs[Kubelet], "v1.37.2", "/out")
	flags := args[slices.Index(args, "-ldflags")+1]
	for _, want := range []string{"version.gitVersion=v1.37.2", "version.gitMajor=1", "version.gitMinor=37"} {
		if !strings.Contains(flags, want) {
			t.Errorf("%s is not in %s", want, flags)
		}
	}
	if flags := ldflags("etcd", "v3.6.16"); flags != "-s -w" {
		t.Errorf("etcd: %s", flags)
	}
	if !slices.Contains(buildArgs(programs[Ctr], "v2", "/out"), "no_btrfs,no_zfs,no_devmapper") {
		t.Error("containerd is built without its tags")
	}
}

func TestReadyMadeProgramsGoFirst(t *testing.T) {
	cache, given, env := t.TempDir(), t.TempDir(), t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("KUBEBUILDER_ASSETS", env)
	source := Source{Root: root, Dir: given}
	version, err := moduleVersion(root, "etcd")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{filepath.Join(cache, "flotilla/bin/etcd-"+version), env, given} {
		if err := os.MkdirAll(want, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(want, Etcd), nil, 0o755); err != nil {
			t.Fatal(err)
		}
		paths, err := source.Ensure(t.Context(), Etcd)
		if err != nil || paths[Etcd] != filepath.Join(want, Etcd) {
			t.Errorf("got %v, want it in %s, error %v", paths, want, err)
		}
	}
	if _, err := source.Ensure(t.Context(), "no-such-program"); err == nil {
		t.Error("an unknown program was found")
	}
}
