// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	policyv1beta1 "github.com/flotilla-sh/flotilla/apis/policy/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/features"
	"github.com/flotilla-sh/flotilla/spoke/podadmission"
)

// reading is a manager that can do no more than read.
type reading struct {
	manager.Manager
	client.Reader
}

type readingCache struct {
	cache.Informers
	client.Reader
}

func (r reading) GetCache() cache.Cache       { return readingCache{Reader: r.Reader} }
func (r reading) GetAPIReader() client.Reader { return r.Reader }

// mutators are the steps that new pods pass in a cluster with these objects.
func mutators(objects ...client.Object) []podadmission.Mutator {
	reader := fake.NewClientBuilder().WithScheme(Scheme()).WithObjects(objects...).Build()
	return podStepsOf(reading{Reader: reader}, &budgets{}).mutators
}

func names(steps []podadmission.Mutator) []string {
	var out []string
	for _, s := range steps {
		out = append(out, s.Name())
	}
	return out
}

// order is the order that all steps have, those among them that are yet to come: later ones see what earlier ones did.
var order = []string{
	"readiness gate", "workload spread", "sidecars", "container launch priority", "budget", "persistent pod state", "enhanced liveness", "custom probes",
}

func TestOrderOfPodSteps(t *testing.T) {
	switched(t, true, features.PodProbeMarkerGate, features.EnablePodProbeMarkerOnServerless)
	if diff := cmp.Diff([]string{"readiness gate", "container launch priority", "budget", "custom probes"}, names(mutators())); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	at := func(name string) int { return slices.Index(order, name) }
	for _, name := range names(mutators()) {
		if at(name) < 0 {
			t.Errorf("step %q has no place in the order", name)
		}
	}
	if !slices.IsSortedFunc(names(mutators()), func(a, b string) int { return at(a) - at(b) }) {
		t.Errorf("the order is %v, want %v", names(mutators()), order)
	}
	switched(t, false, features.EnablePodProbeMarkerOnServerless)
	reader := fake.NewClientBuilder().WithScheme(Scheme()).Build()
	bare := podStepsOf(reading{Reader: reader}, nil)
	if diff := cmp.Diff([]string{"readiness gate", "container launch priority"}, names(bare.mutators)); diff != "" || len(bare.validators) != 0 {
		t.Errorf("steps with all gates off (-want +got), and %v:\n%s", bare.validators, diff)
	}
}

// injector stands for a step that adds a container, as sidecars are.
type injector struct{}

func (injector) Name() string { return "sidecars" }

func (injector) Mutate(_ context.Context, pod *corev1.Pod) (bool, error) {
	pod.Spec.Containers = append([]corev1.Container{{
		Name: "sidecar", Env: []corev1.EnvVar{{Name: v1beta1.ContainerLaunchPriorityEnvName, Value: "5"}},
	}}, pod.Spec.Containers...)
	return true, nil
}

// barriers are the keys that the containers of a pod wait for.
func barriers(pod *corev1.Pod) map[string]string {
	out := map[string]string{}
	for _, c := range pod.Spec.Containers {
		for _, e := range c.Env {
			if e.Name == v1beta1.ContainerLaunchBarrierEnvName {
				out[c.Name] = e.ValueFrom.ConfigMapKeyRef.Key
			}
		}
	}
	return out
}

// LP-04: a container that an earlier step puts in takes part in the order of launch; the whole chain runs here.
func TestInjectedContainersTakePartInLaunchOrder(t *testing.T) {
	switched(t, true, features.PodProbeMarkerGate, features.EnablePodProbeMarkerOnServerless)
	marker := &v1alpha1.PodProbeMarker{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "marker"}}
	marker.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	marker.Spec.Probes = []v1alpha1.PodContainerProbe{{Name: "ready", ContainerName: "sidecar", PodConditionType: "example.com/ready"}}
	budget := &policyv1beta1.PodUnavailableBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "budget"}}
	budget.Spec.Selector = marker.Spec.Selector
	steps := mutators(marker, budget)
	place := slices.IndexFunc(steps, func(m podadmission.Mutator) bool {
		return slices.Index(order, m.Name()) > slices.Index(order, injector{}.Name())
	})
	steps = slices.Insert(steps, place, podadmission.Mutator(injector{}))

	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", GenerateName: "web-", Labels: map[string]string{"app": "web"}}}
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps.kruise.io/v1beta1", Kind: "CloneSet", Name: "web", Controller: new(true)}}
	pod.Spec.InitContainers = []corev1.Container{{Name: "init"}}
	pod.Spec.Containers = []corev1.Container{{Name: "web"}}
	for _, s := range steps {
		if changed, err := s.Mutate(t.Context(), pod); err != nil || !changed {
			t.Errorf("%s: changed %v, error %v", s.Name(), changed, err)
		}
	}
	if diff := cmp.Diff(map[string]string{"sidecar": "p_5", "web": "p_0"}, barriers(pod)); diff != "" {
		t.Errorf("barriers (-want +got):\n%s", diff)
	}
	if pod.Spec.InitContainers[0].Env != nil {
		t.Errorf("an init container waits: %v", pod.Spec.InitContainers[0].Env)
	}
	if pod.Annotations[policyv1beta1.PodRelatedPubKey] != "budget" || pod.Annotations[v1alpha1.PodProbeMarkerListAnnotationKey] != "marker" {
		t.Errorf("budget and markers: %v", pod.Annotations)
	}
}
