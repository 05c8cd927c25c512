// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package webhookserver

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestReleasePatch(t *testing.T) {
	o := &Options{Component: "c"}
	ours, theirs := metav1.ManagedFieldsEntry{Manager: "c-webhooks"}, metav1.ManagedFieldsEntry{Manager: "kubectl"}
	for name, tc := range map[string]struct {
		owners []metav1.ManagedFieldsEntry
		want   string
	}{
		"ours and theirs": {[]metav1.ManagedFieldsEntry{theirs, ours}, `{"metadata":{"managedFields":[{"manager":"kubectl"}],"resourceVersion":"1"}}`},
		"theirs":          {[]metav1.ManagedFieldsEntry{theirs}, ""},
		"ours":            {[]metav1.ManagedFieldsEntry{ours}, ""},
		"nobody's":        {nil, ""},
	} {
		cfg := newConfig(mutatingGVK)
		cfg.SetResourceVersion("1")
		cfg.SetManagedFields(tc.owners)
		patch, err := o.releasePatch(cfg)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if patch != nil {
			data, err := patch.Data(cfg)
			if err != nil {
				t.Fatal(err)
			}
			got = string(data)
		}
		if got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}
