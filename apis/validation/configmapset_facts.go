// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// mostRevisionBytes is how large the revisions of a set may be together, as JSON.
const mostRevisionBytes = 900 << 10

// ConfigMapSetHistory is what is known of a set's revisions.
type ConfigMapSetHistory struct {
	// Revisions that are kept, oldest first.
	Revisions []v1alpha1.ConfigMapSetRevisionEntry
	// Pods maps revisions to the names of active pods that have or should have them.
	Pods map[string][]string
}

// used says whether a revision cannot be dropped.
func (h *ConfigMapSetHistory) used(obj *v1alpha1.ConfigMapSet, hash string) bool {
	return len(h.Pods[hash]) > 0 || hash == obj.Status.CurrentRevision || hash == obj.Status.UpdateRevision && obj.Status.UpdatedReplicas > 0
}

// ValidateConfigMapSetHistory says whether there is room for the content of a set beside the revisions that
// are in use. Call it where data, customVersion or revisionHistoryLimit changed.
func ValidateConfigMapSetHistory(obj *v1alpha1.ConfigMapSet, history ConfigMapSetHistory) field.ErrorList {
	p := &problems{}
	path := field.NewPath("spec")
	hash := v1alpha1.ConfigMapSetRevision(obj.Spec.Data)
	var used []v1alpha1.ConfigMapSetRevisionEntry
	for _, entry := range history.Revisions {
		if version := obj.Spec.CustomVersion; version != "" && entry.CustomVersion == version && entry.Hash != hash {
			p.invalid(path.Child("customVersion"), version, "names other content already (revision "+entry.Hash+"): choose another name")
		}
		if entry.Hash == hash {
			continue
		}
		if history.used(obj, entry.Hash) {
			used = append(used, entry)
		}
	}
	limit := int(v1alpha1.DefaultConfigMapSetRevisionHistoryLimit)
	if obj.Spec.RevisionHistoryLimit != nil {
		limit = int(*obj.Spec.RevisionHistoryLimit)
	}
	if len(used)+1 > limit {
		p.forbidden(path.Child("revisionHistoryLimit"), fmt.Sprintf("%d revisions are in use besides the new one, by %s: raise the limit, or wait for those pods",
			len(used), usersOf(used, history.Pods)))
	}
	newest := v1alpha1.ConfigMapSetRevisionEntry{Hash: hash, CustomVersion: obj.Spec.CustomVersion, Data: obj.Spec.Data}
	if size := sizeOf(append(used, newest)); size > mostRevisionBytes {
		p.invalid(path.Child("data"), fmt.Sprintf("%d bytes", size), fmt.Sprintf("is too large beside the %d revisions in use: all may have %d bytes", len(used), mostRevisionBytes))
	}
	return p.list
}

// usersOf names at most five pods.
func usersOf(entries []v1alpha1.ConfigMapSetRevisionEntry, pods map[string][]string) string {
	var names []string
	for _, entry := range entries {
		names = append(names, pods[entry.Hash]...)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	switch {
	case len(names) == 0:
		return "the status of the set"
	case len(names) > 5:
		return fmt.Sprintf("pods %s and %d more", strings.Join(names[:5], ", "), len(names)-5)
	default:
		return "pods " + strings.Join(names, ", ")
	}
}

func sizeOf(entries []v1alpha1.ConfigMapSetRevisionEntry) int {
	text, err := json.Marshal(entries)
	if err != nil {
		return 0 // they have JSON
	}
	return len(text)
}

// ReloadSidecarFacts are what the reload sidecar of a set is taken from.
type ReloadSidecarFacts struct {
	// SidecarSet that type sidecarset names; nil where there is none.
	SidecarSet *v1beta1.SidecarSet
	// NamespaceLabels are the labels of the set's namespace.
	NamespaceLabels map[string]string
	// ConfigMap is the data of the one that type custom names; nil where there is none.
	ConfigMap map[string]string
	// ConfigMapOptional says that it is the default one: where it is missing the built-in container is used.
	ConfigMapOptional bool
}

// ValidateReloadSidecar says what is wrong with that from which a set, filled with its defaults, takes its reload
// sidecar, and what may be wrong with it.
func ValidateReloadSidecar(obj *v1alpha1.ConfigMapSet, facts ReloadSidecarFacts) (warnings []string, list field.ErrorList) {
	p := &problems{}
	config := obj.Spec.ReloadSidecarConfig
	if config == nil || config.Config == nil {
		return nil, nil
	}
	path := field.NewPath("spec", "reloadSidecarConfig", "config")
	switch {
	case config.Type == v1alpha1.ReloadSidecarTypeSidecarSet && config.Config.SidecarSetRef != nil:
		warnings = p.reloadSidecarSet(path.Child("sidecarSetRef"), obj, facts)
	case config.Type == v1alpha1.ReloadSidecarTypeCustom && config.Config.ConfigMapRef != nil:
		p.reloadConfigMap(path.Child("configMapRef"), config.Config.ConfigMapRef, facts)
	}
	return warnings, p.list
}

func (p *problems) reloadSidecarSet(path *field.Path, obj *v1alpha1.ConfigMapSet, facts ReloadSidecarFacts) []string {
	ref, set := obj.Spec.ReloadSidecarConfig.Config.SidecarSetRef, facts.SidecarSet
	if set == nil {
		p.list = append(p.list, field.NotFound(path.Child("name"), ref.Name))
		return nil
	}
	if imageOf(set, ref.ContainerName) == "" {
		p.invalid(path.Child("containerName"), ref.ContainerName, "must be a container of SidecarSet "+ref.Name+" with an image, or a native sidecar of it")
	}
	if set.Spec.NamespaceSelector != nil {
		if selector, err := metav1.LabelSelectorAsSelector(set.Spec.NamespaceSelector); err != nil || !selector.Matches(labels.Set(facts.NamespaceLabels)) {
			p.invalid(path.Child("name"), ref.Name, "does not match the namespace "+obj.Namespace+": widen its namespaceSelector")
		}
	}
	if !covers(set.Spec.Selector, obj.Spec.Selector) {
		return []string{"SidecarSet " + ref.Name + " may not match every pod that spec.selector matches: pods without its container get no content"}
	}
	return nil
}

// imageOf is the image of a container of a set that stays, empty when there is none.
func imageOf(set *v1beta1.SidecarSet, name string) string {
	for i := range set.Spec.Containers {
		if set.Spec.Containers[i].Name == name {
			return set.Spec.Containers[i].Image
		}
	}
	for i := range set.Spec.InitContainers {
		if container := &set.Spec.InitContainers[i].Container; container.Name == name && isNativeSidecar(container) {
			return container.Image
		}
	}
	return ""
}

// covers says whether every pod that inner matches is certainly matched by outer.
func covers(outer, inner *metav1.LabelSelector) bool {
	if outer == nil || inner == nil || len(outer.MatchExpressions) > 0 {
		return false
	}
	for key, value := range outer.MatchLabels {
		if actual, found := inner.MatchLabels[key]; !found || actual != value {
			return false
		}
	}
	return true
}

func (p *problems) reloadConfigMap(path *field.Path, ref *v1alpha1.ReloadSidecarConfigMapRef, facts ReloadSidecarFacts) {
	if facts.ConfigMap == nil {
		if !facts.ConfigMapOptional {
			p.list = append(p.list, field.NotFound(path, ref.Namespace+"/"+ref.Name))
		}
		return
	}
	if _, err := v1alpha1.ParseReloadSidecar(facts.ConfigMap[v1alpha1.ConfigMapSetSidecarKey]); err != nil {
		p.invalid(path, ref.Name, err.Error())
	}
}

// ValidateConfigMapSetDeletion says whether a set may be deleted that so many active pods use: labels
// policy.kruise.io/delete-protection on it or its namespace say.
func ValidateConfigMapSetDeletion(obj *v1alpha1.ConfigMapSet, namespaceLabels map[string]string, pods int) field.ErrorList {
	p := &problems{}
	for _, f := range []named[map[string]string]{{"the set", obj.Labels}, {"its namespace", namespaceLabels}} {
		switch f.value[v1beta1.DeleteProtectionKey] {
		case "Always":
			p.forbidden(field.NewPath("metadata", "labels").Key(v1beta1.DeleteProtectionKey), f.name+" is protected from deletion: take the label off first")
		case "Cascading":
			if pods > 0 {
				p.forbidden(field.NewPath("metadata", "labels").Key(v1beta1.DeleteProtectionKey),
					fmt.Sprintf("%s is protected from deletion while %d pods use the set: delete them, or take the label off first", f.name, pods))
			}
		}
	}
	return p.list
}
