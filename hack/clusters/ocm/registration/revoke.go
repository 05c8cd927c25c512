// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"context"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/flotilla-sh/flotilla/hack/clusters/ocm/identity"
)

// revoke takes the rights of a cluster's agent away. The work binding stays
// while its finalizer does, so that the agent can still clean up.
func revoke(ctx context.Context, c client.Client, cluster string) error {
	namespace := identity.Namespace(cluster)
	for _, obj := range []client.Object{
		&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: clusterRole(cluster)}},
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: clusterRole(cluster)}},
		&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: registrationBinding(cluster)}},
		&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: workBinding(cluster)}},
	} {
		if err := deleteOnce(ctx, c, obj); err != nil {
			return wrap(err, "revoke", obj.GetName())
		}
	}
	return nil
}

// deleteOnce deletes what is there and not already on its way out.
func deleteOnce(ctx context.Context, c client.Client, obj client.Object) error {
	if err := c.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
		return client.IgnoreNotFound(err)
	}
	if obj.GetDeletionTimestamp() != nil {
		return nil
	}
	return client.IgnoreNotFound(c.Delete(ctx, obj))
}

// releaseWorkBinding lets the work binding go once no work is left.
func releaseWorkBinding(ctx context.Context, c client.Client, cluster string) error {
	binding := &rbacv1.RoleBinding{}
	key := client.ObjectKey{Namespace: identity.Namespace(cluster), Name: workBinding(cluster)}
	if err := c.Get(ctx, key, binding); err != nil {
		return client.IgnoreNotFound(err)
	}
	before := binding.DeepCopy()
	if !controllerutil.RemoveFinalizer(binding, workFinalizer) {
		return nil
	}
	return client.IgnoreNotFound(c.Patch(ctx, binding, locked(before)))
}
