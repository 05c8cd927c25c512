// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"cmp"
	"fmt"
	"math/rand"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-sh/flotilla/spoke/podset/execute"
)

// Faults are chances per step and pod, or per write, from 0 to 1.
type Faults struct {
	// Die fails a pod, Evict deletes one, Stick keeps a terminating one, Sicken makes one not ready.
	Die, Evict, Stick, Sicken float64
	// Refuse refuses a write, Conflict loses a race, LoseAnswer carries a creation out and reports
	// a failure.
	Refuse, Conflict, LoseAnswer float64
	// Lag keeps an event from the cache for another step.
	Lag float64
}

// World is the state of one simulation. Pods in it are never changed, only replaced.
type World struct {
	Rand   *rand.Rand
	Now    time.Time
	Faults Faults
	// Owner of all pods.
	Owner types.UID
	// Log has one line for everything that a controller did.
	Log []string
	// Bad says which images never get ready.
	Bad map[string]bool
	// KeepStuck lets terminating pods that are stuck stay so in Calm: nothing may depend on them.
	KeepStuck bool

	truth   map[string]*corev1.Pod
	cache   map[string]*corev1.Pod
	events  []event
	version int64
	stuck   map[string]bool
	sick    map[string]bool
	expect  execute.Expectations
}

// event is one change on its way to the cache; a nil pod is a deletion.
type event struct {
	name string
	pod  *corev1.Pod
}

// New makes an empty world.
func New(seed int64) *World {
	return &World{
		Rand: rand.New(rand.NewSource(seed)), Now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Owner: "owner",
		Bad:   map[string]bool{},
		truth: map[string]*corev1.Pod{}, cache: map[string]*corev1.Pod{}, stuck: map[string]bool{}, sick: map[string]bool{},
	}
}

// Truth returns the pods as the API server has them, sorted by name.
func (w *World) Truth() []*corev1.Pod { return sorted(w.truth) }

func sorted(pods map[string]*corev1.Pod) []*corev1.Pod {
	out := make([]*corev1.Pod, 0, len(pods))
	for _, pod := range pods {
		out = append(out, pod)
	}
	slices.SortFunc(out, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// View returns the pods a controller plans on; ok is false while it has to wait for the cache. After
// execute.Patience it gets the truth.
func (w *World) View() (pods []*corev1.Pod, ok bool) {
	cached := make(map[string]client.Object, len(w.cache))
	for name, pod := range w.cache {
		cached[name] = pod
	}
	missing, since := w.expect.Unseen(w.Owner, &corev1.Pod{}, cached)
	if !missing {
		return sorted(w.cache), true
	}
	if w.Now.Sub(since) < execute.Patience {
		return nil, false
	}
	w.DeliverAll()
	return sorted(w.cache), true
}

// Restart forgets what the controller knew, as a new process would, and fills its cache.
func (w *World) Restart() {
	w.expect.Forget(w.Owner)
	w.DeliverAll()
}

// Deliver brings events to the cache in order, until one lags.
func (w *World) Deliver() {
	for len(w.events) > 0 && !w.chance(w.Faults.Lag) {
		w.deliverOne()
	}
}

// DeliverAll brings all events to the cache.
func (w *World) DeliverAll() {
	for len(w.events) > 0 {
		w.deliverOne()
	}
}

func (w *World) deliverOne() {
	e := w.events[0]
	w.events = w.events[1:]
	if e.pod == nil {
		delete(w.cache, e.name)
		return
	}
	w.cache[e.name] = e.pod
}

func (w *World) chance(p float64) bool { return p >= 1 || p > 0 && w.Rand.Float64() < p }

// put stores a new version of a pod.
func (w *World) put(pod *corev1.Pod) *corev1.Pod {
	w.version++
	pod.ResourceVersion = strconv.FormatInt(w.version, 10)
	w.truth[pod.Name] = pod
	w.events = append(w.events, event{pod.Name, pod})
	return pod
}

func (w *World) remove(name string) {
	delete(w.truth, name)
	delete(w.stuck, name)
	delete(w.sick, name)
	w.events = append(w.events, event{name, nil})
}

// Edit changes a pod as somebody else would.
func (w *World) Edit(name string, change func(*corev1.Pod)) {
	if pod := w.truth[name]; pod != nil {
		after := pod.DeepCopy()
		change(after)
		w.put(after)
	}
}

// Delete deletes a pod as somebody else would.
func (w *World) Delete(name string) { w.terminate(name) }

func (w *World) terminate(name string) {
	pod := w.truth[name]
	if pod == nil || pod.DeletionTimestamp != nil {
		return
	}
	if pod.Spec.NodeName == "" {
		w.remove(name)
		return
	}
	after := *pod
	now := metav1.NewTime(w.Now)
	after.DeletionTimestamp = &now
	w.put(&after)
}

// Calm takes all faults away and heals what is sick, and what is stuck unless that is to stay.
func (w *World) Calm() {
	w.Faults, w.sick = Faults{}, map[string]bool{}
	if !w.KeepStuck {
		w.stuck = map[string]bool{}
	}
}

func (w *World) note(format string, args ...any) {
	w.Log = append(w.Log, fmt.Sprintf(format, args...))
}
