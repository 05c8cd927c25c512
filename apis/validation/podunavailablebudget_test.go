// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	policyv1beta1 "github.com/flotilla-sh/flotilla/apis/policy/v1beta1"
)

const soundBudget = `
metadata: {name: web, namespace: default}
spec:
  selector: {matchLabels: {app: web}}
  maxUnavailable: 30%
`

func TestValidatePodUnavailableBudget(t *testing.T) {
	const byTarget = "spec: {targetRef: {apiVersion: apps.kruise.io/v1beta1, kind: CloneSet, name: web}, minAvailable: 1}"
	const replicas = "metadata.annotations: {pub.kruise.io/protect-total-replicas: "
	others := []policyv1beta1.PodUnavailableBudget{
		*edited[policyv1beta1.PodUnavailableBudget](t, soundBudget),
		*edited[policyv1beta1.PodUnavailableBudget](t, soundBudget, "metadata.name: other", "spec.selector: {matchLabels: {app: taken}}"),
		*edited[policyv1beta1.PodUnavailableBudget](t, soundBudget, "metadata.name: third", "spec.selector:", "spec.targetRef: {apiVersion: apps.kruise.io/v1beta1, kind: CloneSet, name: taken}"),
		*edited[policyv1beta1.PodUnavailableBudget](t, soundBudget, "metadata.name: far", "metadata.namespace: other", "spec.selector: {matchLabels: {app: far}}"),
		{},
	}
	validate := func(obj *policyv1beta1.PodUnavailableBudget) field.ErrorList {
		return ValidatePodUnavailableBudget(nil, obj, others)
	}
	runRows(t, soundBudget, validate, map[string]row{
		"sound":                           good(),
		"by target":                       good(byTarget),
		"nothing protected":               bad("spec.targetRef: set it or selector", "spec.selector:"),
		"protected twice":                 bad("spec.selector: keep one of the two", "spec.targetRef: {apiVersion: apps/v1, kind: Deployment, name: a}"),
		"empty selector":                  bad("spec.selector: must not be empty", "spec.selector: {}"),
		"broken selector":                 bad("spec.selector.matchExpressions[0].operator: not a valid", "spec.selector: {matchExpressions: [{key: a, operator: Sideways}]}"),
		"target without a name":           bad("spec.targetRef.name: name the workload", byTarget, "spec.targetRef.name: ''"),
		"target of a broken version":      bad("spec.targetRef.apiVersion: a group and a version", byTarget, "spec.targetRef.apiVersion: a/b/c"),
		"no number":                       bad("spec.maxUnavailable: set it or minAvailable", "spec.maxUnavailable:"),
		"two numbers":                     bad("spec.maxUnavailable: keep one of the two", "spec.minAvailable: 1"),
		"none at all":                     good("spec.maxUnavailable: 0"),
		"all":                             good("spec.maxUnavailable: 100%"),
		"more than all":                   bad("spec.maxUnavailable: above 100%", "spec.maxUnavailable: 101%"),
		"below zero":                      bad("spec.maxUnavailable: 0 or more", "spec.maxUnavailable: -1"),
		"a number in quotes":              bad("spec.maxUnavailable: number (5) or a percentage", `spec.maxUnavailable: "5"`),
		"minAvailable, more than all":     bad("spec.minAvailable: above 100%", byTarget, "spec.minAvailable: 101%"),
		"operations":                      good("spec.protectOperations: [DELETE, UPDATE, EVICT, RESIZE]"),
		"operation unknown":               bad("spec.protectOperations[1]: supported values", "spec.protectOperations: [DELETE, delete]"),
		"total replicas":                  good("spec.protectTotalReplicas: 1"),
		"total replicas 0":                bad("spec.protectTotalReplicas: 1 or more", "spec.protectTotalReplicas: 0"),
		"annotation says the same":        good("spec.protectTotalReplicas: 7", replicas+"'7'}"),
		"annotation alone":                good(replicas + "'7'}"),
		"annotation says another thing":   bad("metadata.annotations[pub.kruise.io/protect-total-replicas]: must say what", "spec.protectTotalReplicas: 7", replicas+"'8'}"),
		"annotation is no number":         bad("metadata.annotations[pub.kruise.io/protect-total-replicas]: must be a number", replicas+"some}"),
		"annotation of operations passes": good("metadata.annotations: {kruise.io/pub-protect-operations: rubbish}"),
		"ignored pods":                    good("spec.ignoredPodSelector: {matchLabels: {a: b}}"),
		"all pods ignored":                bad("spec.ignoredPodSelector: must not be empty", "spec.ignoredPodSelector: {}"),
		"selector that is taken":          bad("spec.selector: of PodUnavailableBudget other", "spec.selector: {matchLabels: {app: taken}}"),
		"selector of another namespace":   good("spec.selector: {matchLabels: {app: far}}"),
		"selector with another key":       good("spec.selector: {matchLabels: {app: taken, tier: a}}"),
		"target that is taken":            bad("spec.targetRef: by PodUnavailableBudget third", byTarget, "spec.targetRef.name: taken"),
		"target of another kind":          good(byTarget, "spec.targetRef: {apiVersion: apps/v1, kind: Deployment, name: taken}"),
	})
}

func TestValidatePodUnavailableBudgetUpdate(t *testing.T) {
	for name, c := range map[string]struct{ both, edits, want []string }{
		"everything that may change": {edits: []string{"spec.maxUnavailable: 1", "spec.protectOperations: [DELETE]", "spec.protectTotalReplicas: 5", "spec.ignoredPodSelector: {matchLabels: {a: b}}"}},
		"selector":                   {edits: []string{"spec.selector: {matchLabels: {app: b}}"}, want: []string{"spec.selector: cannot be changed"}},
		"another way to protect": {edits: []string{"spec.selector:", "spec.targetRef: {apiVersion: apps/v1, kind: Deployment, name: a}"},
			want: []string{"spec.selector: cannot be changed", "spec.targetRef: cannot be changed"}},
		"version of the target": {both: []string{"spec.selector:", "spec.targetRef: {apiVersion: apps/v1, kind: Deployment, name: a}"}, edits: []string{"spec.targetRef.apiVersion: apps/v2"},
			want: []string{"spec.targetRef: cannot be changed"}},
		"a broken object, another field touched": {both: []string{"spec.minAvailable: 1"}, edits: []string{"spec.protectTotalReplicas: 5"}},
	} {
		t.Run(name, func(t *testing.T) {
			old := edited[policyv1beta1.PodUnavailableBudget](t, soundBudget, c.both...)
			obj := edited[policyv1beta1.PodUnavailableBudget](t, soundBudget, append(append([]string{}, c.both...), c.edits...)...)
			old.ResourceVersion, obj.ResourceVersion = "1", "1"
			compare(t, ValidatePodUnavailableBudget(old, obj, nil), c.want)
		})
	}
}

func TestLooselyOverlap(t *testing.T) {
	const in, notIn, exists, not = metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist
	selector := func(operator metav1.LabelSelectorOperator, values ...string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "k", Operator: operator, Values: values}}}
	}
	label := &metav1.LabelSelector{MatchLabels: map[string]string{"k": "a"}}
	for name, c := range map[string]struct {
		a, b *metav1.LabelSelector
		want bool
	}{
		"equal labels":             {label, label, true},
		"other values":             {label, &metav1.LabelSelector{MatchLabels: map[string]string{"k": "b"}}, false},
		"other keys":               {label, &metav1.LabelSelector{MatchLabels: map[string]string{"l": "a"}}, false},
		"more keys":                {label, &metav1.LabelSelector{MatchLabels: map[string]string{"k": "a", "l": "a"}}, false},
		"labels stand above":       {&metav1.LabelSelector{MatchLabels: map[string]string{"k": "a"}, MatchExpressions: selector(in, "b").MatchExpressions}, selector(in, "b"), false},
		"In, In":                   {selector(in, "a", "b"), selector(in, "b", "c"), true},
		"In, other In":             {selector(in, "a"), selector(in, "b", "c"), false},
		"In, Exists":               {selector(in, "a"), selector(exists), true},
		"In, DoesNotExist":         {selector(in, "a"), selector(not), false},
		"In, NotIn":                {selector(in, "a", "b"), selector(notIn, "a"), true},
		"In, NotIn of all":         {selector(in, "a", "b"), selector(notIn, "a", "b"), false},
		"Exists, Exists":           {selector(exists), selector(exists), true},
		"Exists, NotIn":            {selector(exists), selector(notIn, "a"), true},
		"Exists, DoesNotExist":     {selector(exists), selector(not), false},
		"NotIn, NotIn":             {selector(notIn, "a"), selector(notIn, "b"), true},
		"NotIn, DoesNotExist":      {selector(notIn, "a"), selector(not), true},
		"DoesNotExist, the same":   {selector(not), selector(not), true},
		"what nobody knows at all": {selector("Sideways"), selector(exists), false},
	} {
		if looselyOverlap(c.a, c.b) != c.want || looselyOverlap(c.b, c.a) != c.want {
			t.Errorf("%s: %v and %v, want %v", name, looselyOverlap(c.a, c.b), looselyOverlap(c.b, c.a), c.want)
		}
	}
}

// TestValidateOldPodUnavailableBudget: what v1alpha1 says in an annotation is read when it is new.
func TestValidateOldPodUnavailableBudget(t *testing.T) {
	of := func(text string) *policyv1beta1.PodUnavailableBudget {
		return &policyv1beta1.PodUnavailableBudget{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"kruise.io/pub-protect-operations": text}}}
	}
	for name, tc := range map[string]struct {
		old, obj *policyv1beta1.PodUnavailableBudget
		bad      bool
	}{
		"none":         {nil, &policyv1beta1.PodUnavailableBudget{}, false},
		"known":        {nil, of("DELETE, EVICT"), false},
		"unknown":      {nil, of("DELETE,drop"), true},
		"stored":       {of("drop"), of("drop"), false},
		"another word": {of("drop"), of("drip"), true},
	} {
		problems := ValidateOldPodUnavailableBudget(tc.old, tc.obj)
		if (len(problems) > 0) != tc.bad {
			t.Errorf("%s: %v", name, problems)
		}
	}
}
