// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/e2e/harness"
)

const (
	// patience bounds one piece of work.
	patience = 10 * time.Minute
	// pullTakes is how long a played agent takes to pull.
	pullTakes  = 500 * time.Millisecond
	spoke      = "member-1-flotilla-spoke"
	benchSpace = "bench-pull"
)

type bench struct {
	options
	fleet   *harness.Fleet
	member  *harness.Cluster
	figures []figure
}

func (b *bench) note(name string, value float64, unit string) {
	b.figures = append(b.figures, figure{name, value, unit})
}

// job measures one job over all nodes.
func (b *bench) job(ctx context.Context) error {
	say("waiting for a NodeImage of each node")
	if err := b.until(ctx, func(ctx context.Context) (bool, error) {
		var list appsv1beta1.NodeImageList
		err := b.member.List(ctx, &list)
		return len(list.Items) >= b.nodes, err
	}); err != nil {
		return fmt.Errorf("NodeImages: %w", err)
	}
	agents, err := playAgents(ctx, b.member.Config)
	if err != nil {
		return err
	}
	defer agents.stop()
	if err := client.IgnoreAlreadyExists(b.member.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: benchSpace}})); err != nil {
		return err
	}
	pid, err := b.fleet.PID(spoke)
	if err != nil {
		return err
	}
	looked, err := watchProgram(pid)
	if err != nil {
		return err
	}
	job := &appsv1beta1.ImagePullJob{ObjectMeta: metav1.ObjectMeta{Namespace: benchSpace, GenerateName: "job-"}}
	job.Spec.Image, job.Spec.Parallelism = "nginx:1.25", ptr.To(intstr.FromInt(b.parallelism))
	began := time.Now()
	if err := b.member.Create(ctx, job); err != nil {
		return err
	}
	say("pulling")
	if err := b.until(ctx, func(ctx context.Context) (bool, error) {
		err := b.member.Get(ctx, client.ObjectKeyFromObject(job), job)
		return job.Status.CompletionTime != nil, err
	}); err != nil {
		return fmt.Errorf("the job has %+v: %w", job.Status, err)
	}
	took := time.Since(began)
	cpu, highest := looked.since()
	b.note("seconds until every node has the image", took.Seconds(), "s")
	b.note("of them a node pulls", pullTakes.Seconds(), "s")
	b.note("nodes that pulled", float64(job.Status.Succeeded), "")
	b.note("most nodes at once", float64(agents.most()), "")
	b.note("CPU of the spoke", cpu, "s")
	b.note("most memory of the spoke", highest, "MiB")
	return b.writes(began, took, "to ask", func() error {
		if err := b.member.Delete(ctx, job); err != nil {
			return err
		}
		return b.until(ctx, b.forgotten)
	})
}

// writes counts what the spoke wrote since the job began, then for taking it back.
func (b *bench) writes(began time.Time, took time.Duration, what string, takeBack func() error) error {
	asked, statuses, err := b.count(began)
	if err != nil {
		return err
	}
	b.note("spoke's writes a node, "+what, asked/float64(b.nodes), "")
	b.note("spoke's writes of the job's status a second", statuses/took.Seconds(), "")
	if err := takeBack(); err != nil {
		return err
	}
	all, _, err := b.count(began)
	b.note("spoke's writes a node, taken back as well", all/float64(b.nodes), "")
	return err
}

func (b *bench) count(since time.Time) (nodes, statuses float64, err error) {
	list, err := b.member.Writes("flotilla-spoke", since)
	for _, w := range list {
		switch w.Resource {
		case "nodeimages", "nodeimages/status":
			nodes++
		case "imagepulljobs/status":
			statuses++
		}
	}
	return nodes, statuses, err
}

// forgotten tells whether no NodeImage asks for anything any more.
func (b *bench) forgotten(ctx context.Context) (bool, error) {
	var list appsv1beta1.NodeImageList
	if err := b.member.List(ctx, &list); err != nil {
		return false, err
	}
	for i := range list.Items {
		if len(list.Items[i].Spec.Images) > 0 {
			return false, nil
		}
	}
	return true, nil
}

func (b *bench) until(ctx context.Context, done func(context.Context) (bool, error)) error {
	return wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, patience, true, done)
}
