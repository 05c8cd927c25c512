// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// converted validates an object of an older version as what it is stored as. Complaints name fields as the
// storage version has them.
func converted[Old, New any](
	old, obj *Old, convert func(*Old, *New, conversion.Scope) error, validate func(old, obj *New) field.ErrorList,
) field.ErrorList {
	stored, err := convertedOne(obj, convert)
	if err != nil {
		return field.ErrorList{field.Invalid(field.NewPath("spec"), nil, err.Error())}
	}
	if old == nil {
		return validate(nil, stored)
	}
	before, err := convertedOne(old, convert)
	if err != nil {
		return field.ErrorList{field.Invalid(field.NewPath("spec"), nil, err.Error())}
	}
	return validate(before, stored)
}

func convertedOne[Old, New any](obj *Old, convert func(*Old, *New, conversion.Scope) error) (*New, error) {
	out := new(New)
	return out, convert(obj, out, nil)
}
