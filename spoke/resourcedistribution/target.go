// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package resourcedistribution

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// untouched are the namespaces that never get a copy.
var untouched = sets.New(metav1.NamespaceSystem, metav1.NamespacePublic)

// namespaceFacts is what decides about a namespace that is there.
type namespaceFacts struct {
	labels map[string]string
	// going: it is being deleted.
	going bool
}

// aim tells which namespaces a ResourceDistribution is for.
type aim struct {
	all                bool
	included, excluded sets.Set[string]
	selector           labels.Selector
}

// aimOf takes the targets apart. The error is that of a selector which is none.
func aimOf(targets *v1beta1.ResourceDistributionTargets) (*aim, error) {
	out := &aim{all: targets.AllNamespaces, included: names(targets.IncludedNamespaces), excluded: names(targets.ExcludedNamespaces), selector: labels.Nothing()}
	if s := &targets.NamespaceSelector; len(s.MatchLabels)+len(s.MatchExpressions) > 0 { // an empty one picks none here
		selector, err := metav1.LabelSelectorAsSelector(s)
		if err != nil {
			return nil, err
		}
		out.selector = selector
	}
	return out, nil
}

func names(list v1beta1.ResourceDistributionTargetNamespaces) sets.Set[string] {
	out := sets.New[string]()
	for _, n := range list.List {
		out.Insert(n.Name)
	}
	return out
}

// takes tells whether a namespace that has these labels is a target.
func (a *aim) takes(name string, its map[string]string) bool {
	if untouched.Has(name) || a.excluded.Has(name) {
		return false
	}
	return a.all || a.included.Has(name) || a.selector.Matches(labels.Set(its))
}

// resolve divides namespaces into targets, which may not exist, and others, which do. Both are in order.
func (a *aim) resolve(there map[string]namespaceFacts) (targets, others []string) {
	for name, facts := range there {
		if a.takes(name, facts.labels) {
			targets = append(targets, name)
		} else {
			others = append(others, name)
		}
	}
	if !a.all {
		for name := range a.included {
			if _, exists := there[name]; !exists && a.takes(name, nil) {
				targets = append(targets, name)
			}
		}
	}
	slices.Sort(targets)
	slices.Sort(others)
	return targets, others
}
