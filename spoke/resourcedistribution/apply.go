// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package resourcedistribution

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

const (
	fieldOwner = client.FieldOwner("spoke-resourcedistribution")
	// mostAtOnce bounds how many namespaces are written at once.
	mostAtOnce = 16
	// lagging: what is written here is watched by a cache of its own, not the manager's.
	lagging = client.DisableReadYourWritesConsistency
)

// problem is an error with the cause that it belongs to.
type problem struct {
	cause v1beta1.ResourceDistributionConditionType
	error
}

// Unwrap returns the error without its cause.
func (p *problem) Unwrap() error { return p.error }

// retried tells whether another pass may help: of a conflict or a namespace that is missing an event or the clock tells.
func (p *problem) retried() bool {
	return p.cause != v1beta1.ResourceDistributionConflictOccurred && p.cause != v1beta1.ResourceDistributionNamespaceNotExists
}

// writer carries out a plan for one ResourceDistribution.
type writer struct {
	*Reconciler
	rd       *v1beta1.ResourceDistribution
	template *template
}

// carryOut takes the steps in batches of 1, 2, 4, …, so that what fails everywhere is not tried everywhere at once; no
// failure keeps the others from being tried. What went wrong is in the order of the steps.
func (w *writer) carryOut(ctx context.Context, steps []step) []failure {
	problems := make([]*problem, len(steps))
	for from, size := 0, 1; from < len(steps); from, size = from+size, min(2*size, mostAtOnce) {
		var batch sync.WaitGroup
		for i := from; i < min(from+size, len(steps)); i++ {
			batch.Go(func() { problems[i] = w.take(ctx, steps[i]) })
		}
		batch.Wait()
	}
	var out []failure
	for i, p := range problems {
		if p != nil {
			out = append(out, failure{namespace: steps[i].namespace, problem: p})
		}
	}
	return out
}

// take takes one step.
func (w *writer) take(ctx context.Context, s step) *problem {
	switch s.action {
	case create:
		return w.create(ctx, s.namespace)
	case update:
		return w.update(ctx, s.namespace)
	case remove:
		return w.remove(ctx, s.namespace)
	case leave:
		return w.conflict(s.namespace)
	case wait:
		return missing(s.namespace)
	case nothing:
	}
	return nil
}

func missing(namespace string) *problem {
	return &problem{v1beta1.ResourceDistributionNamespaceNotExists, fmt.Errorf("namespace %s is not there, or is being deleted", namespace)}
}

func (w *writer) conflict(namespace string) *problem {
	return &problem{v1beta1.ResourceDistributionConflictOccurred, fmt.Errorf("%s %s/%s is not of this ResourceDistribution: it is left as it is",
		kindOf(w.template.object), namespace, w.template.object.GetName())}
}

// failed is the problem of a request, unless the namespace went away.
func (w *writer) failed(cause v1beta1.ResourceDistributionConditionType, namespace string, err error) *problem {
	switch {
	case err == nil:
		return nil
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return missing(namespace)
	default:
		return &problem{cause, tellable(kindOf(w.template.object), namespace, err)}
	}
}

func (w *writer) create(ctx context.Context, namespace string) *problem {
	obj, err := w.template.made(w.rd, namespace)
	if err == nil {
		err = w.client.Create(ctx, obj, fieldOwner, lagging)
	}
	if apierrors.IsAlreadyExists(err) { // since it was looked for
		return w.update(ctx, namespace)
	}
	if apierrors.IsNotFound(err) { // a namespace that is gone
		return missing(namespace)
	}
	return w.failed(v1beta1.ResourceDistributionCreateResourceFailed, namespace, err)
}

// update makes what is there what it should be: the very version that was read, if it is ours.
func (w *writer) update(ctx context.Context, namespace string) *problem {
	var out *problem
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		out = nil
		obj, err := w.read(ctx, namespace)
		switch {
		case err != nil:
			out = w.failed(v1beta1.ResourceDistributionGetResourceFailed, namespace, err)
			return nil
		case !isOurs(obj, w.rd):
			out = w.conflict(namespace)
			return nil
		case w.asItShouldBe(obj):
			return nil // the cache lags
		}
		w.template.onto(w.rd, obj)
		return w.client.Update(ctx, obj, fieldOwner, lagging)
	})
	if err != nil {
		return w.failed(v1beta1.ResourceDistributionUpdateResourceFailed, namespace, err)
	}
	return out
}

func (w *writer) read(ctx context.Context, namespace string) (client.Object, error) {
	obj, err := empty(kindOf(w.template.object))
	if err != nil {
		return nil, err
	}
	return obj, w.live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: w.template.object.GetName()}, obj)
}

func (w *writer) asItShouldBe(obj client.Object) bool {
	return obj.GetLabels()[copyLabel] == copyMark && obj.GetAnnotations()[v1beta1.ResourceHashKey] == w.template.hash && digestOf(obj) == w.template.digest
}

// remove deletes a copy: the very version that was read, if it is ours yet.
func (w *writer) remove(ctx context.Context, namespace string) *problem {
	var out *problem
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		out = nil
		obj, err := w.read(ctx, namespace)
		if err != nil {
			out = w.failed(v1beta1.ResourceDistributionGetResourceFailed, namespace, client.IgnoreNotFound(err))
			return nil
		}
		if !isOurs(obj, w.rd) {
			return nil
		}
		uid, version := obj.GetUID(), obj.GetResourceVersion()
		return client.IgnoreNotFound(w.client.Delete(ctx, obj, client.Preconditions{UID: &uid, ResourceVersion: &version}, lagging))
	})
	if err != nil {
		return w.failed(v1beta1.ResourceDistributionDeleteResourceFailed, namespace, err)
	}
	return out
}
