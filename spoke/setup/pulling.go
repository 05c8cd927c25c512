// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"cmp"
	"os"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/features"
	"github.com/flotilla-sh/flotilla/spoke/imagelistpulljob"
	"github.com/flotilla-sh/flotilla/spoke/imagepulljob"
	"github.com/flotilla-sh/flotilla/spoke/nodeimage"
)

// pulling is what the controllers that have nodes pull images share.
type pulling struct {
	options Options
	// namespace is where pull secrets are copied to.
	namespace string
	// copies are the Secrets in it. The manager's own cache holds no Secret but that of the webhooks.
	copies cache.Cache
}

// addPulling adds the controllers that have nodes pull images ahead, where their gates are on.
func addPulling(mgr manager.Manager, opts Options) error {
	if !features.Enabled(features.KruiseDaemon) {
		return nil
	}
	p := pulling{options: opts, namespace: cmp.Or(os.Getenv(appsv1beta1.DaemonConfigNamespaceEnv), appsv1beta1.KruiseDaemonConfigNamespace)}
	var err error
	if p.copies, err = secretCache(mgr, p.namespace); err != nil {
		return wrap("pull secrets", err)
	}
	for _, c := range pullers {
		if !features.Enabled(c.gate) {
			continue
		}
		if err := c.add(mgr, p); err != nil {
			return wrap(c.name, err)
		}
	}
	return nil
}

// secretCache makes a cache of Secrets, of one namespace or (with "") of all.
func secretCache(mgr manager.Manager, namespace string) (cache.Cache, error) {
	options := cache.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
		DefaultTransform: cache.TransformStripManagedFields(),
	}
	if namespace != "" {
		options.ByObject = map[client.Object]cache.ByObject{&corev1.Secret{}: {Namespaces: map[string]cache.Config{namespace: {}}}}
	}
	c, err := cache.New(mgr.GetConfig(), options)
	if err != nil {
		return nil, err
	}
	return c, mgr.Add(c)
}

func addNodeImage(mgr manager.Manager, p pulling) error {
	return nodeimage.Add(mgr, nodeimage.Options{
		CreationDelay: p.options.NodeImageDelay, Secrets: p.copies, Namespace: p.namespace,
	})
}

// addImagePullJob gives the controller the metadata of all Secrets beside: it tells when a source changed.
func addImagePullJob(mgr manager.Manager, p pulling) error {
	sources, err := secretCache(mgr, "")
	if err != nil {
		return err
	}
	return imagepulljob.Add(mgr, imagepulljob.Options{
		DefaultTTL: p.options.PullTTLSeconds, Namespace: p.namespace,
		Copies: p.copies, Sources: sources,
	})
}

func addImageListPullJob(mgr manager.Manager, _ pulling) error {
	return imagelistpulljob.Add(mgr, imagelistpulljob.Options{})
}
