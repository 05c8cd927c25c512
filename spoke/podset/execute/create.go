// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-sh/flotilla/internal/ownership"
	"github.com/flotilla-sh/flotilla/spoke/podset"
)

// workers is how many requests of one plan are under way at once.
const workers = 32

// create makes the pods in batches of 1, 2, 4, … and stops after a batch with a failure.
func (e *Executor) create(ctx context.Context, owner client.Object, list []podset.Create, b Builder) []Fact {
	var facts []Fact
	for size := 1; len(list) > 0; size *= 2 {
		batch := list[:min(size, len(list))]
		list = list[len(batch):]
		built := make([]build, len(batch))
		for i := range batch {
			built[i] = newBuild(b, batch[i])
		}
		results := parallel(len(batch), func(i int) []Fact {
			err := e.createOne(ctx, owner, &built[i])
			return []Fact{{Kind: Created, Pod: built[i].pod, Reason: batch[i].Reason, Err: err}}
		})
		facts = append(facts, results...)
		for i := range results {
			if results[i].Err != nil {
				return facts
			}
		}
	}
	return facts
}

type build struct {
	pod    *corev1.Pod
	claims []*corev1.PersistentVolumeClaim
	err    error
}

func newBuild(b Builder, c podset.Create) build {
	pod, claims, err := b.Build(c)
	return build{pod, claims, err}
}

func (e *Executor) createOne(ctx context.Context, owner client.Object, b *build) error {
	if b.err != nil {
		return b.err
	}
	for i, claim := range b.claims {
		if err := e.ensureClaim(ctx, owner, claim); err != nil {
			e.spares.keep(owner.GetUID(), b.claims[:i])
			return err
		}
	}
	err := e.Client.Create(ctx, b.pod, e.FieldOwner, client.DisableReadYourWritesConsistency)
	switch {
	case err == nil:
		e.Expectations.Created(owner.GetUID(), b.pod, e.Now())
		return nil
	case answerLost(err):
		// It may or may not exist: the cache, or the API server later, will tell.
		e.Expectations.Created(owner.GetUID(), b.pod, e.Now())
	default:
		e.spares.keep(owner.GetUID(), b.claims)
	}
	return fmt.Errorf("create pod %s: %w", b.pod.Name, err)
}

// answerLost says whether the request may have been carried out all the same.
func answerLost(err error) bool {
	return apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) || apierrors.IsInternalError(err) ||
		apierrors.ReasonForError(err) == ""
}

// ensureClaim makes a claim. One of the same name that this workload controls will do.
func (e *Executor) ensureClaim(ctx context.Context, owner client.Object, claim *corev1.PersistentVolumeClaim) error {
	err := e.Client.Create(ctx, claim, e.FieldOwner, client.DisableReadYourWritesConsistency)
	if err == nil {
		e.Expectations.Created(owner.GetUID(), claim, e.Now())
		return nil
	}
	if !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create claim %s: %w", claim.Name, err)
	}
	var taken corev1.PersistentVolumeClaim
	if getErr := e.Live.Get(ctx, client.ObjectKeyFromObject(claim), &taken); getErr != nil {
		return fmt.Errorf("claim %s: %w", claim.Name, getErr)
	}
	if taken.DeletionTimestamp != nil {
		return fmt.Errorf("claim %s is being deleted", claim.Name)
	}
	if !ownership.IsControlledBy(&taken, owner.GetUID()) {
		return fmt.Errorf("claim %s belongs to somebody else", claim.Name)
	}
	return nil
}

// parallel calls do for 0..n-1 on a bounded number of workers and joins the facts in order.
func parallel(n int, do func(int) []Fact) []Fact {
	results := make([][]Fact, n)
	var wg sync.WaitGroup
	slots := make(chan struct{}, workers)
	for i := range n {
		slots <- struct{}{}
		wg.Add(1)
		go func() {
			defer func() { <-slots; wg.Done() }()
			results[i] = do(i)
		}()
	}
	wg.Wait()
	var out []Fact
	for _, r := range results {
		out = append(out, r...)
	}
	return out
}
