// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package consumer

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	policyv1beta1 "github.com/flotilla-sh/flotilla/apis/policy/v1beta1"
	rolloutsv1beta1 "github.com/flotilla-sh/flotilla/apis/rollouts/v1beta1"
	applyappsv1beta1 "github.com/flotilla-sh/flotilla/generated/applyconfiguration/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/generated/clientset/versioned"
	informers "github.com/flotilla-sh/flotilla/generated/informers/externalversions"
	listers "github.com/flotilla-sh/flotilla/generated/listers/apps/v1beta1"
)

// Connect makes a client of what an administrator's access says.
func Connect(config *rest.Config) (versioned.Interface, error) {
	return versioned.NewForConfig(config)
}

// Scale applies a number of replicas to a CloneSet.
func Scale(ctx context.Context, clients versioned.Interface, namespace, name string, replicas int32) (*appsv1beta1.CloneSet, error) {
	desired := applyappsv1beta1.CloneSet(name, namespace).WithSpec(applyappsv1beta1.CloneSetSpec().WithReplicas(replicas))
	return clients.AppsV1beta1().CloneSets(namespace).Apply(ctx, desired, metav1.ApplyOptions{FieldManager: "consumer", Force: true})
}

// Protect creates a budget, and a release that goes by it.
func Protect(ctx context.Context, clients versioned.Interface, budget *policyv1beta1.PodUnavailableBudget, release *rolloutsv1beta1.Rollout) error {
	if _, err := clients.PolicyV1beta1().PodUnavailableBudgets(budget.Namespace).Create(ctx, budget, metav1.CreateOptions{}); err != nil {
		return err
	}
	_, err := clients.RolloutsV1beta1().Rollouts(release.Namespace).Create(ctx, release, metav1.CreateOptions{})
	return err
}

// Watch starts an informer of SidecarSets and returns its lister once it has all.
func Watch(ctx context.Context, clients versioned.Interface) listers.SidecarSetLister {
	factory := informers.NewSharedInformerFactory(clients, 10*time.Minute)
	sets := factory.Apps().V1beta1().SidecarSets()
	lister := sets.Lister()
	sets.Informer()
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return lister
}

// Names of the SidecarSets that a lister knows.
func Names(lister listers.SidecarSetLister) ([]string, error) {
	sets, err := lister.List(labels.Everything())
	var out []string
	for _, set := range sets {
		out = append(out, set.Name)
	}
	return out, err
}
