// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-sh/flotilla/internal/ownership"
)

// Observe brings the cached objects of one kind of one workload up to the writes made before. While
// writes are missing it returns how long to wait at most, and the objects must not be planned on.
// When they have been missing for longer than Patience, the API server is asked about each, and its
// answer takes the place of the cache's. fresh makes an empty object of the kind. The result is
// sorted by name.
func Observe[T client.Object](ctx context.Context, e *Executor, owner client.Object, cached []T, fresh func() T) ([]T, time.Duration, error) {
	s := scope{owner.GetUID(), kindOf(fresh())}
	var missing []expected
	if e.Expectations.any(s) {
		byName := make(map[string]client.Object, len(cached))
		for _, obj := range cached {
			byName[obj.GetName()] = obj
		}
		missing = e.Expectations.settle(s, byName)
	}
	if len(missing) == 0 {
		return sortByName(cached), 0, nil
	}
	now := e.Now()
	var wait time.Duration
	for i := range missing {
		wait = max(wait, missing[i].since.Add(Patience).Sub(now))
	}
	if wait > 0 {
		return nil, wait, nil
	}
	if e.Lagged != nil {
		e.Lagged(owner)
	}
	live, err := ask(ctx, e, owner, missing, fresh)
	if err != nil {
		return nil, 0, err
	}
	e.Expectations.asked(s, missing, func(name string) bool { obj, ok := live[name]; return ok && obj != nil }, now)
	return sortByName(overlay(cached, live)), 0, nil
}

// ask reads the missing objects from the API server; nil stands for one that is not there, or not the
// workload's.
func ask[T client.Object](ctx context.Context, e *Executor, owner client.Object, missing []expected, fresh func() T) (map[string]*T, error) {
	live := make(map[string]*T, len(missing))
	for i := range missing {
		name := missing[i].name
		if _, asked := live[name]; asked {
			continue
		}
		obj := fresh()
		err := e.Live.Get(ctx, types.NamespacedName{Namespace: owner.GetNamespace(), Name: name}, obj)
		switch {
		case apierrors.IsNotFound(err):
			live[name] = nil
		case err != nil:
			return nil, fmt.Errorf("asking the API server for %s: %w", name, err)
		case ownership.IsControlledBy(obj, owner.GetUID()):
			live[name] = &obj
		default:
			live[name] = nil
		}
	}
	return live, nil
}

// overlay puts the API server's answers in the place of what the cache holds.
func overlay[T client.Object](cached []T, live map[string]*T) []T {
	out := make([]T, 0, len(cached)+len(live))
	for _, obj := range cached {
		if _, asked := live[obj.GetName()]; !asked {
			out = append(out, obj)
		}
	}
	for _, obj := range live {
		if obj != nil {
			out = append(out, *obj)
		}
	}
	return out
}

func sortByName[T client.Object](list []T) []T {
	slices.SortFunc(list, func(a, b T) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return list
}

func kindOf(obj client.Object) string { return fmt.Sprintf("%T", obj) }
