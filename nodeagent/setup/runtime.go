// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/flotilla-sh/flotilla/internal/events"
	"github.com/flotilla-sh/flotilla/nodeagent/cri"
)

// +kubebuilder:rbac:groups="",resources=nodes,verbs=get

const (
	// nodeTimeout bounds the question to the API server, which must not hold up the search for a runtime.
	nodeTimeout = 2 * time.Second
	// noticeAfter is how long the runtime must be away before users are told: a restart takes less.
	noticeAfter = 10 * time.Second
	// maxNote is the length of an event's note that the API server takes, in bytes.
	maxNote = 1024
)

// kubeletRuntime returns a function that reads from the Node which runtime its kubelet uses. While the API
// server cannot be reached it returns what was read last.
func kubeletRuntime(reader client.Reader, node string) func(context.Context) string {
	var mu sync.Mutex
	var last string
	return func(ctx context.Context) string {
		mu.Lock()
		defer mu.Unlock()
		ctx, cancel := context.WithTimeout(ctx, nodeTimeout)
		defer cancel()
		var n corev1.Node
		if err := reader.Get(ctx, client.ObjectKey{Name: node}, &n); err != nil {
			log.FromContext(ctx).V(1).Info("Cannot read the runtime's name from the node", "reason", err.Error())
			return last
		}
		last, _, _ = strings.Cut(n.Status.NodeInfo.ContainerRuntimeVersion, "://")
		return last
	}
}

// Reasons of the events on the node.
const (
	EventRuntimeUnavailable = "ContainerRuntimeUnavailable"
	EventRuntimeAvailable   = "ContainerRuntimeAvailable"
)

// runtimeNotices tells by events on the node when the agent is without its runtime for long, and when that ends.
type runtimeNotices struct {
	statuses <-chan cri.Status
	events   events.Publisher
	node     string
	after    time.Duration
}

// Start runs until ctx ends.
func (n *runtimeNotices) Start(ctx context.Context) error {
	timer := time.NewTimer(n.after)
	defer timer.Stop()
	var last cri.Status
	told := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case s := <-n.statuses:
			if s.State == cri.Up && told {
				n.event(corev1.EventTypeNormal, EventRuntimeAvailable, "The node agent is connected to "+s.Runtime.Name+" at "+s.Endpoint)
				told = false
			}
			if s.State == cri.Up {
				timer.Stop()
			} else if last.State == cri.Up {
				timer.Reset(n.after)
			}
			last = s
		case <-timer.C:
			n.event(corev1.EventTypeWarning, EventRuntimeUnavailable, "The node agent does nothing on this node: "+last.Reason)
			told = true
		}
	}
}

// NeedLeaderElection is false: every node has its own runtime.
func (n *runtimeNotices) NeedLeaderElection() bool { return false }

func (n *runtimeNotices) event(kind, reason, note string) {
	node := &corev1.Node{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{Name: n.node, UID: types.UID(n.node)}, // as the kubelet does, so describe shows it
	}
	if len(note) > maxNote {
		note = strings.ToValidUTF8(note[:maxNote], "")
	}
	n.events.Publish(events.Event{Regarding: node, Type: kind, Reason: reason, Action: "ConnectRuntime", Note: note})
}
