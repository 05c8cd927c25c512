// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// agent measures a real agent with a runtime in memory, whose NodeImage has many images.
func (b *bench) agent(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	stop, err := serveImages(ctx, filepath.Join(dir, "containerd.sock"))
	if err != nil {
		return err
	}
	defer stop()
	const node = "bench-agent"
	obj := &appsv1beta1.NodeImage{ObjectMeta: metav1.ObjectMeta{Name: node, Labels: map[string]string{appsv1beta1.FakeNodeImageLabel: ""}}}
	if err := b.member.Create(ctx, obj); err != nil {
		return err
	}
	say("running an agent")
	binary := filepath.Join(dir, "agent")
	build := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", binary, "./nodeagent")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	cmd := exec.CommandContext(ctx, binary, "--kubeconfig", b.member.Kubeconfig, "--node-name", node, "--host-run-dir", dir, "--metrics-addr", "0", "--socket-file", filepath.Join(dir, "containerd.sock"))
	if err := cmd.Start(); err != nil {
		return err
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	return b.pullMany(ctx, obj, cmd.Process.Pid)
}

func (b *bench) pullMany(ctx context.Context, obj *appsv1beta1.NodeImage, pid int) error {
	old := obj.DeepCopy()
	obj.Spec.Images = map[string]appsv1beta1.ImageSpec{}
	now := metav1.Now()
	for i := range b.images {
		obj.Spec.Images[fmt.Sprintf("registry.example.com/team-%d/app", i)] = appsv1beta1.ImageSpec{Tags: []appsv1beta1.ImageTagSpec{{
			Tag: "v1.2.3", CreatedAt: &now, PullPolicy: &appsv1beta1.ImageTagPullPolicy{TTLSecondsAfterFinished: ptr.To[int32](3600)},
		}}}
	}
	began := time.Now()
	if err := b.member.Patch(ctx, obj, client.MergeFrom(old)); err != nil {
		return err
	}
	if err := b.until(ctx, func(ctx context.Context) (bool, error) {
		err := b.member.Get(ctx, client.ObjectKeyFromObject(obj), obj)
		return int(obj.Status.Succeeded) == b.images, err
	}); err != nil {
		return fmt.Errorf("the agent has %d of %d: %w", obj.Status.Succeeded, b.images, err)
	}
	took := time.Since(began)
	looked := &program{pid: pid}
	cpu, highest := looked.since()
	writes, err := b.member.Writes("flotilla-nodeagent", began)
	b.note("one agent: seconds for all its images", took.Seconds(), "s")
	b.note("one agent: most memory since its start", highest, "MiB")
	b.note("one agent: CPU since its start", cpu, "s")
	b.note("one agent: writes", float64(len(writes)), "")
	return err
}
