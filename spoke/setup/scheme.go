// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	appsv1alpha1 "github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	policyv1alpha1 "github.com/flotilla-sh/flotilla/apis/policy/v1alpha1"
	policyv1beta1 "github.com/flotilla-sh/flotilla/apis/policy/v1beta1"
	rolloutsv1alpha1 "github.com/flotilla-sh/flotilla/apis/rollouts/v1alpha1"
	rolloutsv1beta1 "github.com/flotilla-sh/flotilla/apis/rollouts/v1beta1"
)

// Scheme returns every type the spoke reads, writes, admits or converts.
func Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, appsv1beta1.AddToScheme, appsv1alpha1.AddToScheme, fleetv1alpha1.AddToScheme,
		policyv1beta1.AddToScheme, policyv1alpha1.AddToScheme, rolloutsv1beta1.AddToScheme, rolloutsv1alpha1.AddToScheme,
	} {
		utilruntime.Must(add(scheme))
	}
	return scheme
}
