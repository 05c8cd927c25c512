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
// v1alpha1 has for fields; they stay. What cannot be read of them is left out.
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
	// A mistake that is stored must not keep all budgets from being listed; admission refuses new ones.
	out.Spec.ProtectOperations, _ = v1beta1.ProtectOperationsOf(in.Annotations[operationsKey])
	out.Spec.ProtectTotalReplicas, _ = replicasOf(in.Annotations[replicasKey])
	return nil
}

// budgetDown leaves annotations alone that say what the fields say.
func budgetDown(in *v1beta1.PodUnavailableBudget, out *PodUnavailableBudget, s conversion.Scope) error {
	if err := autoConvert_v1beta1_PodUnavailableBudget_To_v1alpha1_PodUnavailableBudget(in, out, s); err != nil {
		return err
	}
	if said, _ := v1beta1.ProtectOperationsOf(in.Annotations[operationsKey]); !slices.Equal(said, in.Spec.ProtectOperations) {
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
	said, _ := replicasOf(in.Annotations[replicasKey])
	if same := (said == nil) == (replicas == "") && (said == nil || *said == *in.Spec.ProtectTotalReplicas); !same {
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
