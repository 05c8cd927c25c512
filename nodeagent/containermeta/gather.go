// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package containermeta

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/containerhash"
	"github.com/flotilla-sh/flotilla/nodeagent/cri"
)

// envTimeout is how long the command env may take in a container.
const envTimeout = 3 * time.Second

// gatherTimeout is what the questions of a pass may take together; each has an equal share. The rest of passTimeout is for
// the write.
const gatherTimeout = 20 * time.Second

// Runtime is what the report needs of a container runtime.
type Runtime interface {
	// Container returns the container with a bare ID; cri.ErrNotFound when there is none.
	Container(ctx context.Context, id string) (cri.Container, error)
	// ExecSync runs a command in it.
	ExecSync(ctx context.Context, id string, cmd []string, timeout time.Duration) (cri.Exec, error)
}

// gathered is what a round of questions brought.
type gathered struct {
	answers Answers
	// unread are the failures to read a container's environment; they are expected of some images.
	unread []error
	// failed are all other failures.
	failed []error
}

// gather puts the questions to the runtime and answers as many as it can: a failure for one container does not
// keep the others from being answered. An instance that the runtime does not know is left out in silence.
func gather(ctx context.Context, runtime Runtime, pod *corev1.Pod, questions []Question) gathered {
	got := gathered{answers: Answers{}}
	for _, q := range questions {
		got.ask(ctx, runtime, pod, q, gatherTimeout/time.Duration(len(questions)))
	}
	return got
}

// ask puts one question, which may take so long.
func (g *gathered) ask(ctx context.Context, runtime Runtime, pod *corev1.Pod, q Question, share time.Duration) {
	_, id, ok := cri.SplitID(q.ContainerID)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, share)
	defer cancel()
	hashes, err := plainAnswer(ctx, runtime, q, id)
	if errors.Is(err, cri.ErrNotFound) {
		return
	}
	if err != nil {
		g.failed = append(g.failed, fmt.Errorf("container %s: %w", q.Name, err))
		return
	}
	if q.Env {
		if hashes.ExtractedEnvFromMetadataHash, err = envHash(ctx, runtime, pod, q.Name, id); err != nil {
			g.unread = append(g.unread, fmt.Errorf("environment of container %s: %w", q.Name, err))
		}
	}
	g.answers[q.ContainerID] = hashes
}

func plainAnswer(ctx context.Context, runtime Runtime, q Question, id string) (v1beta1.RuntimeContainerHashes, error) {
	if !q.Plain {
		return v1beta1.RuntimeContainerHashes{}, nil
	}
	c, err := runtime.Container(ctx, id)
	return v1beta1.RuntimeContainerHashes{PlainHash: plainHash(c)}, err
}

// plainHash is 0 for a container that the kubelet did not make.
func plainHash(c cri.Container) uint64 {
	hash, err := strconv.ParseUint(c.Annotations[cri.AnnotationContainerHash], 16, 64)
	if err != nil {
		return 0
	}
	return hash
}

func envHash(ctx context.Context, runtime Runtime, pod *corev1.Pod, name, id string) (uint64, error) {
	refs := refsOf(pod, name)
	if len(refs) == 0 {
		return containerhash.Env(nil, nil), nil
	}
	out, err := runtime.ExecSync(ctx, id, []string{"env"}, envTimeout)
	if err == nil && out.ExitCode != 0 {
		err = fmt.Errorf("command env ended with %d: %s", out.ExitCode, strings.TrimSpace(string(out.Stderr)))
	}
	if err != nil {
		envReads.WithLabelValues("failed").Inc()
		return 0, err
	}
	envReads.WithLabelValues("read").Inc()
	lines := string(out.Stdout)
	return containerhash.Env(refs, func(r containerhash.MetadataRef) string {
		return valueOf(lines, r.Name, r.ValueIn(pod))
	}), nil
}

func refsOf(pod *corev1.Pod, name string) []containerhash.MetadataRef {
	for i := range pod.Spec.Containers {
		if pod.Spec.Containers[i].Name == name {
			return containerhash.MetadataRefs(&pod.Spec.Containers[i])
		}
	}
	return nil
}

// valueOf returns the value of a variable in the output of the command env. A value that equals the expected
// one is found whole, with its line breaks and blanks at the ends; any other is read up to the end of its line.
func valueOf(lines, name, expected string) string {
	if strings.Contains("\n"+lines, "\n"+name+"="+expected+"\n") {
		return expected
	}
	for line := range strings.Lines(lines) {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), "="); ok && k == name {
			return v
		}
	}
	return ""
}
