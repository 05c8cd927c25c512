// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	"github.com/flotilla-sh/flotilla/internal/conditions"
	"github.com/flotilla-sh/flotilla/nodeagent/cri"
)

const (
	// maxMessage bounds a message, in bytes.
	maxMessage = 1024
	// maxStored bounds it as it is stored, in bytes of JSON, where control characters take six each: the spoke keeps no
	// more room for a result, and no API server takes an object of any size.
	maxStored = 1280
	// longest bounds the time-out of a probe: one that runs takes the place of another.
	longest = 2 * time.Minute
)

// Runtime is what probes need of a container runtime.
type Runtime interface {
	// Container returns the container with a bare ID; cri.ErrNotFound when there is none.
	Container(ctx context.Context, id string) (cri.Container, error)
	// ExecSync runs a command in it; cri.ErrTimeout when it did not end in time.
	ExecSync(ctx context.Context, id string, cmd []string, timeout time.Duration) (cri.Exec, error)
}

// ids are what runtimes make anew for each command that they run. A message that has one would be written every time.
var ids = regexp.MustCompile(`[0-9a-f]{64}`)

// outcome is what a probe brought: a result, or an error that says why there is none.
type outcome struct {
	ok      bool
	message string
	err     error
}

func good(message string) outcome { return outcome{ok: true, message: message} }

func bad(message string) outcome { return outcome{message: message} }

func none(format string, args ...any) outcome { return outcome{err: fmt.Errorf(format, args...)} }

// observed is what an outcome tells of an instance.
func (o outcome) observed(instance string) observation {
	seen := observation{sight: failed, instance: instance, message: o.message}
	switch {
	case errors.Is(o.err, cri.ErrUnavailable):
		seen.sight = early // as if it had not been time: that the runtime is away is told on the node
	case o.err != nil:
		seen.sight, seen.message = unclear, ids.ReplaceAllString(o.err.Error(), "…")
	case o.ok:
		seen.sight = succeeded
	}
	seen.message = fitting(seen.message)
	return seen
}

// fitting cuts a message to what may be stored of it.
func fitting(message string) string {
	text := conditions.Cut(message, maxMessage)
	for limit := len(text); storedBytes(text) > maxStored; {
		limit = limit * maxStored / storedBytes(text)
		text = conditions.Cut(message, limit)
	}
	return text
}

// storedBytes is how many bytes a text takes in JSON.
func storedBytes(text string) int {
	raw, _ := json.Marshal(text) // a string never fails to be written
	return len(raw)
}

// handlers run probes.
type handlers struct {
	// runtime returns the connection in use.
	runtime func() (Runtime, error)
}

// timeoutOf is how long a probe may take.
func timeoutOf(p *corev1.Probe) time.Duration { return min(seconds(p.TimeoutSeconds), longest) }

// run runs a probe, at most for its time-out and some slack.
func (h handlers) run(ctx context.Context, t *target) outcome {
	timeout := timeoutOf(&t.probe)
	switch p := &t.probe; {
	case p.Exec != nil:
		return h.exec(ctx, t, p.Exec.Command, timeout)
	case p.HTTPGet != nil:
		return get(ctx, p.HTTPGet, t.view.ip, timeout)
	case p.TCPSocket != nil:
		return connect(ctx, p.TCPSocket.Port, t.view.ip, timeout)
	case p.GRPC != nil:
		return check(ctx, p.GRPC, t.view.ip, timeout)
	default:
		return none("the probe has no handler that this agent knows")
	}
}

// kind is the name of a probe's handler.
func (t *target) kind() string {
	switch p := &t.probe; {
	case p.Exec != nil:
		return "exec"
	case p.HTTPGet != nil:
		return "httpGet"
	case p.TCPSocket != nil:
		return "tcpSocket"
	case p.GRPC != nil:
		return "grpc"
	default:
		return "none"
	}
}

// address is where a pod listens. The port must be a number: the spoke, which knows the pod's spec, looks up names.
func address(ip string, port intstr.IntOrString) (string, error) {
	n := port.IntValue()
	if n < 1 || n > 65535 {
		return "", fmt.Errorf("port %q is no number from 1 to 65535", port.String())
	}
	return net.JoinHostPort(ip, strconv.Itoa(n)), nil
}

func connect(ctx context.Context, port intstr.IntOrString, ip string, timeout time.Duration) outcome {
	where, err := address(ip, port)
	if err != nil {
		return none("tcpSocket: %w", err)
	}
	conn, err := dialer(timeout).DialContext(ctx, "tcp", where)
	if err != nil {
		return bad(why(err, timeout))
	}
	_ = conn.Close() // that it was made is the result
	return good("")
}

// dialer makes connections whose ports are free again a second after their end: a node that probes often would run
// out of them.
func dialer(timeout time.Duration) *net.Dialer {
	return &net.Dialer{Timeout: timeout, Control: lingerShortly}
}

// why says what failed in words that are the same every time: they are written where they change, so the port that
// the agent happened to have must not be in them, nor at which moment the time ran out.
func why(err error, timeout time.Duration) string {
	if timed, ok := errors.AsType[net.Error](err); ok && timed.Timeout() {
		return fmt.Sprintf("no answer within %s", timeout)
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Addr != nil {
		return fmt.Sprintf("%s %s %s: %v", op.Op, op.Net, op.Addr, op.Err)
	}
	return err.Error()
}

// published is the result as the API has it, without its times.
func (r *result) published() v1alpha1.ContainerProbeState {
	return v1alpha1.ContainerProbeState{Name: r.probe, State: r.state, Message: r.message, ContainerID: r.instance}
}
