// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// selector wants a label selector that is valid and selects by something. It returns what it selects,
// or nil when it cannot be used.
func (p *problems) selector(path *field.Path, selector *metav1.LabelSelector) labels.Selector {
	if selector == nil {
		p.required(path, "say which pods belong to the object")
		return nil
	}
	lenient := metav1validation.LabelSelectorValidationOptions{AllowInvalidLabelValueInSelector: true}
	if problems := metav1validation.ValidateLabelSelector(selector, lenient, path); len(problems) > 0 {
		p.add(problems)
		return nil
	}
	if len(selector.MatchLabels)+len(selector.MatchExpressions) == 0 {
		p.invalid(path, selector, "must not be empty: it would select every pod of the namespace")
		return nil
	}
	compiled, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		p.invalid(path, selector, err.Error())
		return nil
	}
	return compiled
}

// selected wants labels that the selector selects; a nil selector was complained of already.
func (p *problems) selected(path *field.Path, selector labels.Selector, set map[string]string) {
	if selector != nil && !selector.Matches(labels.Set(set)) {
		p.invalid(path, set, "must match spec.selector ("+selector.String()+")")
	}
}

// priority wants one kind of order, with sound terms.
func (p *problems) priority(path *field.Path, strategy *v1beta1.UpdatePriorityStrategy) {
	if strategy == nil {
		return
	}
	if len(strategy.WeightPriority) > 0 && len(strategy.OrderPriority) > 0 {
		p.required(path, "set either weightPriority or orderPriority, not both")
		return
	}
	for i := range strategy.WeightPriority {
		at, term := path.Child("weightPriority").Index(i), &strategy.WeightPriority[i]
		if term.Weight < 0 || term.Weight > 100 {
			p.required(at.Child("weight"), "must be between 0 and 100")
		}
		p.selector(at.Child("matchSelector"), &term.MatchSelector)
	}
	for i := range strategy.OrderPriority {
		if strategy.OrderPriority[i].OrderedKey == "" {
			p.required(path.Child("orderPriority").Index(i).Child("orderedKey"), "name a label key")
		}
	}
}

// scatter wants label keys, each pair of key and value once.
func (p *problems) scatter(path *field.Path, terms v1beta1.UpdateScatterStrategy) {
	seen := map[v1beta1.UpdateScatterTerm]bool{}
	for i, term := range terms {
		if term.Key == "" {
			p.required(path.Index(i).Child("key"), "name a label key")
		}
		unique(p, seen, path.Index(i), term)
	}
}

// inPlace wants whole numbers of zero or more; parallelism may be a number in quotes.
func (p *problems) inPlace(path *field.Path, strategy *v1beta1.InPlaceUpdateStrategy) {
	if strategy == nil {
		return
	}
	if parallelism := strategy.ImagePreDownloadParallelism; parallelism != nil {
		if value, err := wholeNumber(*parallelism); err != nil || value < 0 {
			p.invalid(path.Child("imagePreDownloadParallelism"), parallelism.String(), "must be a number of nodes, 0 or more, no percentage")
		}
	}
	if seconds := strategy.ImagePreDownloadTimeoutSeconds; seconds != nil {
		p.notNegative(path.Child("imagePreDownloadTimeoutSeconds"), int64(*seconds))
	}
	if pods := strategy.ImagePreDownloadMinUpdatedReadyPods; pods != nil {
		p.notNegative(path.Child("imagePreDownloadMinUpdatedReadyPods"), int64(*pods))
	}
}
