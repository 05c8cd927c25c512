// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Components says which of our own components `up` runs.
const (
	ComponentsAll  = "all"
	ComponentsNone = "none"
)

// DefaultLeaseSeconds lets a lost member show within half a minute.
const DefaultLeaseSeconds = 5

const maxMembers = 63

var nameRE = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,30}[a-z0-9])?$`)

// Options is what the user asked `up` for.
type Options struct {
	// Name of the set of clusters: a DNS label of at most 32 characters.
	Name string `json:"name"`
	// Members is the number of member clusters, 1 to 63.
	Members int `json:"members"`
	// FakeNodes is the number of simulated nodes of each member, 0 to 1000.
	FakeNodes int `json:"fakeNodes"`
	// RealNodes is the number of containerd + kubelet nodes of each member, 0 to 16.
	RealNodes int `json:"realNodes"`
	// Zones are the values of topology.kubernetes.io/zone, given to each member's nodes in turn. Never empty.
	Zones []string `json:"zones"`
	// Components is ComponentsAll or ComponentsNone.
	Components string `json:"components"`
	// Assets is a folder with ready-made programs to take instead of building them; may be empty.
	Assets string `json:"assets,omitempty"`
	// OCMBinaries is a folder with Open Cluster Management's own programs to run instead of the stand-in; may be empty.
	OCMBinaries string `json:"ocmBinaries,omitempty"`
	// LeaseSeconds is how often members renew their lease on the hub, 1 to 3600. It is given to a member when it joins;
	// later it is in the ManagedCluster.
	LeaseSeconds int `json:"leaseSeconds"`
	// Audit makes the API servers log every write (who, what, user agent) to logs/PLANE-audit.log.
	Audit bool `json:"audit,omitempty"`
}

// Validate returns every reason, joined, why the options cannot be used; each names the flag.
func (o Options) Validate() error {
	var errs []error
	if !nameRE.MatchString(o.Name) {
		errs = append(errs, fmt.Errorf("--name %q: want lower-case letters, digits and '-', at most 32 characters", o.Name))
	}
	errs = append(errs,
		inRange("--members", o.Members, 1, maxMembers),
		inRange("--fake-nodes", o.FakeNodes, 0, 1000),
		inRange("--real-nodes", o.RealNodes, 0, 16),
		inRange("--lease-seconds", o.LeaseSeconds, 1, 3600))
	if o.Components != ComponentsAll && o.Components != ComponentsNone {
		errs = append(errs, fmt.Errorf("--components %q: want all or none", o.Components))
	}
	if o.OCMBinaries != "" {
		errs = append(errs, errors.New("--ocm-binaries: OCM's own programs cannot be run yet; without the flag a stand-in runs"))
	}
	return errors.Join(append(errs, validateZones(o.Zones)...)...)
}

func validateZones(zones []string) []error {
	if len(zones) == 0 {
		return []error{errors.New("--zones: want at least one zone")}
	}
	var errs []error
	for i, z := range zones {
		if z == "" || len(validation.IsValidLabelValue(z)) > 0 {
			errs = append(errs, fmt.Errorf("--zones: %q is not a label value", z))
		}
		if slices.Contains(zones[:i], z) {
			errs = append(errs, fmt.Errorf("--zones: %q is given twice", z))
		}
	}
	return errs
}

func inRange(flag string, value, low, high int) error {
	if value < low || value > high {
		return fmt.Errorf("%s %d: want %d to %d", flag, value, low, high)
	}
	return nil
}

// Merge returns the options of a repeated `up`: old where the user said nothing (set names the flags given), the new
// value elsewhere. It is an error to ask for fewer members than there are.
func Merge(old, asked Options, set func(flag string) bool) (Options, error) {
	out := old
	out.Name = asked.Name
	if set("members") {
		if asked.Members < old.Members {
			return out, fmt.Errorf("--members %d: there are %d already and members cannot be taken away; run down first", asked.Members, old.Members)
		}
		out.Members = asked.Members
	}
	for flag, take := range map[string]func(){
		"fake-nodes":    func() { out.FakeNodes = asked.FakeNodes },
		"real-nodes":    func() { out.RealNodes = asked.RealNodes },
		"zones":         func() { out.Zones = asked.Zones },
		"components":    func() { out.Components = asked.Components },
		"assets":        func() { out.Assets = asked.Assets },
		"lease-seconds": func() { out.LeaseSeconds = asked.LeaseSeconds },
		"audit":         func() { out.Audit = asked.Audit },
		"ocm-binaries":  func() { out.OCMBinaries = asked.OCMBinaries },
	} {
		if set(flag) {
			take()
		}
	}
	if out.LeaseSeconds == 0 { // of a set that was started before there was the flag
		out.LeaseSeconds = asked.LeaseSeconds
	}
	return out, nil
}

// ParseZones splits a comma-separated list and drops blanks around and between the commas.
func ParseZones(list string) []string {
	var zones []string
	for z := range strings.SplitSeq(list, ",") {
		if z = strings.TrimSpace(z); z != "" {
			zones = append(zones, z)
		}
	}
	return zones
}
