// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1alpha1 "github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	policyv1beta1 "github.com/flotilla-sh/flotilla/apis/policy/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/testkit"
)

// Options say what to bring up.
type Options struct {
	// Name of the set, unless FLOTILLA_E2E_NAME overrides it.
	Name string
	// Members, and FakeNodes or RealNodes of each.
	Members, FakeNodes, RealNodes int
}

// Fleet is a hub and its members.
type Fleet struct {
	Name    string
	Hub     *Cluster
	Members []*Cluster

	options Options
}

// Cluster is one API server, reached as its administrator.
type Cluster struct {
	client.Client
	// Name is hub, member-1, member-2, …
	Name string
	// Kubeconfig is the path of its file; Config what is in it.
	Kubeconfig string
	Config     *rest.Config

	fleet *Fleet
}

// Up brings the set up, or repairs it: what runs already is left alone.
func Up(ctx context.Context, o Options) (*Fleet, error) {
	if name := os.Getenv("FLOTILLA_E2E_NAME"); name != "" {
		o.Name = name
	}
	f := &Fleet{Name: o.Name, options: o}
	if err := f.Repair(ctx); err != nil {
		return nil, err
	}
	var err error
	if f.Hub, err = f.open("hub"); err != nil {
		return nil, err
	}
	for i := 1; i <= o.Members; i++ {
		member, err := f.open(fmt.Sprintf("member-%d", i))
		if err != nil {
			return nil, err
		}
		f.Members = append(f.Members, member)
	}
	return f, nil
}

// Repair starts again whatever of the set does not run.
func (f *Fleet) Repair(ctx context.Context) error {
	return f.tool(ctx, "up", "--members", fmt.Sprint(f.options.Members), "--zones", "a,b", "--audit",
		"--fake-nodes", fmt.Sprint(f.options.FakeNodes), "--real-nodes", fmt.Sprint(f.options.RealNodes))
}

// tool runs a command of the local clusters tool.
func (f *Fleet) tool(ctx context.Context, command string, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", append([]string{"run", "./hack/clusters", command, "--name", f.Name}, args...)...)
	cmd.Dir = testkit.Root()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("clusters %s: %w\n%s", command, err, out.String())
	}
	return nil
}

// Dir is the folder of the set: kubeconfigs, pids, logs.
func (f *Fleet) Dir() string { return filepath.Join(testkit.Root(), ".clusters", f.Name) }

func (f *Fleet) open(name string) (*Cluster, error) {
	file := filepath.Join(f.Dir(), name+".kubeconfig")
	cfg, err := clientcmd.BuildConfigFromFlags("", file)
	if err != nil {
		return nil, err
	}
	cfg.QPS, cfg.Burst, cfg.UserAgent = 500, 1000, "e2e"
	c, err := client.New(cfg, client.Options{Scheme: Scheme()})
	return &Cluster{Client: c, Name: name, Kubeconfig: file, Config: cfg, fleet: f}, err
}

// Scheme has the kinds the tests speak of.
func Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, appsv1beta1.AddToScheme, appsv1alpha1.AddToScheme, fleetv1alpha1.AddToScheme,
		policyv1beta1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			panic(err)
		}
	}
	return scheme
}

// Writes returns what programs whose user agent starts with the prefix wrote since a moment.
func (c *Cluster) Writes(userAgentPrefix string, since time.Time) ([]testkit.Write, error) {
	return testkit.ReadWrites(filepath.Join(c.fleet.Dir(), "logs", c.Name+"-audit.log"), userAgentPrefix, since)
}

// Down stops the set.
func (f *Fleet) Down(ctx context.Context) error { return f.tool(ctx, "down") }
