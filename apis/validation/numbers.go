// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const wantsNumberOrPercent = "must be a number (5) or a percentage in quotes (\"20%\")"

// percentOf returns the number before the percent sign.
func percentOf(value intstr.IntOrString) (float64, bool) {
	digits, isPercent := strings.CutSuffix(value.StrVal, "%")
	percent, err := strconv.ParseFloat(digits, 64)
	return percent, isPercent && err == nil && !math.IsNaN(percent) && !math.IsInf(percent, 0)
}

// numberOrPercent wants a number of zero or more, or a percentage, and says whether it is one. A number
// in quotes is neither. Fractions of a percent are for the fields that are known to take them.
func (p *problems) numberOrPercent(path *field.Path, value *intstr.IntOrString, fractions bool) bool {
	detail := ""
	percent, ok := 0.0, true
	switch {
	case value == nil:
	case value.Type == intstr.Int:
		if value.IntVal < 0 {
			detail = "must be 0 or more"
		}
	default:
		percent, ok = percentOf(*value)
	}
	switch {
	case !ok:
		detail = wantsNumberOrPercent
	case percent < 0:
		detail = "must be 0% or more"
	case !fractions && percent != math.Trunc(percent):
		detail = "must be a whole percentage"
	}
	if detail == "" {
		return true
	}
	p.invalid(path, value.String(), detail)
	return false
}

// roundedUp is how many of total a value means, percentages rounded up; 0 when it means nothing.
func roundedUp(value *intstr.IntOrString, total int32) int64 {
	if value == nil {
		return 0
	}
	if value.Type == intstr.Int {
		return int64(value.IntVal)
	}
	percent, ok := percentOf(*value)
	if !ok {
		return 0
	}
	return int64(math.Ceil(percent * float64(total) / 100))
}

// subsetReplicas reads a number of replicas of a subset: a number of zero or more, or a whole
// percentage of total between 0% and 100%, rounded half up. A nil total admits no percentage.
func subsetReplicas(value intstr.IntOrString, total *int32) (int64, error) {
	if value.Type == intstr.Int {
		if value.IntVal < 0 {
			return 0, errors.New("must be 0 or more")
		}
		return int64(value.IntVal), nil
	}
	digits, isPercent := strings.CutSuffix(value.StrVal, "%")
	percent, err := strconv.ParseInt(digits, 10, 32)
	if !isPercent || err != nil {
		return 0, errors.New(wantsNumberOrPercent)
	}
	if percent < 0 || percent > 100 {
		return 0, errors.New("must be between 0% and 100%")
	}
	if total == nil {
		return 0, errors.New("is a percentage: set spec.replicas, which it is a percentage of")
	}
	return (int64(*total)*percent + 50) / 100, nil
}

// wholeNumber reads a number, in quotes or not.
func wholeNumber(value intstr.IntOrString) (int, error) {
	if value.Type == intstr.Int {
		return int(value.IntVal), nil
	}
	return strconv.Atoi(value.StrVal)
}
