// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"

	"github.com/flotilla-sh/flotilla/apis/conversiondata"
	"github.com/flotilla-sh/flotilla/apis/policy/v1beta1"
)

const (
	operationsKey = v1beta1.PodUnavailableBudgetProtectOperationsKey
	replicasKey   = v1beta1.PodUnavailableBudgetProtectTotalReplicasKey
)

// budgetOnlyBeta is what only v1beta1 says of a budget, or says in another form.
// +k8s:deepcopy-gen=false
// +k8s:openapi-gen=false
type budgetOnlyBeta struct {
	IgnoredPodSelector *metav1.LabelSelector `json:"ignoredPodSelector,omitempty"`
	Protection         *protection           `json:"protection,omitempty"`
}

// protection is what v1beta1 has fields for, beside which v1alpha1's annotations may stand.
// +k8s:deepcopy-gen=false
// +k8s:openapi-gen=false
type protection struct {
	Operations           []v1beta1.PubOperation `json:"operations,omitempty"`
	TotalReplicas        *int32                 `json:"totalReplicas,omitempty"`
	OperationsAnnotation *string                `json:"operationsAnnotation,omitempty"`
	ReplicasAnnotation   *string                `json:"replicasAnnotation,omitempty"`
}

// protectionUp reads the annotations of v1alpha1. It fails on what it cannot read: a budget that protects
// less than was asked for is worse than none that can be stored.
func protectionUp(operations, replicas *string) (protection, error) {
	up := protection{OperationsAnnotation: operations, ReplicasAnnotation: replicas}
	if operations != nil {
		read, err := operationsOf(*operations)
		if err != nil {
			return protection{}, fmt.Errorf("annotation %s: %w", operationsKey, err)
		}
		up.Operations = read
	}
	if replicas != nil && *replicas != "" {
		read, err := strconv.ParseInt(*replicas, 10, 32)
		if err != nil {
			return protection{}, fmt.Errorf("annotation %s: %q is not a number of pods", replicasKey, *replicas)
		}
		number := int32(read)
		up.TotalReplicas = &number
	}
	return up, nil
}

// operationsOf reads a list separated by commas.
func operationsOf(text string) ([]v1beta1.PubOperation, error) {
	var out []v1beta1.PubOperation
	for _, word := range strings.Split(text, ",") {
		switch operation := v1beta1.PubOperation(strings.TrimSpace(word)); operation {
		case "":
		case v1beta1.PubDeleteOperation, v1beta1.PubUpdateOperation, v1beta1.PubEvictOperation, v1beta1.PubResizeOperation:
			out = append(out, operation)
		default:
			return nil, fmt.Errorf("%q is none of DELETE, UPDATE, EVICT and RESIZE", operation)
		}
	}
	return out, nil
}

// down returns the annotations of v1alpha1: those that are there where they say the same as the fields,
// else what the fields say, and none for a field that says nothing.
func (p protection) down() (operations, replicas *string) {
	if up, err := protectionUp(p.OperationsAnnotation, nil); err == nil && slices.Equal(up.Operations, p.Operations) {
		operations = p.OperationsAnnotation
	} else if len(p.Operations) > 0 {
		words := make([]string, 0, len(p.Operations))
		for _, operation := range p.Operations {
			words = append(words, string(operation))
		}
		list := strings.Join(words, ",")
		operations = &list
	}
	if up, err := protectionUp(nil, p.ReplicasAnnotation); err == nil && equality.Semantic.DeepEqual(up.TotalReplicas, p.TotalReplicas) {
		replicas = p.ReplicasAnnotation
	} else if p.TotalReplicas != nil {
		number := strconv.Itoa(int(*p.TotalReplicas))
		replicas = &number
	}
	return operations, replicas
}

// Convert_v1alpha1_PodUnavailableBudget_To_v1beta1_PodUnavailableBudget also reads the annotations that
// v1alpha1 has for fields; they stay. It fails where they cannot be read.
func Convert_v1alpha1_PodUnavailableBudget_To_v1beta1_PodUnavailableBudget(
	in *PodUnavailableBudget, out *v1beta1.PodUnavailableBudget, s conversion.Scope,
) error {
	if err := autoConvert_v1alpha1_PodUnavailableBudget_To_v1beta1_PodUnavailableBudget(in, out, s); err != nil {
		return err
	}
	var kept budgetOnlyBeta
	conversiondata.Take(&out.ObjectMeta, v1beta1.SchemeGroupVersion.Version, &kept)
	out.Spec.IgnoredPodSelector = kept.IgnoredPodSelector

	operations, replicas := conversiondata.Value(in.Annotations, operationsKey), conversiondata.Value(in.Annotations, replicasKey)
	if kept.Protection != nil {
		was, wasReplicas := kept.Protection.down()
		if conversiondata.Same(was, operations) && conversiondata.Same(wasReplicas, replicas) {
			setProtection(out, *kept.Protection)
			return nil
		}
	}
	up, err := protectionUp(operations, replicas)
	if err != nil {
		return err
	}
	setProtection(out, up)
	return nil
}

func setProtection(out *v1beta1.PodUnavailableBudget, p protection) {
	out.Spec.ProtectOperations = p.Operations
	out.Spec.ProtectTotalReplicas = p.TotalReplicas
	annotate(&out.ObjectMeta, operationsKey, p.OperationsAnnotation)
	annotate(&out.ObjectMeta, replicasKey, p.ReplicasAnnotation)
}

// annotate leaves annotations alone that are as they should be.
func annotate(meta *metav1.ObjectMeta, key string, value *string) {
	if !conversiondata.Same(conversiondata.Value(meta.Annotations, key), value) {
		conversiondata.Annotate(meta, key, value)
	}
}

// Convert_v1beta1_PodUnavailableBudget_To_v1alpha1_PodUnavailableBudget also writes the annotations that
// v1alpha1 has for fields, and takes out those of fields that say nothing.
func Convert_v1beta1_PodUnavailableBudget_To_v1alpha1_PodUnavailableBudget(
	in *v1beta1.PodUnavailableBudget, out *PodUnavailableBudget, s conversion.Scope,
) error {
	if err := autoConvert_v1beta1_PodUnavailableBudget_To_v1alpha1_PodUnavailableBudget(in, out, s); err != nil {
		return err
	}
	conversiondata.Take(&out.ObjectMeta, SchemeGroupVersion.Version, &struct{}{}) // nothing is v1alpha1's alone
	only := budgetOnlyBeta{IgnoredPodSelector: in.Spec.IgnoredPodSelector}
	now := protection{
		Operations: in.Spec.ProtectOperations, TotalReplicas: in.Spec.ProtectTotalReplicas,
		OperationsAnnotation: conversiondata.Value(in.Annotations, operationsKey),
		ReplicasAnnotation:   conversiondata.Value(in.Annotations, replicasKey),
	}
	operations, replicas := now.down()
	annotate(&out.ObjectMeta, operationsKey, operations)
	annotate(&out.ObjectMeta, replicasKey, replicas)
	if again, err := protectionUp(operations, replicas); err != nil || !equality.Semantic.DeepEqual(again, now) {
		only.Protection = &now
	}
	return conversiondata.Put(&out.ObjectMeta, v1beta1.SchemeGroupVersion.Version, only)
}

// Convert_v1beta1_PodUnavailableBudgetSpec_To_v1alpha1_PodUnavailableBudgetSpec leaves to the whole object
// what only v1beta1 has fields for.
func Convert_v1beta1_PodUnavailableBudgetSpec_To_v1alpha1_PodUnavailableBudgetSpec(
	in *v1beta1.PodUnavailableBudgetSpec, out *PodUnavailableBudgetSpec, s conversion.Scope,
) error {
	return autoConvert_v1beta1_PodUnavailableBudgetSpec_To_v1alpha1_PodUnavailableBudgetSpec(in, out, s)
}
