// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/hub/copies"
	"github.com/flotilla-sh/flotilla/hub/fleetplacement"
	"github.com/flotilla-sh/flotilla/hub/scalable"
	"github.com/flotilla-sh/flotilla/hub/uniteddeployment"
	"github.com/flotilla-sh/flotilla/hub/workloadspread"
)

// kind is one line of the table of dividers.
type kind struct {
	schema.GroupKind
	name    string
	divider fleetplacement.Divider
	// told: objects of the kind that no placement names are told so.
	told bool
}

// kinds that have a divider of their own. Others are divided when they have the scale subresource, and
// copied when the placement says Duplicated.
var kinds = []kind{
	{ours("UnitedDeployment"), "uniteddeployment", uniteddeployment.Divider{}, true},
	{ours("CloneSet"), "scalable", scalable.Divider{}, true},
	{builtIn("Deployment"), "scalable", scalable.Divider{}, false},
	{builtIn("ReplicaSet"), "scalable", scalable.Divider{}, false},
}

// spreadOver makes a divider that goes by a WorkloadSpread. A UnitedDeployment has subsets of its own.
func spreadOver(inner fleetplacement.Divider, spread *unstructured.Unstructured) fleetplacement.Divider {
	if _, own := inner.(uniteddeployment.Divider); own {
		return inner
	}
	return workloadspread.Divider{Inner: inner, Spread: spread}
}

// numbered are kinds whose pods are numbered: two clusters would have pods of the same number.
var numbered = []schema.GroupKind{ours("StatefulSet"), builtIn("StatefulSet")}

func ours(k string) schema.GroupKind {
	return appsv1beta1.SchemeGroupVersion.WithKind(k).GroupKind()
}
func builtIn(k string) schema.GroupKind { return schema.GroupKind{Group: "apps", Kind: k} }

// toldKinds are the kinds whose objects are told when no placement names them.
func toldKinds() (out []schema.GroupVersionKind) {
	for _, k := range kinds {
		if k.told {
			out = append(out, appsv1beta1.SchemeGroupVersion.WithKind(k.Kind))
		}
	}
	return out
}

// dividers finds the divider of a kind. It asks the API server, now and then, which other kinds have the
// scale subresource.
type dividers struct {
	mapper    meta.RESTMapper
	discovery discovery.ServerResourcesInterface
	clock     clock.PassiveClock

	mu     sync.Mutex
	scales map[schema.GroupKind]scaled
}

type scaled struct {
	yes bool
	at  time.Time
}

// scaleMemory is how long an answer of the API server is remembered.
const scaleMemory = 5 * time.Minute

// newDividers makes the table of a manager.
func newDividers(mgr manager.Manager) (*dividers, error) {
	asks, err := discovery.NewDiscoveryClientForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, err
	}
	return &dividers{mapper: mgr.GetRESTMapper(), discovery: asks, clock: clock.RealClock{}}, nil
}

// For implements fleetplacement.Dividers. When the API server does not answer, a kind counts as not
// scaled for now.
func (d *dividers) For(gk schema.GroupKind, mode fleetv1alpha1.DivisionMode) (fleetplacement.Divider, string, string) {
	divider, name, whyNot, _ := d.find(gk, mode)
	return divider, name, whyNot
}

// find is For, with an error when the API server did not say whether the kind is scaled.
func (d *dividers) find(gk schema.GroupKind, mode fleetv1alpha1.DivisionMode) (fleetplacement.Divider, string, string, error) {
	for _, k := range kinds {
		if k.GroupKind == gk {
			return k.divider, k.name, "", nil
		}
	}
	if mode == fleetv1alpha1.DivisionDuplicated {
		return copies.Divider{}, "copies", "", nil
	}
	if slices.Contains(numbered, gk) {
		return nil, "", fmt.Sprintf("the pods of a %s are numbered, and no two clusters may have the same number: it cannot be divided; use division.mode Duplicated, or a UnitedDeployment", gk.Kind), nil
	}
	scaled, err := d.isScaled(gk)
	if scaled {
		return scalable.Divider{}, "scalable", "", nil
	}
	missing := ""
	if meta.IsNoMatchError(err) {
		missing, err = ", and the hub has no such kind", nil
	}
	return nil, "", fmt.Sprintf("a %s cannot be divided%s; UnitedDeployment, CloneSet, Deployment, ReplicaSet and kinds with the scale subresource can; or use division.mode Duplicated", gk.Kind, missing), err
}

// isScaled tells whether a kind has the scale subresource. What was known stands while the API server
// does not answer.
func (d *dividers) isScaled(gk schema.GroupKind) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	known, ok := d.scales[gk]
	if ok && d.clock.Since(known.at) < scaleMemory {
		return known.yes, nil
	}
	yes, err := d.ask(gk)
	if ok && err != nil {
		return known.yes, nil
	}
	if err != nil {
		return false, err
	}
	if d.scales == nil {
		d.scales = map[schema.GroupKind]scaled{}
	}
	d.scales[gk] = scaled{yes, d.clock.Now()}
	return yes, nil
}

func (d *dividers) ask(gk schema.GroupKind) (bool, error) {
	mapping, err := d.mapper.RESTMapping(gk)
	if err != nil {
		return false, err
	}
	list, err := d.discovery.ServerResourcesForGroupVersion(mapping.Resource.GroupVersion().String())
	if err != nil {
		return false, err
	}
	for _, r := range list.APIResources {
		if r.Name == mapping.Resource.Resource+"/scale" {
			return true, nil
		}
	}
	return false, nil
}
