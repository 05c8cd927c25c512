// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package crifake

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	content "github.com/containerd/containerd/api/services/content/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	criapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Container is one instance to be put into the runtime.
type Container struct {
	// PodNamespace, PodName, PodUID and Name go into the kubelet's labels.
	PodNamespace, PodName, PodUID, Name string
	// Hash is the kubelet's hash as it stands in the annotation (base 16); "" leaves the annotation out.
	Hash string
	// Env is what the command env prints in it. Nil makes every exec fail as in an image without that command.
	Env []string
	// Exec, when set, answers every exec in it. It may be called by many at once. An error of it is the call's.
	Exec func(ctx context.Context, cmd []string) (Answer, error)
	// Attempt is the number of the instance in its sandbox.
	Attempt uint32
	// OnStop is called before the container ends because it was asked to; it may wait.
	OnStop func(ctx context.Context)
}

// Answer is what a command leaves behind.
type Answer struct {
	Stdout, Stderr string
	ExitCode       int32
}

// TimedOut is the error by which the runtime says that a command did not end in time.
var TimedOut = status.Error(codes.DeadlineExceeded, "failed to exec in container: timeout exceeded")

// Runtime is the runtime; its zero value is not usable, see New.
type Runtime struct {
	criapi.UnimplementedRuntimeServiceServer
	// Images is what it has and pulls.
	Images *Images
	// Content is served from the next Serve on, unless it is nil.
	Content *Content
	name    string

	mu         sync.Mutex
	nextID     int
	containers map[string]*instance
	calls      map[string]int
	stops      []Stop
	server     *grpc.Server
}

type instance struct {
	Container
	id      string
	state   criapi.ContainerState
	made    int64
	started time.Time
}

// New makes an empty runtime that gives name (for example containerd) as its own.
func New(name string) *Runtime {
	return &Runtime{name: name, Images: newImages(), containers: map[string]*instance{}, calls: map[string]int{}}
}

// Serve listens on the socket at path, which it makes, until Stop. One Runtime serves one socket at a time.
func (r *Runtime) Serve(path string) error {
	return r.serve(path, func(s *grpc.Server) {
		criapi.RegisterRuntimeServiceServer(s, r)
		criapi.RegisterImageServiceServer(s, r.Images)
		if r.Content != nil {
			content.RegisterContentServer(s, r.Content)
		}
	})
}

// ServeWithoutCRI listens as Serve does but knows no CRI, as a containerd with its CRI switched off.
func (r *Runtime) ServeWithoutCRI(path string) error {
	return r.serve(path, func(*grpc.Server) {})
}

func (r *Runtime) serve(path string, register func(*grpc.Server)) error {
	listener, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	register(server)
	r.mu.Lock()
	r.server = server
	r.mu.Unlock()
	go func() { _ = server.Serve(listener) }() // ends with Stop
	return nil
}

// Stop ends the server at once, breaks its connections and removes the socket. Containers stay.
func (r *Runtime) Stop() {
	r.mu.Lock()
	server := r.server
	r.server = nil
	r.mu.Unlock()
	if server != nil {
		server.Stop()
	}
}

// Run puts a running container into the runtime and returns its bare ID.
func (r *Runtime) Run(c Container) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.nextID++
	id := fmt.Sprintf("%s-%d", c.Name, r.nextID)
	now := time.Now()
	r.containers[id] = &instance{Container: c, id: id, state: criapi.ContainerState_CONTAINER_RUNNING, made: now.UnixNano() + int64(r.nextID), started: now}
	return id
}

// Remove makes the runtime forget a container.
func (r *Runtime) Remove(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.containers, id)
}

// Calls returns how often a method was called, by its CRI name.
func (r *Runtime) Calls(method string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls[method]
}

// Version implements CRI.
func (r *Runtime) Version(context.Context, *criapi.VersionRequest) (*criapi.VersionResponse, error) {
	defer r.called("Version")()
	return &criapi.VersionResponse{Version: "0.1.0", RuntimeName: r.name, RuntimeVersion: "v0.0.0-fake", RuntimeApiVersion: "v1"}, nil
}

// ContainerStatus implements CRI.
func (r *Runtime) ContainerStatus(_ context.Context, req *criapi.ContainerStatusRequest) (*criapi.ContainerStatusResponse, error) {
	defer r.called("ContainerStatus")()
	c, ok := r.containers[req.GetContainerId()]
	if !ok {
		return nil, notFound(req.GetContainerId())
	}
	return &criapi.ContainerStatusResponse{Status: &criapi.ContainerStatus{
		Id: c.id, Metadata: c.metadata(), State: c.state, CreatedAt: c.made,
		StartedAt: c.started.UnixNano(), Labels: c.labels(), Annotations: c.annotations(),
	}}, nil
}

// ListPodSandbox implements CRI: there is one sandbox for each pod that has a container.
func (r *Runtime) ListPodSandbox(context.Context, *criapi.ListPodSandboxRequest) (*criapi.ListPodSandboxResponse, error) {
	defer r.called("ListPodSandbox")()
	seen := map[string]bool{}
	out := &criapi.ListPodSandboxResponse{}
	for _, c := range r.containers {
		if !seen[c.PodUID] {
			seen[c.PodUID] = true
			out.Items = append(out.Items, &criapi.PodSandbox{Id: "sandbox-" + c.PodUID, Labels: c.labels()})
		}
	}
	return out, nil
}

// ExecSync implements CRI for the command env alone, and for what containers answer themselves.
func (r *Runtime) ExecSync(ctx context.Context, req *criapi.ExecSyncRequest) (*criapi.ExecSyncResponse, error) {
	done := r.called("ExecSync")
	c, ok := r.containers[req.GetContainerId()]
	done()
	if !ok {
		return nil, notFound(req.GetContainerId())
	}
	if c.Exec != nil {
		answer, err := c.Exec(ctx, req.GetCmd())
		return &criapi.ExecSyncResponse{Stdout: []byte(answer.Stdout), Stderr: []byte(answer.Stderr), ExitCode: answer.ExitCode}, err
	}
	if c.Env == nil || len(req.GetCmd()) != 1 || req.GetCmd()[0] != "env" {
		return nil, status.Errorf(codes.Unknown, "failed to exec in container: %q: executable file not found in $PATH", req.GetCmd())
	}
	var stdout []byte
	for _, line := range c.Env {
		stdout = append(append(stdout, line...), '\n')
	}
	return &criapi.ExecSyncResponse{Stdout: stdout}, nil
}

// called counts a call and holds the lock until what it returns is called.
func (r *Runtime) called(method string) (done func()) {
	r.mu.Lock()
	r.calls[method]++
	return r.mu.Unlock
}

func (c *instance) metadata() *criapi.ContainerMetadata {
	return &criapi.ContainerMetadata{Name: c.Name, Attempt: c.Attempt}
}

func (c *instance) labels() map[string]string {
	return map[string]string{
		"io.kubernetes.pod.namespace": c.PodNamespace, "io.kubernetes.pod.name": c.PodName,
		"io.kubernetes.pod.uid": c.PodUID, "io.kubernetes.container.name": c.Name,
	}
}

func (c *instance) annotations() map[string]string {
	if c.Hash == "" {
		return nil
	}
	return map[string]string{"io.kubernetes.container.hash": c.Hash}
}

func notFound(id string) error {
	return status.Errorf(codes.NotFound, "an error occurred when try to find container %q: not found", id)
}

// LeaveSocket puts a socket file at path that nobody listens on, as a runtime that was killed leaves it.
func LeaveSocket(path string) error {
	listener, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	unix, ok := listener.(*net.UnixListener)
	if !ok {
		return errors.Join(os.ErrInvalid, listener.Close())
	}
	unix.SetUnlinkOnClose(false)
	return unix.Close()
}
