// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/internal/testkit"
)

// namespace of the workload, and hubAgent of the hub's requests.
const (
	namespace = "shop"
	hubAgent  = "flotilla-hub"
)

// bench is everything that runs.
type bench struct {
	options
	server  *testkit.Server
	admin   client.Client
	members *members
	hub     *hubProcess
	down    *teardown
}

func scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, appsv1beta1.AddToScheme, fleetv1alpha1.AddToScheme, clusterv1.Install} {
		utilruntime.Must(add(s))
	}
	return s
}

func newBench(ctx context.Context, t *teardown, o options) (*bench, error) {
	say("starting an API server and building the hub")
	ocm, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "open-cluster-management.io/api").Output()
	if err != nil {
		return nil, fmt.Errorf("finding the CRDs of Open Cluster Management: %w", err)
	}
	crds := filepath.Join(strings.TrimSpace(string(ocm)), "cluster")
	b := &bench{options: o, down: t, server: testkit.Start(t, "generated/manifests/crd", filepath.Join(crds, "v1"), filepath.Join(crds, "v1beta1"))}
	cfg := b.server.ConfigFor("bench-admin")
	cfg.QPS, cfg.Burst = -1, 0 // the bench must not be what is slow
	if b.admin, err = client.New(cfg, client.Options{Scheme: scheme()}); err != nil {
		return nil, err
	}
	if err := b.ensureNamespaces(ctx, "flotilla-system", namespace); err != nil {
		return nil, err
	}
	say("making %d members", o.members)
	if b.members, err = startMembers(ctx, t, rest.CopyConfig(cfg)); err != nil {
		return nil, err
	}
	for i := range o.members {
		if err := b.join(ctx, i); err != nil {
			return nil, err
		}
	}
	if b.hub, err = startHub(ctx, t, b.server.Config); err != nil {
		return nil, err
	}
	return b, nil
}

func (b *bench) ensureNamespaces(ctx context.Context, names ...string) error {
	for _, name := range names {
		err := b.admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
		if client.IgnoreAlreadyExists(err) != nil {
			return err
		}
	}
	return nil
}

func clusterName(i int) string { return fmt.Sprintf("member-%d", i) }

// join makes one ManagedCluster, available, with its namespace and its agent's lease.
func (b *bench) join(ctx context.Context, i int) error {
	name := clusterName(i)
	if err := b.ensureNamespaces(ctx, name); err != nil {
		return err
	}
	if err := b.members.renew(ctx, name); err != nil {
		return err
	}
	mc := &clusterv1.ManagedCluster{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"fleet": "bench"}},
		Spec:       clusterv1.ManagedClusterSpec{HubAcceptsClient: true},
	}
	if err := b.admin.Create(ctx, mc); err != nil {
		return err
	}
	mc.Status.ClusterClaims = []clusterv1.ManagedClusterClaim{{Name: "region", Value: fmt.Sprint("r", i%10)}, {Name: "zones", Value: "a,b,c"}}
	meta.SetStatusCondition(&mc.Status.Conditions, metav1.Condition{Type: clusterv1.ManagedClusterConditionAvailable, Status: metav1.ConditionTrue, Reason: "Bench"})
	return b.admin.Status().Update(ctx, mc)
}

// workload is the UnitedDeployment: two subsets that may go anywhere, with a pod template of usual size.
func workload(replicas int32) *appsv1beta1.UnitedDeployment {
	labels := map[string]string{"app": "web"}
	container := corev1.Container{Name: "main", Image: "web:1"}
	for i := range 40 {
		container.Env = append(container.Env, corev1.EnvVar{Name: fmt.Sprint("VARIABLE_", i), Value: strings.Repeat("v", 40)})
	}
	zone := func(name string, zones ...string) appsv1beta1.Subset {
		return appsv1beta1.Subset{Name: name, NodeSelectorTerm: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
			{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: zones},
		}}}
	}
	return &appsv1beta1.UnitedDeployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"},
		Spec: appsv1beta1.UnitedDeploymentSpec{
			Replicas: ptr.To(replicas), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Topology: appsv1beta1.Topology{Subsets: []appsv1beta1.Subset{zone("a", "a"), zone("rest", "b", "c")}},
			Template: appsv1beta1.SubsetTemplate{CloneSetTemplate: &appsv1beta1.CloneSetTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: appsv1beta1.CloneSetSpec{
					Selector: &metav1.LabelSelector{MatchLabels: labels},
					Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{container}}},
				},
			}},
		},
	}
}

func placed() *fleetv1alpha1.FleetPlacement {
	return &fleetv1alpha1.FleetPlacement{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"},
		Spec: fleetv1alpha1.FleetPlacementSpec{
			TargetRef:       fleetv1alpha1.TargetReference{APIVersion: "apps.kruise.io/v1beta1", Kind: "UnitedDeployment", Name: "web"},
			ClusterSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"fleet": "bench"}},
		},
	}
}

func say(format string, args ...any) {
	fmt.Printf("%s  %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}
