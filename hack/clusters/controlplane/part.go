// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/flotilla-sh/flotilla/hack/clusters/assets"
	"github.com/flotilla-sh/flotilla/hack/clusters/run"
	"github.com/flotilla-sh/flotilla/hack/clusters/state"
)

// Part is the control planes as a part of `up`.
func Part() run.Part {
	return run.Part{
		Name: "control planes",
		Needs: func(state.Options) []string {
			return []string{assets.Etcd, assets.APIServer, assets.ControllerManager, assets.Scheduler}
		},
		Up: up,
	}
}

// up runs etcd, then all planes at once.
func up(ctx context.Context, env *run.Env) error {
	planes, err := makePlanes(env.Cluster)
	if err != nil {
		return err
	}
	etcd, err := ensureEtcd(ctx, env)
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	for _, p := range planes {
		g.Go(func() error { return p.up(ctx, env, etcd) })
	}
	return g.Wait()
}

func makePlanes(c *state.Cluster) ([]*plane, error) {
	var planes []*plane
	for number, name := range c.Options.Planes() {
		p, err := newPlane(c, number, name)
		if err != nil {
			return nil, err
		}
		if err := WriteKubeconfig(c, name, c.Kubeconfig(name), "", Identity{User: "admin", Groups: []string{mastersGroup}}); err != nil {
			return nil, err
		}
		planes = append(planes, p)
	}
	return planes, nil
}

func (p *plane) up(ctx context.Context, env *run.Env, etcd string) error {
	if err := p.ensureAPIServer(ctx, env, etcd); err != nil {
		return err
	}
	if err := p.ensureControllers(ctx, env); err != nil {
		return err
	}
	return p.awaitServiceAccount(ctx)
}

// awaitServiceAccount waits until pods can be made in the namespace `default`: the last thing a fresh plane does.
func (p *plane) awaitServiceAccount(ctx context.Context) error {
	config, err := RESTConfig(p.cluster, p.name)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	err = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		_, err := client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		return errors.Join(fmt.Errorf("wait for the service account default/default of %s", p.name), err)
	}
	return nil
}
