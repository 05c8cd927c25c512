// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/spoke/podset"
	"github.com/flotilla-sh/flotilla/spoke/revision"
)

func setWithClaims() *appsv1beta1.CloneSet {
	return &appsv1beta1.CloneSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "u"},
		Spec: appsv1beta1.CloneSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}, Annotations: map[string]string{"n": "1"}, Finalizers: []string{"x/f"}},
				Spec: corev1.PodSpec{
					Containers: []corev1.Container{{Name: "a", Image: "a:1"}},
					Volumes:    []corev1.Volume{{Name: "data"}, {Name: "other"}},
				},
			},
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data", Labels: map[string]string{"own": "1", "app": "no"}}}},
		},
	}
}

func claimOf(id string, change func(*corev1.PersistentVolumeClaim)) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data-web-" + id, Labels: map[string]string{appsv1beta1.CloneSetInstanceID: id}}}
	if change != nil {
		change(c)
	}
	return c
}

func podOf(id string, phase corev1.PodPhase) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-" + id, Labels: map[string]string{appsv1beta1.CloneSetInstanceID: id}}, Status: corev1.PodStatus{Phase: phase}}
}

func revisionFor(t *testing.T, set *appsv1beta1.CloneSet) *appsv1.ControllerRevision {
	t.Helper()
	raw, err := revision.Payload(&set.Spec.Template)
	if err != nil {
		t.Fatal(err)
	}
	return &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Name: "web-abc", Labels: map[string]string{appsv1beta1.ControllerHashLabel: "abc"}},
		Data:       runtime.RawExtension{Raw: raw},
	}
}

func TestBuild(t *testing.T) {
	set := setWithClaims()
	b := newInstances(&pass{Reconciler: &Reconciler{}, set: set, now: noon})
	b.newID = func() string { return "aaaaa" }
	pod, claims, err := b.Build(podset.Create{Revision: revisionFor(t, set)})
	if err != nil {
		t.Fatal(err)
	}
	if pod.Name != "web-aaaaa" || pod.GenerateName != "web-" || !metav1.IsControlledBy(pod, set) {
		t.Errorf("metadata %+v", pod.ObjectMeta)
	}
	if diff := cmp.Diff(map[string]string{
		"app": "web", appsv1beta1.ControllerRevisionHashLabel: "web-abc", appsv1beta1.PodTemplateHashLabel: "abc",
		appsv1beta1.CloneSetInstanceID: "aaaaa", appsv1beta1.LifecycleStateKey: "PreparingNormal",
	}, pod.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if len(pod.Spec.ReadinessGates) != 2 || pod.Spec.ReadinessGates[0].ConditionType != appsv1beta1.InPlaceUpdateReady {
		t.Errorf("gates %v", pod.Spec.ReadinessGates)
	}
	volumes := pod.Spec.Volumes
	if len(volumes) != 2 || volumes[0].PersistentVolumeClaim == nil || volumes[0].PersistentVolumeClaim.ClaimName != "data-web-aaaaa" || volumes[1].Name != "other" {
		t.Errorf("volumes %+v", volumes)
	}
	if len(claims) != 1 || claims[0].Name != "data-web-aaaaa" || !metav1.IsControlledBy(claims[0], set) {
		t.Fatalf("claims %+v", claims)
	}
	if diff := cmp.Diff(map[string]string{"own": "1", "app": "web", appsv1beta1.CloneSetInstanceID: "aaaaa"}, claims[0].Labels); diff != "" {
		t.Errorf("claim labels (-want +got):\n%s", diff)
	}
	if set.Spec.Template.Spec.ReadinessGates != nil || len(set.Spec.VolumeClaimTemplates[0].Labels) != 2 {
		t.Error("the set was changed")
	}
}

// A template copied from a pod has marks of that pod: a new one must not be born to be deleted.
func TestBuildLeavesMarksOut(t *testing.T) {
	set := setWithClaims()
	set.Spec.Template.Labels[appsv1beta1.SpecifiedDeleteKey] = "true"
	set.Spec.Template.Labels[appsv1beta1.CloneSetInstanceID] = "other"
	set.Spec.Template.Annotations[appsv1beta1.InPlaceUpdateStateKey] = "{}"
	b := newInstances(&pass{Reconciler: &Reconciler{}, set: set, now: noon})
	pod, _, err := b.Build(podset.Create{Revision: revisionFor(t, set)})
	if err != nil {
		t.Fatal(err)
	}
	if _, marked := pod.Labels[appsv1beta1.SpecifiedDeleteKey]; marked || pod.Name != "web-"+pod.Labels[appsv1beta1.CloneSetInstanceID] {
		t.Errorf("labels %v of %s", pod.Labels, pod.Name)
	}
	if _, marked := pod.Annotations[appsv1beta1.InPlaceUpdateStateKey]; marked || pod.Annotations["n"] != "1" {
		t.Errorf("annotations %v", pod.Annotations)
	}
}

// A pod whose label somebody took off or changed keeps its claims, and its name is not given to another.
func TestInstanceOfName(t *testing.T) {
	set := setWithClaims()
	bare, relabelled, foreign := podOf("bare", corev1.PodRunning), podOf("moved", corev1.PodRunning), podOf("own", corev1.PodRunning)
	bare.GenerateName, relabelled.GenerateName, foreign.Name = "web-", "web-", "web-guest"
	bare.Labels, relabelled.Labels[appsv1beta1.CloneSetInstanceID] = nil, "else"
	list := []*corev1.Pod{bare, relabelled, foreign}
	byInstance := instanceOf(set, list)
	for _, id := range []string{"bare", "moved", "own"} {
		if fate, _ := fateOf(claimOf(id, nil), byInstance); fate != keepClaim {
			t.Errorf("claim of %s: %v", id, fate)
		}
	}
	b := newInstances(&pass{Reconciler: &Reconciler{}, set: set, now: noon, pods: list, claims: []*corev1.PersistentVolumeClaim{claimOf("bare", nil)}})
	if len(b.reusable) != 0 || len(b.Claims(bare)) != 1 {
		t.Errorf("reusable %v, claims of the pod %v", b.reusable, b.Claims(bare))
	}
}

// Ids of claims without any pod are used again; those of a pod that still exists, terminating or
// dead, are not (CS-21).
func TestInstanceIDs(t *testing.T) {
	stuck := podOf("stuck", corev1.PodRunning)
	stuck.DeletionTimestamp = &metav1.Time{Time: noon}
	b := newInstances(&pass{Reconciler: &Reconciler{}, set: setWithClaims(), now: noon,
		pods:   []*corev1.Pod{podOf("alive", corev1.PodRunning), podOf("dead", corev1.PodFailed), stuck},
		claims: []*corev1.PersistentVolumeClaim{claimOf("alive", nil), claimOf("dead", nil), claimOf("stuck", nil), claimOf("free2", nil), claimOf("free1", nil)},
	})
	drawn := []string{"alive", "free1", "fresh"}
	b.newID = func() string { id := drawn[0]; drawn = drawn[1:]; return id }
	if got := []string{b.id(), b.id(), b.id()}; !cmp.Equal(got, []string{"free1", "free2", "fresh"}) {
		t.Errorf("ids %v", got)
	}
	if got := b.Claims(podOf("dead", corev1.PodFailed)); len(got) != 1 || got[0].Name != "data-web-dead" {
		t.Errorf("claims of a pod %v", got)
	}
	if b.Claims(&corev1.Pod{}) != nil {
		t.Error("a pod without an id has no claims")
	}
}

// Claims that hold data are used before those made for a pod that never came to be.
func TestBoundClaimsFirst(t *testing.T) {
	bound := claimOf("z", nil)
	bound.Status.Phase = corev1.ClaimBound
	b := newInstances(&pass{Reconciler: &Reconciler{}, set: setWithClaims(), now: noon,
		claims: []*corev1.PersistentVolumeClaim{claimOf("b", nil), bound, claimOf("a", nil)}})
	if got := []string{b.id(), b.id(), b.id()}; !cmp.Equal(got, []string{"z", "a", "b"}) {
		t.Errorf("ids %v", got)
	}
}

func TestFateOfClaims(t *testing.T) {
	stuck := podOf("stuck", corev1.PodRunning)
	stuck.DeletionTimestamp = &metav1.Time{Time: noon}
	byInstance := map[string]*corev1.Pod{"alive": podOf("alive", corev1.PodRunning), "dead": podOf("dead", corev1.PodFailed), "stuck": stuck}
	for id, want := range map[string]claimFate{"alive": keepClaim, "dead": handOver, "stuck": handOver, "gone": deleteClaim} {
		if got, _ := fateOf(claimOf(id, nil), byInstance); got != want {
			t.Errorf("%s: %v, want %v", id, got, want)
		}
	}
}

func TestRevisionLabels(t *testing.T) {
	r := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: "web-abc"}}
	if got := revisionLabels(r, true); got[appsv1beta1.ControllerRevisionHashLabel] != "abc" || got[appsv1beta1.PodTemplateHashLabel] != "abc" {
		t.Errorf("short %v", got)
	}
	if got := revisionLabels(r, false); got[appsv1beta1.ControllerRevisionHashLabel] != "web-abc" || got[appsv1beta1.PodTemplateHashLabel] != "abc" {
		t.Errorf("long %v", got)
	}
	// A name that no label can hold would have every pod refused.
	r.Name = strings.Repeat("w", 60) + "-abc"
	if got := revisionLabels(r, false); got[appsv1beta1.ControllerRevisionHashLabel] != "abc" {
		t.Errorf("too long %v", got)
	}
}
