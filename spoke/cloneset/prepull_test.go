// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/spoke/prepull"
	"github.com/flotilla-sh/flotilla/spoke/revision"
)

// When images are not pulled ahead, and why.
func TestPullIsUseless(t *testing.T) {
	inPlace := func(change func(*appsv1beta1.CloneSet)) *appsv1beta1.CloneSet {
		set := &appsv1beta1.CloneSet{}
		set.Spec.Replicas = ptr.To[int32](5)
		set.Spec.UpdateStrategy.RollingUpdate = &appsv1beta1.RollingUpdateCloneSetStrategy{PodUpdatePolicy: appsv1beta1.InPlaceIfPossiblePodUpdateStrategyType}
		if change != nil {
			change(set)
		}
		return set
	}
	for name, tc := range map[string]struct {
		set  *appsv1beta1.CloneSet
		to   int
		want string
	}{
		"of use": {inPlace(nil), 1, ""},
		"recreated": {inPlace(func(s *appsv1beta1.CloneSet) {
			s.Spec.UpdateStrategy.RollingUpdate.PodUpdatePolicy = appsv1beta1.RecreatePodUpdateStrategyType
		}), 1, "pods are not updated in place"},
		"OnDelete": {inPlace(func(s *appsv1beta1.CloneSet) {
			s.Spec.UpdateStrategy = appsv1beta1.CloneSetUpdateStrategy{Type: appsv1beta1.CloneSetOnDeleteUpdateStrategyType}
		}), 1, "pods are not updated in place"},
		"no rollingUpdate, as nobody defaulted it": {inPlace(func(s *appsv1beta1.CloneSet) { s.Spec.UpdateStrategy = appsv1beta1.CloneSetUpdateStrategy{} }), 1, "pods are not updated in place"},
		"all at once": {inPlace(func(s *appsv1beta1.CloneSet) {
			s.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable = ptr.To(intstr.FromInt32(5))
		}), 1, "all pods are updated at once"},
		"all at once, in percent": {inPlace(func(s *appsv1beta1.CloneSet) {
			s.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable = ptr.To(intstr.FromString("100%"))
		}), 1, "all pods are updated at once"},
		"99% rounds down": {inPlace(func(s *appsv1beta1.CloneSet) {
			s.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable = ptr.To(intstr.FromString("99%"))
		}), 1, ""},
		"all at once, but for a partition": {inPlace(func(s *appsv1beta1.CloneSet) {
			s.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable, s.Spec.UpdateStrategy.RollingUpdate.Partition = ptr.To(intstr.FromInt32(5)), ptr.To(intstr.FromInt32(1))
		}), 1, ""},
		"not possible in place": {inPlace(nil), 4, "template.spec.containers.0.env changed"},
	} {
		t.Run(name, func(t *testing.T) {
			from, to := simRevision(t, 0), simRevision(t, tc.to)
			set := withDefaults(tc.set)
			rules, err := rulesOf(set, situation{}, &Options{}, sharedDiffers)
			if err != nil {
				t.Fatal(err)
			}
			p := &pass{Reconciler: &Reconciler{}, set: set, rules: &rules, history: &revision.Result{Current: from, Update: to}}
			if got := p.pullUseless(); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

func simRevision(t *testing.T, template int) *appsv1.ControllerRevision {
	t.Helper()
	s := newSim(1)
	s.use(template)
	return s.update
}

// The settings come from the spec alone; where there are none the engine's defaults count.
func TestPullSettings(t *testing.T) {
	set := &appsv1beta1.CloneSet{}
	if diff := cmp.Diff(prepull.Settings{}, pullSettings(set)); diff != "" {
		t.Error(diff)
	}
	three := ptr.To(intstr.FromInt32(3))
	set.Spec.UpdateStrategy.RollingUpdate = &appsv1beta1.RollingUpdateCloneSetStrategy{InPlaceUpdateStrategy: &appsv1beta1.InPlaceUpdateStrategy{
		ImagePreDownloadParallelism: three, ImagePreDownloadTimeoutSeconds: ptr.To[int32](60), ImagePreDownloadMinUpdatedReadyPods: ptr.To[int32](2)}}
	if diff := cmp.Diff(prepull.Settings{Parallelism: three, TimeoutSeconds: ptr.To[int32](60), MinUpdatedReady: 2}, pullSettings(set)); diff != "" {
		t.Error(diff)
	}
}
