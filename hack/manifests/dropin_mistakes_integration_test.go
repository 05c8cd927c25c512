// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package manifests

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-sh/flotilla/internal/convert"
	"github.com/flotilla-sh/flotilla/internal/testkit"
)

// mistakesStay wants what OpenKruise stored and our schemas refuse to be changed in all else, by users of every
// version, and deleted, while nobody can make another.
func (o *openKruise) mistakesStay(t *testing.T) {
	for _, sent := range objectsIn(t, filepath.Join("openkruise", "mistakes")) {
		what, field := keyOf(sent), sent.GetAnnotations()["field"]
		another := sent.DeepCopy()
		another.SetName("another")
		if err := client.NewDryRunClient(o.admin).Create(t.Context(), another); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), field) {
			t.Errorf("another %s: %v", what, err)
		}
		for _, version := range o.versionsOf(t, sent.GetKind()) {
			obj := &unstructured.Unstructured{}
			obj.SetGroupVersionKind(sent.GroupVersionKind().GroupKind().WithVersion(version))
			o.await(t, "changing "+what+" as "+version, func(ctx context.Context) error {
				if err := o.admin.Get(ctx, client.ObjectKeyFromObject(sent), obj); err != nil {
					return err
				}
				obj.SetLabels(with(obj.GetLabels(), "changed-as", version))
				err := o.admin.Update(ctx, obj)
				if err != nil && !apierrors.IsConflict(err) {
					t.Errorf("%s as %s cannot be changed: %v", what, version, err)
					return nil
				}
				return err
			})
		}
		if err := o.admin.Delete(t.Context(), sent.DeepCopy()); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func (o *openKruise) versionsOf(t *testing.T, kind string) []string {
	t.Helper()
	var out []string
	for _, crd := range o.crds {
		if crd.Spec.Names.Kind == kind {
			for _, version := range crd.Spec.Versions {
				out = append(out, version.Name)
			}
		}
	}
	if out == nil {
		t.Fatalf("no definition is of kind %s", kind)
	}
	return out
}

// addressRefused wants a cluster whose OpenKruise runs with WEBHOOK_HOST to be left alone, with its webhooks.
func (o *openKruise) addressRefused(t *testing.T) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	key := client.ObjectKey{Name: "sidecarsets.apps.kruise.io"}
	convertAt := func(url, service bool) {
		o.await(t, "another conversion", func(ctx context.Context) error {
			if err := o.admin.Get(ctx, key, crd); err != nil {
				return err
			}
			at := *o.converts.Webhook.ClientConfig
			if url {
				at.URL = ptr.To("https://198.51.100.1" + convert.Path)
			}
			if !service {
				at.Service = nil
			}
			crd.Spec.Conversion.Webhook.ClientConfig = &at
			return o.admin.Update(ctx, crd)
		})
	}
	convertAt(true, false)
	output, err := o.script(t, "switch").CombinedOutput()
	if said := string(output); err == nil || !strings.Contains(said, key.Name) || !strings.Contains(said, "WEBHOOK_HOST") || strings.Contains(said, "+ kubectl") {
		t.Errorf("%v\n%s", err, output)
	}
	o.hasWebhooks(t, "kruise-validating-webhook-configuration")
	convertAt(false, true)
}

func (o *openKruise) hasWebhooks(t *testing.T, names ...string) {
	t.Helper()
	list := &admissionregistrationv1.ValidatingWebhookConfigurationList{}
	if err := o.admin.List(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != len(names) {
		t.Fatalf("not %s are there, but %d", names, len(list.Items))
	}
	for i, name := range names {
		if list.Items[i].Name != name {
			t.Errorf("%s is there", list.Items[i].Name)
		}
	}
}

// halfway lets a switch fail when OpenKruise's webhooks are gone: it tells the way back, and that leads there.
func (o *openKruise) halfway(t *testing.T) {
	kubectl := filepath.Join(t.TempDir(), "kubectl")
	fails := "#!/bin/sh\ncase \"$*\" in *'scale deployment " + kruiseManager + "'*) exit 7 ;; esac\nexec '" + testkit.Program("kubectl") + "' \"$@\"\n"
	if err := os.WriteFile(kubectl, []byte(fails), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	cmd := o.script(t, "switch")
	cmd.Env = append(cmd.Env, "KUBECTL="+kubectl)
	output, err := cmd.CombinedOutput()
	if err == nil || !strings.HasSuffix(strings.TrimSpace(string(output)), "-s "+o.saved+" --yes back") {
		t.Errorf("%v\n%s", err, output)
	}
	o.hasWebhooks(t)
	if output, err := o.script(t, "back").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
	o.hasWebhooks(t, "kruise-validating-webhook-configuration")
}
