// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"errors"
	"fmt"
	"strings"
)

// ProtectOperationsOf reads annotation PodUnavailableBudgetProtectOperationsKey, a list separated by commas. An error
// names the words that mean nothing; the others are read.
func ProtectOperationsOf(text string) ([]PubOperation, error) {
	var out []PubOperation
	var problems []error
	for _, word := range strings.Split(text, ",") {
		switch operation := PubOperation(strings.TrimSpace(word)); operation {
		case "":
		case PubDeleteOperation, PubUpdateOperation, PubEvictOperation, PubResizeOperation:
			out = append(out, operation)
		default:
			problems = append(problems, fmt.Errorf("%q is none of DELETE, UPDATE, EVICT and RESIZE", operation))
		}
	}
	return out, errors.Join(problems...)
}
