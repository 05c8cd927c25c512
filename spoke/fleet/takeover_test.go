// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func holder(manager string, operation metav1.ManagedFieldsOperationType, subresource, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{Manager: manager, Operation: operation, Subresource: subresource, FieldsV1: metav1.NewFieldsV1(fields)}
}

func TestWithoutShared(t *testing.T) {
	const update, apply = metav1.ManagedFieldsOperationUpdate, metav1.ManagedFieldsOperationApply
	ours := holder("fleet-template", apply, "", `{"f:spec":{"f:a":{},"f:list":{"k:{\"name\":\"x\"}":{".":{},"f:name":{}}}}}`)
	split := holder("fleet-split", apply, "", `{"f:spec":{"f:replicas":{}}}`)
	scale := holder("autoscaler", update, "scale", `{"f:spec":{"f:replicas":{}}}`)
	alone := holder("operator", update, "", `{"f:metadata":{"f:annotations":{"f:x":{}}}}`)
	for name, tc := range map[string]struct {
		before, want []metav1.ManagedFieldsEntry
		changed      bool
	}{
		"nobody shares": {[]metav1.ManagedFieldsEntry{ours, scale, alone}, []metav1.ManagedFieldsEntry{ours, scale, alone}, false},
		"shared fields go, their own stay": {
			[]metav1.ManagedFieldsEntry{holder("hand", update, "", `{"f:spec":{"f:a":{},"f:b":{},"f:list":{"k:{\"name\":\"x\"}":{".":{},"f:name":{},"f:more":{}}}}}`), ours},
			[]metav1.ManagedFieldsEntry{holder("hand", update, "", `{"f:spec":{"f:b":{},"f:list":{"k:{\"name\":\"x\"}":{"f:more":{}}}}}`), ours}, true},
		"an empty entry goes": {
			[]metav1.ManagedFieldsEntry{holder("kubectl", apply, "", `{"f:spec":{"f:a":{},"f:replicas":{}}}`), ours, split},
			[]metav1.ManagedFieldsEntry{ours, split}, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, changed, err := withoutShared(tc.before)
			if err != nil || changed != tc.changed {
				t.Fatal(changed, err)
			}
			text := cmp.Transformer("text", func(f *metav1.FieldsV1) string { return f.GetRawString() })
			if d := cmp.Diff(tc.want, got, text); d != "" {
				t.Error(d)
			}
		})
	}
	if _, _, err := withoutShared([]metav1.ManagedFieldsEntry{ours, holder("odd", update, "", `{"f:`)}); err == nil {
		t.Error("unreadable fields were taken for none")
	}
}
