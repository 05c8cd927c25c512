// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/flotilla-sh/flotilla/nodeagent/cri"
)

// maxOutput bounds what is read of a command's output, in bytes.
const maxOutput = 64 << 10

// exec runs a command in the container. Its output is the message: what it wrote to stdout when it ended well, to
// stderr otherwise.
func (h handlers) exec(ctx context.Context, t *target, command []string, timeout time.Duration) outcome {
	runtime, err := h.runtime()
	if err != nil {
		return outcome{err: err}
	}
	_, id, ok := cri.SplitID(t.view.instance)
	if !ok {
		return none("exec: %q is no container ID", t.view.instance)
	}
	if err := verify(ctx, runtime, id, t); err != nil {
		return outcome{err: err}
	}
	out, err := runtime.ExecSync(cri.WithMaxOutput(ctx, maxOutput), id, command, timeout)
	switch {
	case errors.Is(err, cri.ErrTimeout):
		return bad(fmt.Sprintf("the command did not end within %s", timeout))
	case err != nil:
		return outcome{err: err}
	case out.ExitCode != 0:
		return bad(textOf(out.Stderr))
	default:
		return good(textOf(out.Stdout))
	}
}

// textOf is what can become a message of an output: no more need be made a string.
func textOf(output []byte) string { return string(output[:min(len(output), maxMessage+1)]) }

// verify asks the runtime whose container it is, since a command must run in no other.
func verify(ctx context.Context, runtime Runtime, id string, t *target) error {
	c, err := runtime.Container(ctx, id)
	if err != nil {
		return err
	}
	want := cri.PodRef{Namespace: t.pod.Namespace, Name: t.pod.Name, UID: string(t.uid)}
	if c.Pod != want || c.Name != t.container {
		return fmt.Errorf("exec: container %s is not %s of pod %s", id, t.container, t.pod)
	}
	return nil
}
