// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/flotilla-sh/flotilla/hack/clusters/ocm/identity"
)

const (
	rolePrefix = "open-cluster-management:managedcluster:"
	// registrationRole and workRole are shared by all clusters and bound in each cluster's namespace.
	registrationRole = rolePrefix + "registration"
	workRole         = rolePrefix + "work"
	// workFinalizer keeps the work binding until the cluster's works are gone, so that its agent can still clean up.
	workFinalizer = "cluster.open-cluster-management.io/manifest-work-cleanup"
)

// Names of a cluster's own objects.
func clusterRole(cluster string) string         { return rolePrefix + cluster }
func registrationBinding(cluster string) string { return rolePrefix + cluster + ":registration" }
func workBinding(cluster string) string         { return rolePrefix + cluster + ":work" }

func rule(group, resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
}

// clusterRules are an agent's rights outside its namespace: its own ManagedCluster, and certificates.
func clusterRules(cluster string) []rbacv1.PolicyRule {
	own := rule("cluster.open-cluster-management.io", "managedclusters", "get", "list", "watch", "update")
	own.ResourceNames = []string{cluster}
	ownStatus := rule("cluster.open-cluster-management.io", "managedclusters/status", "patch", "update")
	ownStatus.ResourceNames = []string{cluster}
	return []rbacv1.PolicyRule{
		own, ownStatus,
		rule("certificates.k8s.io", "certificatesigningrequests", "create", "get", "list", "watch"),
		rule("register.open-cluster-management.io", "managedclusters/clientcertificates", "renew"),
	}
}

// sharedRoles are the rights of agents in their cluster's namespace.
var sharedRoles = map[string][]rbacv1.PolicyRule{
	registrationRole: {
		rule("coordination.k8s.io", "leases", "get", "list", "watch", "update"),
		rule("addon.open-cluster-management.io", "managedclusteraddons", "get", "list", "watch"),
		rule("addon.open-cluster-management.io", "managedclusteraddons/status", "patch", "update"),
		rule("events.k8s.io", "events", "create", "patch"),
	},
	workRole: {
		rule("work.open-cluster-management.io", "manifestworks", "get", "list", "watch", "update", "patch"),
		rule("work.open-cluster-management.io", "manifestworks/status", "patch", "update"),
		rule("events.k8s.io", "events", "create", "patch"),
	},
}

// grant makes the roles and bindings of a cluster's agent. It writes only what differs.
func grant(ctx context.Context, c client.Client, cluster string) error {
	roles := map[string][]rbacv1.PolicyRule{clusterRole(cluster): clusterRules(cluster)}
	for name, rules := range sharedRoles {
		roles[name] = rules
	}
	for name, rules := range roles {
		if err := ensureClusterRole(ctx, c, name, rules); err != nil {
			return err
		}
	}
	if err := ensureClusterBinding(ctx, c, cluster); err != nil {
		return err
	}
	if err := ensureBinding(ctx, c, cluster, binding{registrationBinding(cluster), registrationRole, nil}); err != nil {
		return err
	}
	return ensureBinding(ctx, c, cluster, binding{workBinding(cluster), workRole, []string{workFinalizer}})
}

func ensureClusterRole(ctx context.Context, c client.Client, name string, rules []rbacv1.PolicyRule) error {
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}}
	_, err := controllerutil.CreateOrPatch(ctx, c, role, func() error {
		role.Rules = rules
		return nil
	})
	return wrap(err, "cluster role", name)
}

func ensureClusterBinding(ctx context.Context, c client.Client, cluster string) error {
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: clusterRole(cluster)}}
	_, err := controllerutil.CreateOrPatch(ctx, c, binding, func() error {
		binding.RoleRef, binding.Subjects = roleRef(clusterRole(cluster)), subjects(cluster)
		return nil
	})
	return wrap(err, "cluster role binding", binding.Name)
}

// binding is a role that a cluster's agent has in its namespace.
type binding struct {
	name, role string
	finalizers []string
}

func ensureBinding(ctx context.Context, c client.Client, cluster string, b binding) error {
	object := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: identity.Namespace(cluster), Name: b.name}}
	_, err := controllerutil.CreateOrPatch(ctx, c, object, func() error {
		if object.DeletionTimestamp != nil {
			return nil
		}
		for _, finalizer := range b.finalizers {
			controllerutil.AddFinalizer(object, finalizer)
		}
		object.RoleRef, object.Subjects = roleRef(b.role), subjects(cluster)
		return nil
	})
	return wrap(err, "role binding", b.name)
}

func roleRef(name string) rbacv1.RoleRef {
	return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}
}

func subjects(cluster string) []rbacv1.Subject {
	return []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: identity.Group(cluster)}}
}

func wrap(err error, kind, name string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", kind, name, err)
}
