// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	policyv1beta1 "github.com/flotilla-sh/flotilla/apis/policy/v1beta1"
	"github.com/flotilla-sh/flotilla/spoke/budget"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// protected is a ready pod stamped with budget b.
func protected(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Annotations: map[string]string{"pub.kruise.io/related-pub": "b"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "web:1"}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{
			{Type: corev1.PodReady, Status: corev1.ConditionTrue},
		}},
	}
}

// allowing is a store with a budget of ten pods of which so many may go.
func allowing(n int32) *store {
	b := &budget.Budget{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "b", UID: "uid"}}
	max := intstr.FromInt32(n)
	b.Spec.MaxUnavailable = &max
	b.Status = policyv1beta1.PodUnavailableBudgetStatus{UnavailableAllowed: n, CurrentAvailable: 10, DesiredAvailable: 10 - n, TotalReplicas: 10}
	return newStore(b)
}

// replica is a process over a store, with a cache of its own.
func replica(s *store, c clock.Clock) (*Ledger, *cache) {
	seen := &cache{store: s, at: len(s.versions) - 1}
	return &Ledger{Seen: seen, Live: s, Writer: s, FieldOwner: "test", Clock: c}, seen
}

func question(pod string, operation policyv1beta1.PubOperation) Question {
	return Question{Pod: protected(pod), Operation: operation}
}

const (
	deletion = policyv1beta1.PubDeleteOperation
	update   = policyv1beta1.PubUpdateOperation
)

func ask(t *testing.T, l *Ledger, q Question) Answer {
	t.Helper()
	answer, err := l.Ask(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// A process sees its own writes though its cache does not yet: the second pod is refused, the first is let through
// again at no cost, as when a workload that was let update a pod sends the update.
func TestOwnWritesAreSeen(t *testing.T) {
	s := allowing(1)
	l, _ := replica(s, clocktesting.NewFakeClock(noon))
	if a := ask(t, l, question("p0", update)); !a.Allowed || s.writes != 1 {
		t.Fatalf("%+v, %d writes", a, s.writes)
	}
	if a := ask(t, l, question("p0", update)); !a.Allowed || s.writes != 1 || s.reads != 0 {
		t.Errorf("again: %+v, %d writes, %d reads", a, s.writes, s.reads)
	}
	a := ask(t, l, question("p1", deletion))
	if a.Allowed || !a.Spent || !strings.Contains(a.Reason, "PodUnavailableBudget b: no more pods may be unavailable") || s.writes != 1 {
		t.Errorf("%+v, %d writes", a, s.writes)
	}
	if status := s.newest().Status; status.UnavailableAllowed != 0 || len(status.UnavailablePods) != 1 {
		t.Errorf("%+v", status)
	}
}

// What the other replica reserved is honoured though this one's cache lags: by the conflict, or by a look before it
// refuses.
func TestOtherReplicasWritesAreSeen(t *testing.T) {
	s := allowing(1)
	now := clocktesting.NewFakeClock(noon)
	one, _ := replica(s, now)
	two, _ := replica(s, now)
	three, seen := replica(s, now)
	ask(t, one, question("p0", update))
	if a := ask(t, two, question("p0", update)); !a.Allowed || s.writes != 2 || len(s.versions) != 2 {
		t.Errorf("the same pod: %+v, %d writes", a, s.writes)
	}
	if a := ask(t, two, question("p1", update)); a.Allowed || len(s.versions) != 2 {
		t.Errorf("another pod: %+v", a)
	}
	seen.follow()
	s.versions = append(s.versions, s.newest().DeepCopy())
	s.newest().ResourceVersion, s.newest().Status.UnavailableAllowed = "3", 1
	if a := ask(t, three, question("p2", deletion)); !a.Allowed {
		t.Errorf("refused by an old copy: %+v", a)
	}
}

func TestDryRun(t *testing.T) {
	s := allowing(1)
	l, _ := replica(s, clocktesting.NewFakeClock(noon))
	q := question("p0", deletion)
	q.DryRun = true
	if a := ask(t, l, q); !a.Allowed || s.writes != 0 || s.newest().Status.UnavailableAllowed != 1 {
		t.Errorf("%+v, %d writes", a, s.writes)
	}
	s.newest().Status.UnavailableAllowed = 0
	if a := ask(t, l, q); a.Allowed || s.writes != 0 {
		t.Errorf("beyond the budget: %+v", a)
	}
}

// Pods without a budget cost nothing; one whose budget is gone, or goes meanwhile, is let through.
func TestNoBudget(t *testing.T) {
	s := allowing(0)
	l, _ := replica(s, clocktesting.NewFakeClock(noon))
	l.Seen = nil
	free := protected("free")
	free.Annotations = nil
	if a := ask(t, l, Question{Pod: free, Operation: deletion}); !a.Allowed || s.reads+s.writes != 0 {
		t.Errorf("%+v", a)
	}
	s.deleted = true
	l.Seen = s
	if a := ask(t, l, question("p0", deletion)); !a.Allowed {
		t.Errorf("gone: %+v", a)
	}
	l, _ = replica(s, clocktesting.NewFakeClock(noon))
	if a := ask(t, l, question("p0", deletion)); !a.Allowed {
		t.Errorf("gone for the API server: %+v", a)
	}
	s = allowing(0)
	l, _ = replica(s, clocktesting.NewFakeClock(noon))
	s.versions = append(s.versions, s.newest().DeepCopy())
	s.newest().UID = "another"
	if a := ask(t, l, question("p0", deletion)); !a.Allowed {
		t.Errorf("made anew: %+v", a)
	}
}

// What keeps a reservation from being written refuses, and is told.
func TestFaults(t *testing.T) {
	conflict := apierrors.NewConflict(resource, "b", errors.New("changed"))
	for name, tc := range map[string]struct {
		faults []error
		want   bool
		text   string
	}{
		"one conflict":      {[]error{conflict}, true, ""},
		"three conflicts":   {[]error{conflict, conflict, conflict}, true, ""},
		"conflicts only":    {[]error{conflict, conflict, conflict, conflict, conflict}, false, "changed"},
		"something else":    {[]error{errors.New("no room")}, false, "no room"},
		"conflict, no room": {[]error{conflict, errors.New("no room")}, false, "no room"},
	} {
		t.Run(name, func(t *testing.T) {
			s := allowing(1)
			l, _ := replica(s, &quick{clocktesting.NewFakeClock(noon)})
			s.fault = func() (error, bool) {
				if len(tc.faults) == 0 {
					return nil, true
				}
				err := tc.faults[0]
				tc.faults = tc.faults[1:]
				return err, false
			}
			a := ask(t, l, question("p0", deletion))
			if a.Allowed != tc.want || a.Spent || !strings.Contains(a.Reason, tc.text) {
				t.Errorf("%+v", a)
			}
			if s.writes > 4 {
				t.Errorf("%d tries", s.writes)
			}
		})
	}
}

// quick waits for nothing.
type quick struct{ *clocktesting.FakeClock }

func (q *quick) After(time.Duration) <-chan time.Time {
	c := make(chan time.Time, 1)
	c <- noon
	return c
}

// Twenty at once over two replicas, three allowed: three pass.
func TestConcurrentRequests(t *testing.T) {
	s := allowing(3)
	one, _ := replica(s, clock.RealClock{})
	two, _ := replica(s, clock.RealClock{})
	var passed atomic.Int32
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			l := []*Ledger{one, two}[i%2]
			for { // one that lost all its races asks again, as a client does
				a, err := l.Ask(t.Context(), question(fmt.Sprint("p", i), deletion))
				if err != nil {
					t.Error(err)
				}
				if a.Allowed {
					passed.Add(1)
				}
				if a.Allowed || a.Spent {
					return
				}
			}
		})
	}
	all.Wait()
	if passed.Load() != 3 || len(s.newest().Status.DisruptedPods) != 3 || s.newest().Status.UnavailableAllowed != 0 {
		t.Errorf("%d passed; %+v", passed.Load(), s.newest().Status)
	}
}

// The books are written when something changed, and not again.
func TestSettle(t *testing.T) {
	s := allowing(1)
	now := clocktesting.NewFakeClock(noon)
	l, _ := replica(s, now)
	pods := []*corev1.Pod{protected("p0"), protected("p1"), protected("p2")}
	settle := func(writes int, recheck time.Duration) budget.Count {
		t.Helper()
		count, err := l.Settle(t.Context(), s.version(0), pods, 3)
		if err != nil || s.writes != writes || count.Recheck != recheck {
			t.Fatalf("%+v, %v, %d writes", count, err, s.writes)
		}
		return count
	}
	settle(1, 0)
	settle(1, 0)
	ask(t, l, question("p0", deletion))
	settle(3, 20*time.Second)
	now.Step(21 * time.Second)
	if count := settle(4, 0); len(count.NotDeleted) != 1 || count.Status.UnavailableAllowed != 1 {
		t.Errorf("%+v", count)
	}
	if got := l.Books(s.version(0)); got.UnavailableAllowed != 1 || len(got.DisruptedPods) != 0 {
		t.Errorf("%+v", got)
	}
	l.Forget("uid")
	s.newest().Spec.MaxUnavailable = nil
	if _, err := l.Settle(t.Context(), s.newest(), pods, 3); err == nil {
		t.Error("a budget without a limit was counted")
	}
}
