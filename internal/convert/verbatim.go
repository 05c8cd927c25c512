// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// verbatim lists, for each kind, what has no schema, or keeps what its schema does not know, and is the same
// in all its versions. Containers of SidecarSets have fields of their own beside those of pods' containers;
// both versions have the same, so that whole lists are handed on. What the types hold as raw bytes, such as
// patches, needs no place here.
var verbatim = map[schema.GroupKind][][]string{
	appsv1beta1.Kind("AdvancedCronJob").GroupKind(): {
		{"spec", "template", "jobTemplate"},
		{"spec", "template", "broadcastJobTemplate", "metadata"},
		{"spec", "template", "broadcastJobTemplate", "spec", "template"},
	},
	appsv1beta1.Kind("BroadcastJob").GroupKind(): {
		{"spec", "template"},
	},
	appsv1beta1.Kind("CloneSet").GroupKind(): {
		{"spec", "template"}, {"spec", "volumeClaimTemplates"},
	},
	appsv1beta1.Kind("DaemonSet").GroupKind(): {
		{"spec", "template"},
	},
	appsv1beta1.Kind("ResourceDistribution").GroupKind(): {
		{"spec", "resource"},
	},
	appsv1beta1.Kind("SidecarSet").GroupKind(): {
		{"spec", "containers"}, {"spec", "initContainers"}, {"spec", "volumes"},
	},
	appsv1beta1.Kind("StatefulSet").GroupKind(): {
		{"spec", "template"}, {"spec", "volumeClaimTemplates"},
	},
	appsv1beta1.Kind("UnitedDeployment").GroupKind(): {
		{"spec", "template", "statefulSetTemplate"},
		{"spec", "template", "advancedStatefulSetTemplate"},
		{"spec", "template", "cloneSetTemplate"},
		{"spec", "template", "deploymentTemplate"},
	},
}

// handOn copies what is verbatim from the object that came to the converted one. Both are JSON objects
// of one kind.
func handOn(kind schema.GroupKind, from, to map[string]any) error {
	for _, path := range verbatim[kind] {
		value, found, err := unstructured.NestedFieldNoCopy(from, path...)
		if err != nil {
			return err
		}
		if !found {
			unstructured.RemoveNestedField(to, path...)
			continue
		}
		if err := setNested(to, value, path); err != nil {
			return err
		}
	}
	return nil
}

// setNested sets a field without copying its value.
func setNested(object map[string]any, value any, path []string) error {
	parent := path[:len(path)-1]
	into, found, err := unstructured.NestedFieldNoCopy(object, parent...)
	if err != nil {
		return err
	}
	fields, isObject := into.(map[string]any)
	if !found || !isObject {
		fields = map[string]any{}
		if err := unstructured.SetNestedMap(object, fields, parent...); err != nil {
			return err
		}
		into, _, _ = unstructured.NestedFieldNoCopy(object, parent...)
		fields, _ = into.(map[string]any)
	}
	fields[path[len(path)-1]] = value
	return nil
}
