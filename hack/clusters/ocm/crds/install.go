// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package crds

import (
	"context"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-sh/flotilla/hack/clusters/ocm/identity"
)

const (
	establishPoll  = 100 * time.Millisecond
	establishLimit = 30 * time.Second
)

// Install applies the CRDs and returns once the API server serves all of them.
// It changes nothing where they are already in place. It gives up after 30 s.
func Install(ctx context.Context, cfg *rest.Config, crds []*unstructured.Unstructured) error {
	scheme := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		return fmt.Errorf("build scheme: %w", err)
	}
	c, err := client.New(cfg, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("connect to install CRDs: %w", err)
	}
	for _, crd := range crds {
		config := client.ApplyConfigurationFromUnstructured(crd.DeepCopy())
		if err := c.Apply(ctx, config, client.FieldOwner(identity.FieldOwner), client.ForceOwnership); err != nil {
			return fmt.Errorf("apply CRD %s: %w", crd.GetName(), err)
		}
	}
	for _, crd := range crds {
		if err := waitEstablished(ctx, c, crd.GetName()); err != nil {
			return fmt.Errorf("wait for CRD %s to be served: %w", crd.GetName(), err)
		}
	}
	return nil
}

func waitEstablished(ctx context.Context, c client.Reader, name string) error {
	return wait.PollUntilContextTimeout(ctx, establishPoll, establishLimit, true, func(ctx context.Context) (bool, error) {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := c.Get(ctx, client.ObjectKey{Name: name}, crd); err != nil {
			return false, err
		}
		for _, condition := range crd.Status.Conditions {
			if condition.Type == apiextensionsv1.Established {
				return condition.Status == apiextensionsv1.ConditionTrue, nil
			}
		}
		return false, nil
	})
}
