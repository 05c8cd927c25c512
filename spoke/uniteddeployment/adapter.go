// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package uniteddeployment

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
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
	// maxUnavailable of an update; nil when there is none, or pods in reserve are no matter of the kind.
	maxUnavailable *intstr.IntOrString
}

// sizing is what a workload should ask for.
type sizing struct {
	replicas, partition int32
	// maxUnavailable takes the place of the template's, if set.
	maxUnavailable *int32
}

// adapters are the kinds served, in the order in which a template is looked at.
var adapters = []adapter{statefulSetAdapter{}, advancedStatefulSetAdapter{}, cloneSetAdapter{}, deploymentAdapter{}}

// adapterOf returns the adapter of the kind the template asks for, or nil.
func adapterOf(t *appsv1beta1.SubsetTemplate) adapter {
	for _, a := range adapters {
		if a.metadata(t) != nil {
			return a
		}
	}
	return nil
}

// unserved says why a template is not acted on, if this cluster knows these kinds; "" when it is.
func unserved(a adapter, kinds []schema.GroupVersionKind) string {
	switch {
	case a == nil:
		return "spec.template has no template: set one of its fields"
	case !slices.Contains(kinds, a.kind()):
		return fmt.Sprintf("the cluster did not know kind %s of %s when the controller started: nothing is created, changed or deleted", a.kind().Kind, a.kind().GroupVersion())
	default:
		return ""
	}
}
