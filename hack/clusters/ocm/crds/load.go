// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package crds

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const apiModule = "open-cluster-management.io/api"

// hubFiles and memberFiles are the CRDs of each side, as paths in the api module.
var (
	hubFiles = []string{
		"cluster/v1/0000_00_clusters.open-cluster-management.io_managedclusters.crd.yaml",
		"cluster/v1beta2/0000_00_clusters.open-cluster-management.io_managedclustersets.crd.yaml",
		"cluster/v1beta2/0000_01_clusters.open-cluster-management.io_managedclustersetbindings.crd.yaml",
		"cluster/v1beta1/0000_02_clusters.open-cluster-management.io_placements.crd.yaml",
		"cluster/v1beta1/0000_03_clusters.open-cluster-management.io_placementdecisions.crd.yaml",
		"cluster/v1alpha1/0000_05_clusters.open-cluster-management.io_addonplacementscores.crd.yaml",
		"work/v1/0000_00_work.open-cluster-management.io_manifestworks.crd.yaml",
		"addon/v1beta1/0000_00_addon.open-cluster-management.io_clustermanagementaddons.crd.yaml",
		"addon/v1beta1/0000_01_addon.open-cluster-management.io_managedclusteraddons.crd.yaml",
		"addon/v1beta1/0000_02_addon.open-cluster-management.io_addondeploymentconfigs.crd.yaml",
	}
	memberFiles = []string{
		"cluster/v1alpha1/0000_02_clusters.open-cluster-management.io_clusterclaims.crd.yaml",
		"work/v1/0000_01_work.open-cluster-management.io_appliedmanifestworks.crd.yaml",
	}
)

// ModuleDir asks the go command where the OCM api module of the module at root
// (the working directory where empty) lies. It fails outside a module that requires it.
func ModuleDir(ctx context.Context, root string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", apiModule)
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		detail := ""
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			detail = ": " + strings.TrimSpace(string(exit.Stderr))
		}
		return "", fmt.Errorf("find module %s (run inside the repository, or name its folder): %w%s", apiModule, err, detail)
	}
	dir := strings.TrimSpace(string(out))
	if dir == "" {
		return "", fmt.Errorf("module %s is not in the module cache: run go mod download %s", apiModule, apiModule)
	}
	return dir, nil
}

// Hub reads the CRDs a hub needs from the api module at dir.
func Hub(dir string) ([]*unstructured.Unstructured, error) { return load(dir, hubFiles) }

// Member reads the CRDs a member needs from the api module at dir.
func Member(dir string) ([]*unstructured.Unstructured, error) { return load(dir, memberFiles) }

func load(dir string, files []string) ([]*unstructured.Unstructured, error) {
	list := make([]*unstructured.Unstructured, 0, len(files))
	for _, file := range files {
		data, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			return nil, fmt.Errorf("read CRD: %w", err)
		}
		crd := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(data, &crd.Object); err != nil {
			return nil, fmt.Errorf("parse CRD %s: %w", file, err)
		}
		if strings.HasPrefix(file, "addon/") {
			if err := keepOnlyVersion(crd, "v1beta1"); err != nil {
				return nil, fmt.Errorf("CRD %s: %w", file, err)
			}
		}
		list = append(list, crd)
	}
	return list, nil
}

// keepOnlyVersion drops every other version and makes the one that stays the storage version.
func keepOnlyVersion(crd *unstructured.Unstructured, name string) error {
	versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
	if err != nil {
		return fmt.Errorf("read versions: %w", err)
	}
	for _, v := range versions {
		version, ok := v.(map[string]any)
		if ok && version["name"] == name {
			version["storage"] = true
			return unstructured.SetNestedSlice(crd.Object, []any{version}, "spec", "versions")
		}
	}
	return fmt.Errorf("has no version %s", name)
}
