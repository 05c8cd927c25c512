// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"maps"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1alpha1 "github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	policyv1alpha1 "github.com/flotilla-sh/flotilla/apis/policy/v1alpha1"
	policyv1beta1 "github.com/flotilla-sh/flotilla/apis/policy/v1beta1"
	rolloutsv1alpha1 "github.com/flotilla-sh/flotilla/apis/rollouts/v1alpha1"
	rolloutsv1beta1 "github.com/flotilla-sh/flotilla/apis/rollouts/v1beta1"
	"github.com/flotilla-sh/flotilla/hub/slice"
	"github.com/flotilla-sh/flotilla/internal/webhookserver"
)

// Scheme returns every type the hub reads, writes, admits or converts.
func Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, appsv1beta1.AddToScheme, appsv1alpha1.AddToScheme, fleetv1alpha1.AddToScheme,
		policyv1beta1.AddToScheme, policyv1alpha1.AddToScheme, rolloutsv1beta1.AddToScheme, rolloutsv1alpha1.AddToScheme,
		clusterv1.Install, clusterv1beta1.Install,
	} {
		utilruntime.Must(add(scheme))
	}
	return scheme
}

// namesOnly leaves nothing of an object's metadata that may hold its content: kubectl keeps all of it in an annotation.
func namesOnly(obj any) (any, error) {
	o, err := meta.Accessor(obj)
	if err != nil {
		return obj, nil // a mark of what was deleted
	}
	o.SetManagedFields(nil)
	o.SetAnnotations(nil)
	return obj, nil
}

// ByObject narrows the manager's cache: of slices no manifests, of leases only the agents'.
func ByObject(hooks *webhookserver.Options) map[client.Object]cache.ByObject {
	out := map[client.Object]cache.ByObject{
		&fleetv1alpha1.FleetSlice{}: {Transform: slice.Transform},
		&coordinationv1.Lease{}:     {Field: fields.OneTermEqualSelector("metadata.name", fleetv1alpha1.AddOnName)},
	}
	maps.Copy(out, hooks.ByObject())
	return out
}
