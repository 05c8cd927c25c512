// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
)

// Role puts processes in the order they are stopped in: lower first.
type Role int

// The roles, in the order of stopping.
const (
	// Component is one of our own programs (hub, spoke, nodeagent) or another client of the clusters.
	Component Role = iota
	// Fleet is what keeps the clusters' membership: Open Cluster Management or its stand-in.
	Fleet
	// FakeNodes simulates nodes.
	FakeNodes
	// Kubelet runs pods of a real node.
	Kubelet
	// Runtime is the container runtime of a real node.
	Runtime
	// Network serves others: the image registry, forwarders.
	Network
	// Controller is kube-controller-manager or kube-scheduler.
	Controller
	// APIServer is kube-apiserver.
	APIServer
	// Store is etcd.
	Store
)

// Spec says what to run.
type Spec struct {
	// Name is unique in the set: lower-case words joined by '-', beginning with the plane or node it belongs to.
	Name string
	// Role gives the process its place in the order of stopping.
	Role Role
	// Path of the program, and its arguments without the program's name.
	Path string
	Args []string
	// Env is added to the tool's own environment, as KEY=VALUE.
	Env []string
	// Dir to run in; the tool's own where empty.
	Dir string
	// Fingerprint stands for what else the process is made of, such as the contents of a configuration file: where it
	// changes the process is restarted.
	Fingerprint string
	// Ready returns nil once the process serves. It is asked every 100 ms. Nil: the process is ready if it still runs
	// after half a second.
	Ready func(context.Context) error
	// Timeout bounds the wait for Ready; a minute where 0.
	Timeout time.Duration
	// Grace is how long the process may take to stop before it is killed; 5 s where 0.
	Grace time.Duration
}

// record is what is remembered of a started process.
type record struct {
	Name   string        `json:"name"`
	Role   Role          `json:"role"`
	PID    int           `json:"pid"`
	Start  string        `json:"start"` // identity of the process beyond its pid, see identity
	Hash   string        `json:"hash"`
	Path   string        `json:"path"`
	Args   []string      `json:"args,omitempty"`
	Grace  time.Duration `json:"grace"`
	Offset int64         `json:"offset"` // where this start's output begins in the log
}

// Fingerprint stands for the contents, for Spec.Fingerprint.
func Fingerprint(contents ...[]byte) string {
	sum := sha256.New()
	for _, c := range contents {
		fmt.Fprintf(sum, "%d\n%s", len(c), c)
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// hash is equal for specs that would start the same process.
func (s Spec) hash() string {
	raw, err := json.Marshal([]any{s.Path, s.Args, s.Env, s.Dir, s.Fingerprint})
	if err != nil {
		panic(fmt.Sprintf("strings do not marshal: %v", err))
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:8])
}

func (s Spec) timeout() time.Duration { return orDefault(s.Timeout, time.Minute) }

func (s Spec) grace() time.Duration { return orDefault(s.Grace, 5*time.Second) }

func orDefault(d, otherwise time.Duration) time.Duration {
	if d == 0 {
		return otherwise
	}
	return d
}
