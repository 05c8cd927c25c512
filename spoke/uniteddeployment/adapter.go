// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package uniteddeployment

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// adapter is what differs between the kinds of subset workloads. Each kind has a file of its own.
type adapter interface {
	reader
	// kind of the workloads.
	kind() schema.GroupVersionKind
	// empty returns an object and a list to read into.
	empty() (client.Object, client.ObjectList)
	// metadata returns the template's metadata, or nil when the template is of another kind.
	metadata(t *appsv1beta1.SubsetTemplate) *metav1.ObjectMeta
	// draft returns a workload made from the template with these numbers, and the pod template
	// inside it. Nothing of it is shared with the template.
	draft(t *appsv1beta1.SubsetTemplate, selector *metav1.LabelSelector, want sizing) (client.Object, *corev1.PodTemplateSpec)
}

// reader reads a workload of one kind.
type reader interface {
	// read returns the numbers of a workload.
	read(obj client.Object) numbers
	// template returns the pod template of a workload.
	template(obj client.Object) *corev1.PodTemplateSpec
}

// numbers are what a workload asks for and has.
type numbers struct {
	replicas, partition           int32
	statusReplicas, readyReplicas int32
	// partitioned tells whether workloads of the kind can keep pods at the old revision.
	partitioned bool
}

// sizing is what a workload should ask for.
type sizing struct {
	replicas, partition int32
}

// adapters are the kinds served, in the order in which a template is looked at.
var adapters = []adapter{statefulSetAdapter{}, cloneSetAdapter{}, deploymentAdapter{}}

// templateKinds are all kinds a template can be of. Workloads of a kind the template no longer is
// of are deleted, whether that kind is served or not.
var templateKinds = []schema.GroupVersionKind{
	statefulSetAdapter{}.kind(),
	appsv1beta1.SchemeGroupVersion.WithKind("StatefulSet"),
	cloneSetAdapter{}.kind(),
	deploymentAdapter{}.kind(),
}

// adapterOf returns the adapter of the kind the template asks for, or nil.
func adapterOf(t *appsv1beta1.SubsetTemplate) adapter {
	for _, a := range adapters {
		if a.metadata(t) != nil {
			return a
		}
	}
	return nil
}

// unserved says why a template without an adapter is not acted on.
func unserved(t *appsv1beta1.SubsetTemplate) string {
	switch {
	case t.AdvancedStatefulSetTemplate != nil:
		return "spec.template.advancedStatefulSetTemplate is not supported yet: nothing is created, changed or deleted"
	default:
		return "spec.template has no template: set one of its fields"
	}
}
