// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package books

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// store has one object, as the API server does. Its book is the pod's message: a number.
type store struct {
	client.Reader
	client.SubResourceWriter
	mu     sync.Mutex
	object corev1.Pod
	writes int
	// slow, when set, holds writes up.
	slow chan struct{}
}

func newStore() *store {
	s := &store{object: corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "b", UID: "u", ResourceVersion: "1"}}}
	s.object.Status.Message = "0"
	return s
}

func (s *store) Get(_ context.Context, _ client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.object.DeepCopyInto(obj.(*corev1.Pod))
	return nil
}

func (s *store) Patch(_ context.Context, obj client.Object, patch client.Patch, _ ...client.SubResourcePatchOption) error {
	if s.slow != nil {
		<-s.slow
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	body, err := patch.Data(obj)
	if err != nil {
		return err
	}
	var wish struct{ Version, Message string }
	if err := json.Unmarshal(body, &wish); err != nil {
		return err
	}
	if wish.Version != s.object.ResourceVersion {
		return apierrors.NewConflict(schema.GroupResource{}, "b", errors.New("changed"))
	}
	s.object.Status.Message = wish.Message
	n, _ := strconv.Atoi(s.object.ResourceVersion)
	s.object.ResourceVersion = strconv.Itoa(n + 1)
	s.object.DeepCopyInto(obj.(*corev1.Pod))
	return nil
}

func over(s *store) *Books[*corev1.Pod] {
	return &Books[*corev1.Pod]{
		Live: s, Writer: s, Clock: clock.RealClock{}, New: func() *corev1.Pod { return &corev1.Pod{} },
		Patch: func(before, after *corev1.Pod) (client.Patch, error) {
			body, err := json.Marshal(map[string]string{"Version": before.ResourceVersion, "Message": after.Status.Message})
			return client.RawPatch(types.MergePatchType, body), err
		},
	}
}

func number(p *corev1.Pod) int {
	n, _ := strconv.Atoi(p.Status.Message)
	return n
}

// take takes one while there are fewer than most.
func take(most int, got *atomic.Int32) Entry[*corev1.Pod] {
	return func(p *corev1.Pod) (changed, surer bool) {
		got.Store(0)
		if number(p) >= most {
			return false, true
		}
		p.Status.Message = strconv.Itoa(number(p) + 1)
		got.Store(1)
		return true, false
	}
}

// 200 at once, over two processes that see old copies: exactly as many as there is room for, and far fewer writes.
func TestNeverTooMany(t *testing.T) {
	s := newStore()
	seen := s.object.DeepCopy()
	replicas := []*Books[*corev1.Pod]{over(s), over(s)}
	var all sync.WaitGroup
	var sum atomic.Int32
	for i := range 200 {
		all.Go(func() {
			var got atomic.Int32
			for {
				_, err := replicas[i%2].Write(t.Context(), seen, take(37, &got))
				if err == nil {
					break
				}
				if !apierrors.IsConflict(err) && !errors.Is(err, ErrBusy) {
					t.Error(err)
					return
				}
			}
			sum.Add(got.Load())
		})
	}
	all.Wait()
	if sum.Load() != 37 || number(&s.object) != 37 {
		t.Errorf("%d got one, the books say %d", sum.Load(), number(&s.object))
	}
}

// Those who come while a write is under way are written together.
func TestTogether(t *testing.T) {
	s := newStore()
	s.slow = make(chan struct{})
	b := over(s)
	seen := s.object.DeepCopy()
	var all sync.WaitGroup
	enter := func() {
		all.Go(func() {
			var got atomic.Int32
			if _, err := b.Write(t.Context(), seen, take(100, &got)); err != nil {
				t.Error(err)
			}
		})
	}
	enter()
	await(t, b, func(p *page[*corev1.Pod]) bool { return p.busy && len(p.waiting) == 0 }) // its write is held up
	for range 49 {
		enter()
	}
	await(t, b, func(p *page[*corev1.Pod]) bool { return len(p.waiting) == 49 })
	close(s.slow)
	all.Wait()
	if number(&s.object) != 50 || s.writes != 2 {
		t.Errorf("%d booked in %d writes", number(&s.object), s.writes)
	}
}

// await waits until the object's page is as it should be.
func await(t *testing.T, b *Books[*corev1.Pod], is func(*page[*corev1.Pod]) bool) {
	t.Helper()
	for p := b.page("u"); t.Context().Err() == nil; time.Sleep(time.Millisecond) {
		p.mu.Lock()
		reached := is(p)
		p.mu.Unlock()
		if reached {
			return
		}
	}
}

// A change that panics spoils no other, and a change of nothing is not written.
func TestPanicAndNothing(t *testing.T) {
	s := newStore()
	b := over(s)
	seen := s.object.DeepCopy()
	var got atomic.Int32
	if _, err := b.Write(t.Context(), seen, func(p *corev1.Pod) (bool, bool) {
		p.Status.Message = "spoilt"
		panic("no")
	}); err == nil || err.Error() != "panic: no" {
		t.Errorf("%v", err)
	}
	if after, err := b.Write(t.Context(), seen, take(1, &got)); err != nil || number(after) != 1 {
		t.Errorf("%v, %v", after, err)
	}
	if after, err := b.Write(t.Context(), seen, take(1, &got)); err != nil || number(after) != 1 || s.writes != 1 {
		t.Errorf("%v, %v, %d writes", after, err, s.writes)
	}
	if fresh := b.Freshest(seen); number(fresh) != 1 {
		t.Errorf("%v", fresh)
	}
}

// An object that was made anew is another one.
func TestMadeAnew(t *testing.T) {
	s := newStore()
	seen := s.object.DeepCopy()
	s.object.UID, s.object.ResourceVersion = "other", "9"
	var got atomic.Int32
	if _, err := over(s).Write(t.Context(), seen, take(1, &got)); !apierrors.IsNotFound(err) {
		t.Error(fmt.Sprint(err))
	}
}
