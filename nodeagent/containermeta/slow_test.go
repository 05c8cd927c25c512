// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package containermeta

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-sh/flotilla/nodeagent/cri"
)

type slow struct{}

// Container hangs for some instances as long as a call may take, 10 s.
func (slow) Container(ctx context.Context, id string) (cri.Container, error) {
	if id == "well" {
		return cri.Container{Annotations: map[string]string{cri.AnnotationContainerHash: "5"}}, ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	<-ctx.Done()
	return cri.Container{}, ctx.Err()
}

func (slow) ExecSync(context.Context, string, []string, time.Duration) (cri.Exec, error) {
	return cri.Exec{}, nil
}

func TestSlowContainersKeepNoOtherFromBeingReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), passTimeout)
		defer cancel()
		var list []Question
		for _, id := range []string{"h1", "h2", "h3", "h4", "well"} {
			list = append(list, Question{Name: id, ContainerID: "c://" + id, Plain: true})
		}
		got := gather(ctx, slow{}, &corev1.Pod{}, list)
		if got.answers["c://well"].PlainHash != 5 || ctx.Err() != nil {
			t.Errorf("answers %v, the pass has %v left to write them", got.answers, ctx.Err())
		}
	})
}
