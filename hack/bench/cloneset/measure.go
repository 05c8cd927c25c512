// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/e2e/harness"
)

const (
	// patience bounds one piece of work.
	patience = 10 * time.Minute
	// apiServer is the process that all contenders write to.
	apiServer = "member-1-kube-apiserver"
	// bareGated is the contender that the others are compared with.
	bareGated = "bare client"
	// watched is for how long a workload is watched at rest.
	watched = 30 * time.Second
)

// row is what one piece of work cost.
type row struct {
	Work       string  `json:"work"`
	By         string  `json:"by"`
	Pods       int     `json:"pods"`
	Seconds    float64 `json:"seconds"`
	Writes     int     `json:"writes"`
	PodWrites  float64 `json:"podWritesPerPod"`
	CPUSeconds float64 `json:"cpuSeconds"`
	// ServerCPU is what the member's API server used meanwhile, for everybody.
	ServerCPU  float64 `json:"apiServerCPUSeconds"`
	HighestRSS float64 `json:"highestRSSMiB"`
	// Grown is by how much that is more than before the first workload, for each pod.
	Grown float64 `json:"grownKiBPerPod"`
}

type bench struct {
	options
	fleet  *harness.Fleet
	member *harness.Cluster
	plain  client.Client
	// idle is the memory of our program, in MiB, before there is anything to do.
	idle float64
}

func newBench(fleet *harness.Fleet, o options) (*bench, error) {
	cfg := rest.CopyConfig(fleet.Members[0].Config)
	cfg.UserAgent, cfg.QPS, cfg.Burst = "bare", -1, 0
	plain, err := client.New(cfg, client.Options{Scheme: harness.Scheme()})
	return &bench{options: o, fleet: fleet, member: fleet.Members[0], plain: plain}, err
}

// measure lets the contenders work one after the other.
func (b *bench) measure(ctx context.Context) ([]row, error) {
	inPlace, recreate := appsv1beta1.InPlaceIfPossiblePodUpdateStrategyType, appsv1beta1.RecreatePodUpdateStrategyType
	p, err := b.program((&cloneSet{}).process())
	if err != nil {
		return nil, err
	}
	_, b.idle = p.since()
	if err := b.warmUp(ctx); err != nil {
		return nil, err
	}
	var rows []row
	for i, contender := range []func(ns string, w *watch) contender{
		func(ns string, w *watch) contender { return newBare(b.plain, ns, false, w) },
		func(ns string, w *watch) contender { return newBare(b.plain, ns, true, w) },
		func(ns string, _ *watch) contender { return &deployment{b.member, ns} },
		func(ns string, _ *watch) contender { return &cloneSet{b.member, ns, inPlace} },
		func(ns string, _ *watch) contender { return &cloneSet{b.member, ns, recreate} },
	} {
		more, err := b.compete(ctx, fmt.Sprintf("bench-%d", i), contender)
		rows = append(rows, more...)
		if err != nil {
			return rows, err
		}
	}
	if b.rest == 0 {
		return rows, nil
	}
	atRest, err := b.restOf(ctx, "bench-rest")
	return append(rows, atRest...), err
}

// warmUp does a little of the work and forgets what it cost: the first to use new programs would pay for all.
func (b *bench) warmUp(ctx context.Context) error {
	few := *b
	few.pods, few.only = min(b.pods, 300), ""
	_, err := few.compete(ctx, "bench-warm-up", func(ns string, w *watch) contender { return newBare(b.plain, ns, true, w) })
	return err
}

// compete measures one contender in a namespace of its own.
func (b *bench) compete(ctx context.Context, ns string, contender func(string, *watch) contender) ([]row, error) {
	f, stop, err := b.open(ctx, ns)
	if err != nil {
		return nil, err
	}
	defer stop()
	c := contender(ns, f.watch)
	if !strings.Contains(c.name(), b.only) {
		return nil, b.clear(ctx, ns)
	}
	created, err := b.timed(ctx, f, c, task{fmt.Sprintf("0 to %d pods", b.pods), "web:1", func() error { return c.scale(ctx, b.pods) }})
	if err != nil {
		return nil, err
	}
	updated, err := b.timed(ctx, f, c, task{"new image", "web:2", func() error { return c.update(ctx, "web:2") }})
	if err != nil {
		return []row{created}, err
	}
	return []row{created, updated}, b.clear(ctx, ns)
}

// field is where one contender works.
type field struct {
	namespace string
	watch     *watch
}

// open makes a namespace and follows its pods until it is told to stop.
func (b *bench) open(ctx context.Context, ns string) (field, func(), error) {
	if err := b.member.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}); err != nil {
		return field{}, nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	w, err := follow(ctx, b.member.Config, ns)
	return field{ns, w}, stop, err
}

// task is a piece of work, done when all pods run the image and are ready.
type task struct {
	work, image string
	do          func() error
}

// timed does a piece of work and waits for its end.
func (b *bench) timed(ctx context.Context, f field, c contender, t task) (row, error) {
	say("%s: %s", c.name(), t.work)
	p, err := b.program(c.process())
	if err != nil {
		return row{}, err
	}
	server, err := b.program(apiServer)
	if err != nil {
		return row{}, err
	}
	began := time.Now()
	if err := t.do(); err != nil {
		return row{}, fmt.Errorf("%s: %s: %w", c.name(), t.work, err)
	}
	if err := f.ready(ctx, t.image, b.pods); err != nil {
		return row{}, fmt.Errorf("%s: %s: %w", c.name(), t.work, err)
	}
	out := row{Work: t.work, By: c.name(), Pods: b.pods, Seconds: time.Since(began).Seconds()}
	out.CPUSeconds, out.HighestRSS = p.since()
	out.ServerCPU, _ = server.since()
	return out, b.count(&out, f.namespace, c, began)
}

// count counts the writes in a namespace since a moment.
func (b *bench) count(out *row, ns string, c contender, since time.Time) error {
	writes, err := b.member.Writes(c.agent(), since)
	pods := 0
	for i := range writes {
		if writes[i].Namespace != ns {
			continue
		}
		out.Writes++
		if w := &writes[i]; w.Resource == "pods" || w.Resource == "pods/status" || w.Resource == "pods/resize" {
			pods++
		}
	}
	out.PodWrites = float64(pods) / float64(max(out.Pods, 1))
	return err
}

// ready waits until so many pods run an image and are ready.
func (f field) ready(ctx context.Context, image string, pods int) error {
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		return f.watch.ready(image) >= pods, nil
	})
	if err != nil {
		return fmt.Errorf("%d of %d pods are ready at %s: %w", f.watch.ready(image), pods, image, err)
	}
	return nil
}

// restOf looks at a big CloneSet that has nothing to do.
func (b *bench) restOf(ctx context.Context, ns string) ([]row, error) {
	f, stop, err := b.open(ctx, ns)
	if err != nil {
		return nil, err
	}
	defer stop()
	c := &cloneSet{b.member, ns, appsv1beta1.InPlaceIfPossiblePodUpdateStrategyType}
	say("%s: %d pods at rest", c.name(), b.rest)
	if err := c.scale(ctx, b.rest); err != nil {
		return nil, err
	}
	if err := f.ready(ctx, "web:1", b.rest); err != nil {
		return nil, err
	}
	select { // the last counters of its status come a little later
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(10 * time.Second):
	}
	p, err := b.program(c.process())
	if err != nil {
		return nil, err
	}
	server, err := b.program(apiServer)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(watched):
	}
	out := row{Work: "at rest", By: c.name(), Pods: b.rest, Seconds: time.Since(began).Seconds()}
	out.CPUSeconds, out.HighestRSS = p.since()
	out.ServerCPU, _ = server.since()
	out.Grown = (out.HighestRSS - b.idle) * 1024 / float64(b.rest)
	if err := b.count(&out, ns, c, began); err != nil {
		return nil, err
	}
	return []row{out}, b.clear(ctx, ns)
}

// clear takes a namespace away and waits until it is gone, so that its end costs the next contender nothing.
func (b *bench) clear(ctx context.Context, ns string) error {
	obj := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}
	if err := b.member.Delete(ctx, obj); err != nil {
		return err
	}
	return wait.PollUntilContextTimeout(ctx, 500*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		err := b.member.Get(ctx, client.ObjectKeyFromObject(obj), obj)
		return client.IgnoreNotFound(err) == nil && err != nil, client.IgnoreNotFound(err)
	})
}
