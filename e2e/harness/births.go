// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import "context"

// Births counts the pods that ever were, in all members.
type Births []*PodWatch

// WatchBirths follows the pods of an app in a namespace of all members, from now until ctx ends.
func (f *Fleet) WatchBirths(ctx context.Context, namespace, app string) (Births, error) {
	var b Births
	for _, member := range f.Members {
		watch, err := member.WatchPods(ctx, namespace, app)
		if err != nil {
			return nil, err
		}
		b = append(b, watch)
	}
	return b, nil
}

// Count is how many different pods were seen.
func (b Births) Count() int {
	n := 0
	for _, watch := range b {
		n += watch.Born()
	}
	return n
}
