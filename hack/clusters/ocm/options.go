// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package ocm

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Parts of the stand-in that one process can run.
const (
	RunAll     = "all"
	RunHub     = "hub"
	RunMembers = "members"
)

// Member is one member cluster: the name of its ManagedCluster and the file that gives access to it as administrator.
type Member struct {
	Name, Kubeconfig string
}

// Options are what the stand-in is started with.
type Options struct {
	// HubKubeconfig is a file that gives access to the hub as administrator.
	HubKubeconfig string
	Members       []Member
	// LeaseDuration is how often agents renew their lease: whole seconds, at
	// least 1. A cluster is unreachable after five of them without renewal. It
	// applies to ManagedClusters that do not exist yet; later it is in their spec.
	LeaseDuration time.Duration
	// Run is which part to run: RunAll, RunHub or RunMembers.
	Run string
	// APIDir is the folder of the module open-cluster-management.io/api, for
	// its CRDs; empty to ask the go command.
	APIDir string
}

// NewOptions gives the defaults.
func NewOptions() *Options {
	return &Options{LeaseDuration: time.Minute, Run: RunAll}
}

// AddFlags defines a flag for each option.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.HubKubeconfig, "hub-kubeconfig", o.HubKubeconfig, "kubeconfig of the hub, as administrator")
	flags.Var((*memberList)(&o.Members), "member", "NAME=KUBECONFIG of a member, as administrator; once for each member")
	flags.DurationVar(&o.LeaseDuration, "lease-duration", o.LeaseDuration,
		"how often agents renew their lease, in whole seconds; after 5 times that a cluster is unreachable")
	flags.StringVar(&o.Run, "run", o.Run, "what to run: all, hub, or members")
	flags.StringVar(&o.APIDir, "ocm-api-dir", o.APIDir,
		"folder of the module open-cluster-management.io/api (default: ask the go command)")
}

// Args gives the command-line arguments that AddFlags reads back to the same options.
func (o *Options) Args() []string {
	args := []string{
		"--hub-kubeconfig=" + o.HubKubeconfig,
		"--lease-duration=" + o.LeaseDuration.String(),
		"--run=" + o.Run,
	}
	if o.APIDir != "" {
		args = append(args, "--ocm-api-dir="+o.APIDir)
	}
	for _, m := range o.Members {
		args = append(args, "--member="+m.Name+"="+m.Kubeconfig)
	}
	return args
}

// Validate names every option that cannot be used.
func (o *Options) Validate() error {
	var problems []error
	if o.HubKubeconfig == "" {
		problems = append(problems, errors.New("--hub-kubeconfig is required"))
	}
	if o.LeaseDuration < time.Second || o.LeaseDuration%time.Second != 0 {
		problems = append(problems, fmt.Errorf("--lease-duration %s: must be whole seconds, at least 1s", o.LeaseDuration))
	}
	if !slices.Contains([]string{RunAll, RunHub, RunMembers}, o.Run) {
		problems = append(problems, fmt.Errorf("--run %q: must be all, hub or members", o.Run))
	}
	seen := map[string]bool{}
	for _, m := range o.Members {
		if wrong := validation.IsDNS1123Label(m.Name); len(wrong) > 0 {
			problems = append(problems, fmt.Errorf("--member %q: %s", m.Name, strings.Join(wrong, "; ")))
		}
		if seen[m.Name] {
			problems = append(problems, fmt.Errorf("--member %s: named twice", m.Name))
		}
		seen[m.Name] = true
	}
	return errors.Join(problems...)
}

// memberList is a flag that may be given several times.
type memberList []Member

// String shows the value.
func (l *memberList) String() string {
	parts := make([]string, 0, len(*l))
	for _, m := range *l {
		parts = append(parts, m.Name+"="+m.Kubeconfig)
	}
	return strings.Join(parts, " ")
}

// Set adds one member.
func (l *memberList) Set(text string) error {
	name, file, found := strings.Cut(text, "=")
	if !found || name == "" || file == "" {
		return fmt.Errorf("%q is not NAME=KUBECONFIG", text)
	}
	*l = append(*l, Member{Name: name, Kubeconfig: file})
	return nil
}

// Type names the kind of value in help texts.
func (l *memberList) Type() string { return "NAME=KUBECONFIG" }
