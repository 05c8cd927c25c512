// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"

	hubsetup "github.com/flotilla-sh/flotilla/hub/setup"
	"github.com/flotilla-sh/flotilla/internal/convert"
	"github.com/flotilla-sh/flotilla/internal/testkit"
	spokesetup "github.com/flotilla-sh/flotilla/spoke/setup"
)

// TestEveryKindIsConverted: a component converts each kind that has several versions and no other, the API
// server asks that component, and its keeper may tell the API server so.
func TestEveryKindIsConverted(t *testing.T) {
	for component, scheme := range map[string]*runtime.Scheme{"hub": hubsetup.Scheme(), "spoke": spokesetup.Scheme()} {
		var several, patched []string
		for _, obj := range build(t, filepath.Join(testkit.Root(), "kustomize", component)) {
			switch obj.GetKind() {
			case "CustomResourceDefinition":
				crd := apiextensionsv1.CustomResourceDefinition{}
				fromUnstructured(t, obj.Object, &crd)
				asksFor(t, component, &crd)
				if len(crd.Spec.Versions) > 1 {
					several = append(several, crd.Name)
					converts(t, scheme, &crd)
				}
			case "ClusterRole":
				role := rbacv1.ClusterRole{}
				fromUnstructured(t, obj.Object, &role)
				patched = append(patched, patchable(&role)...)
			}
		}
		slices.Sort(several)
		slices.Sort(patched)
		if diff := cmp.Diff(several, patched); diff != "" || len(several) < 17 {
			t.Errorf("%s: definitions with several versions (-), and those that the role lets the keeper patch (+):\n%s", component, diff)
		}
	}
}

func fromUnstructured(t *testing.T, object map[string]any, into any) {
	t.Helper()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, into); err != nil {
		t.Fatal(err)
	}
}

// asksFor wants a conversion webhook of a definition exactly if it has several versions.
func asksFor(t *testing.T, component string, crd *apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	conversion := crd.Spec.Conversion
	if len(crd.Spec.Versions) == 1 {
		if conversion != nil && conversion.Strategy != apiextensionsv1.NoneConverter {
			t.Errorf("%s: %s has one version and is converted", component, crd.Name)
		}
		return
	}
	if conversion == nil || conversion.Strategy != apiextensionsv1.WebhookConverter {
		t.Errorf("%s: %s has several versions and is not converted", component, crd.Name)
		return
	}
	service := conversion.Webhook.ClientConfig.Service
	if service.Name != "flotilla-"+component+"-webhook" || service.Namespace != "flotilla-system" || *service.Path != convert.Path {
		t.Errorf("%s: %s is converted by %v", component, crd.Name, service)
	}
}

// converts wants every version of a kind to become every other.
func converts(t *testing.T, scheme *runtime.Scheme, crd *apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	for _, from := range crd.Spec.Versions {
		raw, err := json.Marshal(map[string]any{
			"apiVersion": crd.Spec.Group + "/" + from.Name, "kind": crd.Spec.Names.Kind, "metadata": map[string]any{"name": "a"},
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, to := range crd.Spec.Versions {
			if _, err := convert.Object(scheme, raw, crd.Spec.Group+"/"+to.Name); err != nil {
				t.Error(err)
			}
		}
	}
}

// patchable names the definitions that a role lets its holder patch.
func patchable(role *rbacv1.ClusterRole) []string {
	var out []string
	for _, rule := range role.Rules {
		if slices.Contains(rule.Resources, "customresourcedefinitions") && slices.Contains(rule.Verbs, "patch") {
			out = append(out, rule.ResourceNames...)
		}
	}
	return out
}
