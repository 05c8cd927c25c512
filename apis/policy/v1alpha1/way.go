// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/conversion"

	"github.com/flotilla-sh/flotilla/apis/preserve"
)

// way is a conversion that comes back: what would be lost on the way is kept in an annotation.
func way[From, To any](
	s conversion.Scope, forth func(*From, *To, conversion.Scope) error, back func(*To, *From, conversion.Scope) error,
) preserve.Way[From, To] {
	return preserve.Way[From, To]{
		Forth: func(in *From, out *To) error { return forth(in, out, s) },
		Back:  func(in *To, out *From) error { return back(in, out, s) },
	}
}
