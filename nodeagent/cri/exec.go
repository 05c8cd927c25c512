// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cri

import (
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	criapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/utils/clock"

	"github.com/flotilla-sh/flotilla/internal/seconds"
)

const (
	// execSlack is what the runtime gets beyond an exec's own time-out to clean up.
	execSlack = 2 * time.Second
	// largestOutput is how many bytes of output are taken of a command whose caller says nothing else. An environment,
	// which may have the variables of thousands of Services in it, is smaller.
	largestOutput = 1 << 20
)

type maxOutputKey struct{}

// WithMaxOutput bounds what ExecSync takes of a command's output, in bytes of stdout and stderr together.
func WithMaxOutput(ctx context.Context, bytes int) context.Context {
	return context.WithValue(ctx, maxOutputKey{}, bytes)
}

func maxOutput(ctx context.Context) int {
	if bytes, ok := ctx.Value(maxOutputKey{}).(int); ok {
		return bytes
	}
	return largestOutput
}

// ExecSync runs a command in a container and waits for its end, at most timeout (whole seconds, at least 1). When the
// runtime says that it took longer, the error is ErrTimeout. It is ErrTooLarge when there is more output than 1 MiB, or
// than WithMaxOutput says: it is not read then, since many commands at once would fill the agent's memory.
func (c *Client) ExecSync(ctx context.Context, id string, cmd []string, timeout time.Duration) (Exec, error) {
	timeout = min(timeout, seconds.Most)
	ctx, cancel := context.WithTimeout(ctx, timeout+execSlack)
	defer cancel()
	most := maxOutput(ctx)
	r, err := c.runtime.ExecSync(ctx, &criapi.ExecSyncRequest{
		ContainerId: id, Cmd: cmd, Timeout: max(1, int64(timeout.Seconds())),
	}, grpc.MaxCallRecvMsgSize(most))
	if err != nil {
		// A call that the deadline ends may return before the context says so, by which callers decide as well.
		if deadline, _ := ctx.Deadline(); !deadline.After(clock.RealClock{}.Now()) {
			<-ctx.Done()
		}
		return Exec{}, wrapExec(err, ctx.Err() == nil, most)
	}
	return Exec{Stdout: r.GetStdout(), Stderr: r.GetStderr(), ExitCode: r.GetExitCode()}, nil
}

// wrapExec tells a command that took too long, of which the runtime spoke in time, from a runtime that did not speak,
// and one that wrote more than may be read.
func wrapExec(err error, inTime bool, most int) error {
	failed := wrap("ExecSync", err)
	switch code, words := status.Code(err), status.Convert(err).Message(); {
	case inTime && code == codes.DeadlineExceeded:
		return &callError{method: "ExecSync", kind: ErrTimeout, words: words}
	case code == codes.ResourceExhausted && strings.Contains(words, "message larger than max"): // its size is not always the same
		return &callError{method: "ExecSync", kind: ErrTooLarge, words: fmt.Sprintf("more than %d bytes", most)}
	default:
		return failed
	}
}
