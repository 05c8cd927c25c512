// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// TestEveryMarkerIsGranted: the generated roles grant what the markers say. The generator loses rights when rules
// for one resource name its groups together here and alone there.
func TestEveryMarkerIsGranted(t *testing.T) {
	for component, dirs := range map[string][]string{
		"hub": {"hub", "internal/kindadmission"}, "spoke": {"spoke", "internal/kindadmission"}, "nodeagent": {"nodeagent"},
	} {
		granted, count := grants(t, component), 0
		for _, dir := range dirs {
			for _, marker := range markers(t, filepath.Join("../..", dir)) {
				count++
				if missing := granted.missing(marker); len(missing) > 0 {
					t.Errorf("%s: %v is not granted %v", component, marker, missing)
				}
			}
		}
		if count == 0 {
			t.Errorf("%s: no markers", component)
		}
	}
}

// markers are the arguments of all markers of rights below a folder.
func markers(t *testing.T, root string) (out []map[string]string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(data)) {
			text, found := strings.CutPrefix(strings.TrimSpace(line), "// +kubebuilder:rbac:")
			if !found {
				continue
			}
			arguments := map[string]string{}
			for pair := range strings.SplitSeq(text, ",") {
				name, value, _ := strings.Cut(pair, "=")
				arguments[name] = strings.Trim(value, `"`)
			}
			out = append(out, arguments)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// roles are the generated rules by namespace; those of the ClusterRole have none.
type roles map[string][]rbacv1.PolicyRule

func grants(t *testing.T, component string) roles {
	t.Helper()
	data, err := os.ReadFile("../../generated/manifests/rbac/" + component + "/role.yaml")
	if err != nil {
		t.Fatal(err)
	}
	out := roles{}
	for document := range strings.SplitSeq(string(data), "\n---\n") {
		role := rbacv1.Role{}
		if err := yaml.Unmarshal([]byte(document), &role); err != nil {
			t.Fatal(err)
		}
		out[role.Namespace] = role.Rules
	}
	return out
}

// missing lists what of a marker is not granted.
func (r roles) missing(marker map[string]string) (out []string) {
	list := func(name string) []string { return strings.Split(marker[name], ";") }
	for _, group := range list("groups") {
		for _, resource := range list("resources") {
			for _, verb := range list("verbs") {
				for _, name := range list("resourceNames") {
					if !slices.ContainsFunc(r[marker["namespace"]], func(rule rbacv1.PolicyRule) bool {
						return slices.Contains(rule.APIGroups, group) && slices.Contains(rule.Resources, resource) && slices.Contains(rule.Verbs, verb) &&
							(len(rule.ResourceNames) == 0 || slices.Contains(rule.ResourceNames, name))
					}) {
						out = append(out, verb+" "+resource+"."+group+" "+name)
					}
				}
			}
		}
	}
	return out
}
