// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package deletionprotection

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-sh/flotilla/internal/features"
)

// page is how many objects are asked for at a time. The first page mostly tells.
const page = 100

// notFinished selects the pods that run or will run.
const notFinished = "status.phase!=Succeeded,status.phase!=Failed"

// What is read. Objects of other people's kinds are not in it: kustomize/crd-protection lets us list those.
//
// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims;pods,verbs=list

// cluster reads what there is, from the API server.
type cluster struct {
	reader client.Reader
	// metadata reads objects of all kinds, without what is in them.
	metadata metadata.Interface
	// definitions: Cascading of definitions is on.
	definitions bool
}

// look reads what Cascading asks of an object. An error is for the user.
func (c cluster) look(ctx context.Context, on cascade, obj *object) (finding, error) {
	switch on {
	case content:
		found, err := c.activePods(ctx, obj.Metadata.Name)
		if err != nil || found.count > 0 {
			return found, err
		}
		return c.boundClaims(ctx, obj.Metadata.Name)
	case instances:
		return c.instances(ctx, obj)
	case replicas:
		return finding{one: "replica", many: "replicas", count: obj.replicas()}, nil
	default:
		return finding{}, nil
	}
}

func (c cluster) activePods(ctx context.Context, namespace string) (finding, error) {
	found, err := live(ctx, c.metadata.Resource(corev1.SchemeGroupVersion.WithResource("pods")).Namespace(namespace), notFinished)
	found.one, found.many = "active pod", "active pods"
	if err != nil {
		return found, fmt.Errorf("cannot list its pods: %w", err)
	}
	return found, nil
}

// boundClaims reads whole claims: no selector knows their phase.
func (c cluster) boundClaims(ctx context.Context, namespace string) (finding, error) {
	found := finding{one: "bound PersistentVolumeClaim", many: "bound PersistentVolumeClaims"}
	for token := ""; ; {
		claims := corev1.PersistentVolumeClaimList{}
		if err := c.reader.List(ctx, &claims, client.InNamespace(namespace), client.Limit(page), client.Continue(token)); err != nil {
			return found, fmt.Errorf("cannot list its PersistentVolumeClaims: %w", err)
		}
		for i := range claims.Items {
			if claims.Items[i].Status.Phase == corev1.ClaimBound && claims.Items[i].DeletionTimestamp == nil {
				found.count++
			}
		}
		token = claims.Continue
		if found.more = token != ""; found.count > 0 || !found.more {
			return found, nil
		}
	}
}

// instances reads the objects of a definition, in a version that is served: the one they are stored as where that is,
// for then nobody has to convert them.
func (c cluster) instances(ctx context.Context, definition *object) (finding, error) {
	found := finding{one: "custom resource", many: "custom resources"}
	if !c.definitions {
		return found, fmt.Errorf("it needs feature-gate %s of flotilla-spoke, which is not enabled", features.DeletionProtectionForCRDCascadingGate)
	}
	version := definition.listedAs()
	if version == "" {
		return found, errors.New("no version is served, so nobody can tell whether there are custom resources")
	}
	resource := schema.GroupVersionResource{Group: definition.Spec.Group, Version: version, Resource: definition.Spec.Names.Plural}
	what := resource.GroupResource().String()
	seen, err := live(ctx, c.metadata.Resource(resource), "")
	found.count, found.more = seen.count, seen.more
	switch {
	case apierrors.IsForbidden(err):
		return found, fmt.Errorf("flotilla-spoke has no right to list %s: apply kustomize/crd-protection, or grant it verb list of %s", what, what)
	case err != nil:
		return found, fmt.Errorf("cannot list %s: %w", what, err)
	}
	return found, nil
}

// live counts objects that are not being deleted, on the first page that has one.
func live(ctx context.Context, from metadata.ResourceInterface, fields string) (finding, error) {
	found := finding{}
	for token := ""; ; {
		list, err := from.List(ctx, metav1.ListOptions{FieldSelector: fields, Limit: page, Continue: token})
		if err != nil {
			return found, err
		}
		for i := range list.Items {
			if list.Items[i].DeletionTimestamp == nil {
				found.count++
			}
		}
		token = list.Continue
		if found.more = token != ""; found.count > 0 || !found.more {
			return found, nil
		}
	}
}
