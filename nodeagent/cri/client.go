// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cri

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	criapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/flotilla-sh/flotilla/internal/seconds"
)

const (
	// callTimeout bounds every call that only reads.
	callTimeout = 10 * time.Second
	// stopSlack is what the runtime gets beyond a container's own grace period to end it by force.
	stopSlack = 30 * time.Second
	// maxMessage is the largest answer taken, the same bound as the kubelet's; those of commands have a lower one.
	maxMessage = 16 << 20
	// window is how many bytes of an answer may be under way before it is known how large it is. It would grow up to 16 MiB
	// for each call, and those that are too large are not read.
	window = 64 << 10
)

// Client speaks with one runtime over one socket. It is safe for use by many goroutines.
type Client struct {
	endpoint string
	version  Version
	conn     *grpc.ClientConn
	runtime  criapi.RuntimeServiceClient
	images   criapi.ImageServiceClient
	store    *store
}

// Dial connects to an endpoint (unix:///path) and asks for its version. The error says what a user can do
// about it: the socket is not there, nobody listens, or the peer does not serve CRI v1.
func Dial(ctx context.Context, endpoint string) (*Client, error) {
	conn, err := grpc.NewClient(endpoint,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithAuthority("localhost"),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)),
		grpc.WithStaticStreamWindowSize(window),
		grpc.WithConnectParams(grpc.ConnectParams{
			MinConnectTimeout: time.Second,
			Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 2, Jitter: 0.2, MaxDelay: 3 * time.Second},
		}),
	)
	if err != nil {
		return nil, fmt.Errorf("endpoint %q: %w", endpoint, err)
	}
	c := &Client{
		endpoint: endpoint, conn: conn, runtime: criapi.NewRuntimeServiceClient(conn), images: criapi.NewImageServiceClient(conn),
		store: newStore(conn),
	}
	if c.version, err = c.Version(ctx); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return c, nil
}

// Close ends the connection; calls under way fail.
func (c *Client) Close() error { return c.conn.Close() }

// Endpoint is the address that was dialled.
func (c *Client) Endpoint() string { return c.endpoint }

// Runtime is what the runtime said of itself when the connection was made.
func (c *Client) Runtime() Version { return c.version }

// Version asks the runtime for its name and version; it is also the cheapest sign of life.
func (c *Client) Version(ctx context.Context) (Version, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	v, err := c.runtime.Version(ctx, &criapi.VersionRequest{})
	if err != nil {
		return Version{}, wrap("Version", err)
	}
	return Version{Name: v.GetRuntimeName(), Version: v.GetRuntimeVersion()}, nil
}

// Container returns one container by its bare ID; ErrNotFound when the runtime does not know it.
func (c *Client) Container(ctx context.Context, id string) (Container, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	r, err := c.runtime.ContainerStatus(ctx, &criapi.ContainerStatusRequest{ContainerId: id})
	if err != nil {
		return Container{}, wrap("ContainerStatus", err)
	}
	s := r.GetStatus()
	return Container{
		ID:          s.GetId(),
		Name:        s.GetMetadata().GetName(),
		Pod:         podRef(s.GetLabels()),
		State:       stateOf(s.GetState()),
		Attempt:     s.GetMetadata().GetAttempt(),
		CreatedAt:   timeOf(s.GetCreatedAt()),
		StartedAt:   timeOf(s.GetStartedAt()),
		Annotations: s.GetAnnotations(),
	}, nil
}

// ContainersOfPod lists the instances of the containers of the pod with this UID, those that ended and are not
// removed yet too, of each container the newest first. Their StartedAt is not known.
func (c *Client) ContainersOfPod(ctx context.Context, uid string) ([]Container, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	r, err := c.runtime.ListContainers(ctx, &criapi.ListContainersRequest{
		Filter: &criapi.ContainerFilter{LabelSelector: map[string]string{labelPodUID: uid}},
	})
	if err != nil {
		return nil, wrap("ListContainers", err)
	}
	out := make([]Container, 0, len(r.GetContainers()))
	for _, s := range r.GetContainers() {
		out = append(out, Container{
			ID: s.GetId(), Name: s.GetMetadata().GetName(), Pod: podRef(s.GetLabels()), State: stateOf(s.GetState()),
			Attempt: s.GetMetadata().GetAttempt(), CreatedAt: timeOf(s.GetCreatedAt()), Annotations: s.GetAnnotations(),
		})
	}
	slices.SortStableFunc(out, newestFirst)
	return out, nil
}

// newestFirst orders the instances of a container. The one that runs is the newest: no other is made while it does. The
// number of the attempt comes before the time, since a node's clock may be set back.
func newestFirst(a, b Container) int {
	runs := func(c Container) int {
		if c.State == ContainerRunning {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(runs(b), runs(a)), cmp.Compare(b.Attempt, a.Attempt), b.CreatedAt.Compare(a.CreatedAt), strings.Compare(a.ID, b.ID))
}

// StopContainer asks a container to end and ends it by force when grace (whole seconds) has passed. It returns when the
// container has ended, which may take grace and half a minute more; a container that has ended already is no error.
func (c *Client) StopContainer(ctx context.Context, id string, grace time.Duration) error {
	grace = min(grace, seconds.Most)
	ctx, cancel := context.WithTimeout(ctx, grace+stopSlack)
	defer cancel()
	if _, err := c.runtime.StopContainer(ctx, &criapi.StopContainerRequest{ContainerId: id, Timeout: int64(grace.Seconds())}); err != nil {
		return wrap("StopContainer", err)
	}
	return nil
}

// Sandboxes lists all pod sandboxes, in no certain order.
func (c *Client) Sandboxes(ctx context.Context) ([]Sandbox, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	r, err := c.runtime.ListPodSandbox(ctx, &criapi.ListPodSandboxRequest{})
	if err != nil {
		return nil, wrap("ListPodSandbox", err)
	}
	out := make([]Sandbox, 0, len(r.GetItems()))
	for _, s := range r.GetItems() {
		out = append(out, Sandbox{ID: s.GetId(), Pod: podRef(s.GetLabels()), Ready: s.GetState() == criapi.PodSandboxState_SANDBOX_READY})
	}
	return out, nil
}

// WaitLost blocks until the connection breaks, or the runtime fails to answer a sign of life (asked for every
// period) three times in a row, or ctx ends. It returns why.
func (c *Client) WaitLost(ctx context.Context, period time.Duration) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	broken := make(chan struct{})
	go func() {
		c.conn.WaitForStateChange(ctx, connectivity.Ready)
		close(broken)
	}()
	tick := time.NewTicker(period)
	defer tick.Stop()
	for misses := 0; ; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-broken:
			return fmt.Errorf("the connection to %s broke", c.endpoint)
		case <-tick.C:
			if _, err := c.Version(ctx); err == nil {
				misses = 0
			} else if misses++; misses == 3 {
				return err
			}
		}
	}
}
