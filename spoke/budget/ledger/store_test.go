// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-sh/flotilla/spoke/budget"
)

var resource = schema.GroupResource{Group: "policy.kruise.io", Resource: "podunavailablebudgets"}

// store has one budget in all its versions, as the API server does. It is the writer of its status.
type store struct {
	client.SubResourceWriter
	mu       sync.Mutex
	versions []*budget.Budget
	deleted  bool
	// fault, when set, is asked before a write: an error is answered, and written says whether the write happens yet.
	fault func() (err error, written bool)
	// reads and writes count requests.
	reads, writes int
}

func newStore(b *budget.Budget) *store {
	b.ResourceVersion = "1"
	return &store{versions: []*budget.Budget{b}}
}

func (s *store) newest() *budget.Budget {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.versions[len(s.versions)-1]
}

func (s *store) version(n int) *budget.Budget {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.versions[n]
}

func (s *store) Get(_ context.Context, _ client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	if s.deleted {
		return apierrors.NewNotFound(resource, "b")
	}
	s.versions[len(s.versions)-1].DeepCopyInto(obj.(*budget.Budget))
	return nil
}

func (s *store) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errors.New("not asked for")
}

// Patch merges a status into the newest version, if the patch is of that.
func (s *store) Patch(_ context.Context, obj client.Object, patch client.Patch, _ ...client.SubResourcePatchOption) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	newest := s.versions[len(s.versions)-1]
	body, err := patch.Data(obj)
	if err != nil {
		return err
	}
	var wish struct {
		Metadata struct{ ResourceVersion string }
		Status   struct {
			ObservedGeneration                                                    int64
			UnavailableAllowed, CurrentAvailable, DesiredAvailable, TotalReplicas int32
			DisruptedPods, UnavailablePods                                        map[string]*metav1.Time
		}
	}
	if err := json.Unmarshal(body, &wish); err != nil {
		return err
	}
	switch {
	case s.deleted:
		return apierrors.NewNotFound(resource, "b")
	case wish.Metadata.ResourceVersion != "" && wish.Metadata.ResourceVersion != newest.ResourceVersion:
		return apierrors.NewConflict(resource, "b", errors.New("changed"))
	}
	var answer error
	if s.fault != nil {
		err, written := s.fault()
		if err != nil && !written {
			return err
		}
		answer = err
	}
	after := newest.DeepCopy()
	after.ResourceVersion = strconv.Itoa(len(s.versions) + 1)
	after.Status.ObservedGeneration, after.Status.UnavailableAllowed = wish.Status.ObservedGeneration, wish.Status.UnavailableAllowed
	after.Status.CurrentAvailable, after.Status.DesiredAvailable = wish.Status.CurrentAvailable, wish.Status.DesiredAvailable
	after.Status.TotalReplicas = wish.Status.TotalReplicas
	merge(&after.Status.DisruptedPods, wish.Status.DisruptedPods)
	merge(&after.Status.UnavailablePods, wish.Status.UnavailablePods)
	s.versions = append(s.versions, after)
	if answer == nil {
		after.DeepCopyInto(obj.(*budget.Budget))
	}
	return answer
}

func merge(into *map[string]metav1.Time, from map[string]*metav1.Time) {
	for name, at := range from {
		if at == nil {
			delete(*into, name)
			continue
		}
		if *into == nil {
			*into = map[string]metav1.Time{}
		}
		(*into)[name] = *at
	}
}

// cache is one replica's, which may lag behind.
type cache struct {
	*store
	at int
}

func (c *cache) Get(_ context.Context, _ client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	c.version(c.at).DeepCopyInto(obj.(*budget.Budget))
	return nil
}

// follow lets the cache see all there is.
func (c *cache) follow() { c.mu.Lock(); c.at = len(c.versions) - 1; c.mu.Unlock() }
