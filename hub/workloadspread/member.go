// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package workloadspread

import (
	"encoding/json"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/hub/placement"
	"github.com/flotilla-sh/flotilla/hub/render"
	"github.com/flotilla-sh/flotilla/hub/share"
)

// member is one cluster's part of the WorkloadSpread.
type member struct {
	cluster placement.Cluster
	subsets []any
	// says tells that some subset says something of nodes, tolerations or pods.
	says bool
}

// add adds a subset with what is left of its required term, and with a bound, nil for none.
func (m *member) add(s subset, term corev1.NodeSelectorTerm, bound any) {
	out := maps.Clone(s.raw)
	if out == nil {
		out = map[string]any{"name": s.name}
	}
	for _, field := range []string{"maxReplicas", "requiredNodeSelector", "preferredNodeSelector"} {
		delete(out, field)
	}
	if bound != nil {
		out["maxReplicas"] = bound
	}
	if len(term.MatchExpressions) > 0 {
		out["requiredNodeSelector"] = fieldsOf(&term)
	}
	if list := m.preferred(s); len(list) > 0 {
		out["preferredNodeSelector"] = list
	}
	for _, field := range []string{"requiredNodeSelector", "preferredNodeSelector", "tolerations", "patch"} {
		m.says = m.says || !isEmpty(out[field])
	}
	m.subsets = append(m.subsets, out)
}

// preferred are the preferences that are left to choose among the cluster's nodes: those that hold for
// none of them, or for all, choose nothing.
func (m *member) preferred(s subset) (out []any) {
	raw, _ := s.raw["preferredNodeSelector"].([]any)
	for i, term := range s.preferred {
		verdict := term.Match(m.cluster)
		if len(verdict.Member.MatchExpressions) == 0 || i >= len(raw) {
			continue
		}
		one, _ := raw[i].(map[string]any)
		fields := maps.Clone(one)
		fields["preference"] = fieldsOf(&verdict.Member)
		out = append(out, fields)
	}
	return out
}

// fieldsOf is a term as fields of an object.
func fieldsOf(term *corev1.NodeSelectorTerm) map[string]any {
	fields, _ := runtime.DefaultUnstructuredConverter.ToUnstructured(term) // a term came in, so it goes out
	return fields
}

func isEmpty(field any) bool {
	switch field := field.(type) {
	case nil:
		return true
	case map[string]any:
		return len(field) == 0
	case []any:
		return len(field) == 0
	default:
		return false
	}
}

// copies makes the members' WorkloadSpreads, equal ones once.
type copies struct {
	base *unstructured.Unstructured
	// open tells that the last of several subsets must have no bound, or the object is refused.
	open bool
	made map[string]*unstructured.Unstructured
}

func (d Divider) copies(spec *appsv1beta1.WorkloadSpreadSpec) copies {
	return copies{base: render.Base(d.Spread), open: spec.ScheduleStrategy.Adaptive != nil, made: map[string]*unstructured.Unstructured{}}
}

// of is a member's WorkloadSpread; nil when it has nothing to say there.
func (c copies) of(m member) *unstructured.Unstructured {
	if !m.says {
		return nil
	}
	if last := len(m.subsets) - 1; c.open && last > 0 {
		delete(m.subsets[last].(map[string]any), "maxReplicas")
	}
	key, _ := json.Marshal(m.subsets) // JSON came in, so JSON goes out
	if known := c.made[string(key)]; known != nil {
		return known
	}
	object := maps.Clone(c.base.Object)
	share.Child(object, "spec")["subsets"] = m.subsets
	c.made[string(key)] = &unstructured.Unstructured{Object: object}
	return c.made[string(key)]
}
