// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package containermeta

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// kubeletDelay is how long the agent has known of a change before it acts on it, so that the kubelet, which learns of
	// it the same way, knows it too: an instance that it starts before has the old environment, and would have to be
	// started once more.
	kubeletDelay = 2 * time.Second
	// Pause between tries to end an instance, or one of the next instances, for the same change.
	minRestartPause, maxRestartPause = 3 * time.Second, 10 * time.Minute
)

// attempts is what is known of one change of one container's environment.
type attempts struct {
	expected uint64
	// seen is when the change was first seen, last when an instance was last told to end, count how often.
	seen, last time.Time
	count      int
}

// wait is how long it still is until the next attempt.
func (a attempts) wait(now time.Time) time.Duration {
	if a.count == 0 {
		return a.seen.Add(kubeletDelay).Sub(now)
	}
	pause := maxRestartPause
	if a.count < 10 {
		pause = min(minRestartPause<<(a.count-1), maxRestartPause)
	}
	return a.last.Add(pause).Sub(now)
}

// memory has the attempts of pods whose environment is being updated, by pod and container. An agent that starts anew
// begins with none.
type memory struct {
	mu   sync.Mutex
	pods map[types.NamespacedName]podMemory
}

type podMemory struct {
	uid        types.UID
	containers map[string]attempts
}

// wait notes that the restart is due and returns how long it must wait yet, 0 or less for no longer.
func (m *memory) wait(pod types.NamespacedName, uid types.UID, r Restart, now time.Time) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.pods == nil {
		m.pods = map[types.NamespacedName]podMemory{}
	}
	if m.pods[pod].uid != uid {
		m.pods[pod] = podMemory{uid: uid, containers: map[string]attempts{}}
	}
	a, ok := m.pods[pod].containers[r.Name]
	if !ok || a.expected != r.Expected {
		a = attempts{expected: r.Expected, seen: now}
		m.pods[pod].containers[r.Name] = a
	}
	return a.wait(now)
}

// tried notes an attempt, after wait has known of it.
func (m *memory) tried(pod types.NamespacedName, r Restart, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if a, ok := m.pods[pod].containers[r.Name]; ok {
		a.last, a.count = now, a.count+1
		m.pods[pod].containers[r.Name] = a
	}
}

// forget drops what is known of a pod whose update is over, or that is gone.
func (m *memory) forget(pod types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.pods, pod)
}

// has tells whether anything is known of a pod.
func (m *memory) has(pod types.NamespacedName) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, ok := m.pods[pod]
	return ok
}
