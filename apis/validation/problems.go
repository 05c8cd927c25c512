// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// problems collects what is wrong.
type problems struct{ list field.ErrorList }

func (p *problems) add(list field.ErrorList) { p.list = append(p.list, list...) }

func (p *problems) invalid(path *field.Path, value any, detail string) {
	p.list = append(p.list, field.Invalid(path, value, detail))
}

func (p *problems) required(path *field.Path, detail string) {
	p.list = append(p.list, field.Required(path, detail))
}

func (p *problems) forbidden(path *field.Path, detail string) {
	p.list = append(p.list, field.Forbidden(path, detail))
}

func (p *problems) duplicate(path *field.Path, value any) {
	p.list = append(p.list, field.Duplicate(path, value))
}

// oneOf wants value among the allowed ones.
func oneOf[T ~string](p *problems, path *field.Path, value T, allowed ...T) {
	for _, candidate := range allowed {
		if value == candidate {
			return
		}
	}
	p.list = append(p.list, field.NotSupported(path, value, allowed))
}

// check adds a complaint for each message that a name check gives.
func (p *problems) check(path *field.Path, value string, messages []string) {
	for _, message := range messages {
		p.invalid(path, value, message)
	}
}

// notNegative wants a number of zero or more.
func (p *problems) notNegative(path *field.Path, value int64) {
	if value < 0 {
		p.invalid(path, value, "must be 0 or more")
	}
}

// number wants a number between least and most.
func (p *problems) number(path *field.Path, value, least, most int64, detail string) {
	if value < least || value > most {
		p.invalid(path, value, detail)
	}
}

// unique complains of the second use of a value; empty ones are somebody else's complaint.
func unique[T comparable](p *problems, seen map[T]bool, path *field.Path, value T) {
	var empty T
	if value != empty && seen[value] {
		p.duplicate(path, value)
	}
	seen[value] = true
}

// named is a field by its name: order is kept, as a map would not.
type named[T any] struct {
	name  string
	value T
}

// since leaves out the complaints that the stored object gives rise to as well, word for word.
func (p *problems) since(stored field.ErrorList) field.ErrorList {
	var fresh field.ErrorList
	for _, problem := range p.list {
		if !contains(stored, problem) {
			fresh = append(fresh, problem)
		}
	}
	return fresh
}

func contains(list field.ErrorList, problem *field.Error) bool {
	for _, other := range list {
		if other.Type == problem.Type && other.Field == problem.Field && other.Detail == problem.Detail && sameValue(other.BadValue, problem.BadValue) {
			return true
		}
	}
	return false
}

// sameValue compares what is complained of. Errors, which internal errors complain of, are compared by their
// text: what is inside is their own.
func sameValue(a, b any) bool {
	one, isError := a.(error)
	other, areErrors := b.(error)
	if isError && areErrors {
		return one.Error() == other.Error()
	}
	return isError == areErrors && equality.Semantic.DeepEqual(a, b)
}
