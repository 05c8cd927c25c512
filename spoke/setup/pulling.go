// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"cmp"
	"os"

	"sigs.k8s.io/controller-runtime/pkg/manager"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/features"
	"github.com/flotilla-sh/flotilla/spoke/imagelistpulljob"
	"github.com/flotilla-sh/flotilla/spoke/imagepulljob"
	"github.com/flotilla-sh/flotilla/spoke/nodeimage"
	"github.com/flotilla-sh/flotilla/spoke/pullsecrets"
)

// pulling is what the controllers that have nodes pull images share.
type pulling struct {
	options Options
	// namespace is where pull secrets are copied to.
	namespace string
	// copies are the Secrets in it. The manager's own cache holds no Secret but that of the webhooks.
	copies *pullsecrets.Copies
}

// addPulling adds the controllers that have nodes pull images ahead, where their gates are on.
func addPulling(mgr manager.Manager, opts Options) error {
	if !features.Enabled(features.KruiseDaemon) {
		return nil
	}
	p := pulling{options: opts, namespace: cmp.Or(os.Getenv(appsv1beta1.DaemonConfigNamespaceEnv), appsv1beta1.KruiseDaemonConfigNamespace)}
	var err error
	if p.copies, err = pullsecrets.New(mgr, p.namespace); err != nil {
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

func addNodeImage(mgr manager.Manager, p pulling) error {
	return nodeimage.Add(mgr, nodeimage.Options{
		CreationDelay: p.options.NodeImageDelay, Secrets: p.copies, Namespace: p.namespace,
	})
}

func addImagePullJob(mgr manager.Manager, p pulling) error {
	return imagepulljob.Add(mgr, imagepulljob.Options{
		DefaultTTL: p.options.PullTTLSeconds, Namespace: p.namespace, Copies: p.copies,
	})
}

func addImageListPullJob(mgr manager.Manager, _ pulling) error {
	return imagelistpulljob.Add(mgr, imagelistpulljob.Options{})
}
