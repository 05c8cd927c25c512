// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/conversion"

	"github.com/flotilla-sh/flotilla/apis/policy/v1beta1"
	"github.com/flotilla-sh/flotilla/apis/preserve"
)

const (
	operationsKey = v1beta1.PodUnavailableBudgetProtectOperationsKey
	replicasKey   = v1beta1.PodUnavailableBudgetProtectTotalReplicasKey
)

// Convert_v1alpha1_PodUnavailableBudget_To_v1beta1_PodUnavailableBudget also reads the annotations that
// v1alpha1 has for fields; they stay. It fails where they cannot be read: a budget that protects less than
// was asked for is worse than none that can be stored.
func Convert_v1alpha1_PodUnavailableBudget_To_v1beta1_PodUnavailableBudget(
	in *PodUnavailableBudget, out *v1beta1.PodUnavailableBudget, s conversion.Scope,
) error {
	return preserve.Through(way(s, budgetUp, budgetDown), in, out)
}

// Convert_v1beta1_PodUnavailableBudget_To_v1alpha1_PodUnavailableBudget also writes the annotations that
// v1alpha1 has for fields, and takes out those of fields that say nothing.
func Convert_v1beta1_PodUnavailableBudget_To_v1alpha1_PodUnavailableBudget(
	in *v1beta1.PodUnavailableBudget, out *PodUnavailableBudget, s conversion.Scope,
) error {
	return preserve.Through(way(s, budgetDown, budgetUp), in, out)
}

func budgetUp(in *PodUnavailableBudget, out *v1beta1.PodUnavailableBudget, s conversion.Scope) error {
	if err := autoConvert_v1alpha1_PodUnavailableBudget_To_v1beta1_PodUnavailableBudget(in, out, s); err != nil {
		return err
	}
	operations, err := operationsOf(in.Annotations[operationsKey])
	if err != nil {
		return fmt.Errorf("annotation %s: %w", operationsKey, err)
	}
	replicas, err := replicasOf(in.Annotations[replicasKey])
	if err != nil {
		return fmt.Errorf("annotation %s: %w", replicasKey, err)
	}
	out.Spec.ProtectOperations, out.Spec.ProtectTotalReplicas = operations, replicas
	return nil
}

// budgetDown leaves annotations alone that say what the fields say.
func budgetDown(in *v1beta1.PodUnavailableBudget, out *PodUnavailableBudget, s conversion.Scope) error {
	if err := autoConvert_v1beta1_PodUnavailableBudget_To_v1alpha1_PodUnavailableBudget(in, out, s); err != nil {
		return err
	}
	if said, err := operationsOf(in.Annotations[operationsKey]); err != nil || !slices.Equal(said, in.Spec.ProtectOperations) {
		words := make([]string, 0, len(in.Spec.ProtectOperations))
		for _, operation := range in.Spec.ProtectOperations {
			words = append(words, string(operation))
		}
		out.Annotations = withOrWithout(out.Annotations, operationsKey, strings.Join(words, ","))
	}
	replicas := ""
	if in.Spec.ProtectTotalReplicas != nil {
		replicas = strconv.Itoa(int(*in.Spec.ProtectTotalReplicas))
	}
	said, err := replicasOf(in.Annotations[replicasKey])
	if same := (said == nil) == (replicas == "") && (said == nil || *said == *in.Spec.ProtectTotalReplicas); err != nil || !same {
		out.Annotations = withOrWithout(out.Annotations, replicasKey, replicas)
	}
	return nil
}

func withOrWithout(annotations map[string]string, key, value string) map[string]string {
	if value == "" {
		return preserve.Without(annotations, key)
	}
	return preserve.With(annotations, key, value)
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

// replicasOf reads a number of pods; no text is none.
func replicasOf(text string) (*int32, error) {
	if text == "" {
		return nil, nil
	}
	read, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("%q is not a number of pods", text)
	}
	number := int32(read)
	return &number, nil
}

// Convert_v1beta1_PodUnavailableBudgetSpec_To_v1alpha1_PodUnavailableBudgetSpec leaves to the whole object
// what only v1beta1 has fields for.
func Convert_v1beta1_PodUnavailableBudgetSpec_To_v1alpha1_PodUnavailableBudgetSpec(
	in *v1beta1.PodUnavailableBudgetSpec, out *PodUnavailableBudgetSpec, s conversion.Scope,
) error {
	return autoConvert_v1beta1_PodUnavailableBudgetSpec_To_v1alpha1_PodUnavailableBudgetSpec(in, out, s)
}
