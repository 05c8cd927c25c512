// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/events"
	"github.com/flotilla-sh/flotilla/internal/pods"
	"github.com/flotilla-sh/flotilla/internal/steps"
	"github.com/flotilla-sh/flotilla/spoke/podset"
	"github.com/flotilla-sh/flotilla/spoke/podset/execute"
)

// claimFate is what becomes of a claim when claims are not reused.
type claimFate int

const (
	// keepClaim: a pod that runs or will run uses it.
	keepClaim claimFate = iota
	// handOver: only a dead pod has it; it goes with that pod.
	handOver
	// deleteClaim: no pod has it.
	deleteClaim
)

// fateOf decides from the pods of the claim's instance. A terminating pod counts as dead.
func fateOf(claim *corev1.PersistentVolumeClaim, byInstance map[string]*corev1.Pod) (claimFate, *corev1.Pod) {
	pod := byInstance[claim.Labels[appsv1beta1.CloneSetInstanceID]]
	switch {
	case pod == nil:
		return deleteClaim, nil
	case pods.IsActive(pod):
		return keepClaim, pod
	default:
		return handOver, pod
	}
}

// tidyClaims hands on or deletes the claims of pods that are gone, but for those that are to be reused.
// What is left in the pass are claims that may be used.
func (p *pass) tidyClaims(ctx context.Context) (steps.Outcome, error) {
	if p.set.Spec.ScaleStrategy.EnablePVCReuse {
		return steps.Outcome{}, p.tidyMarked(ctx)
	}
	if len(p.claims) == 0 {
		return steps.Outcome{}, nil
	}
	byInstance := instanceOf(p.set, p.pods)
	var kept []*corev1.PersistentVolumeClaim
	var errs []error
	for _, claim := range p.claims {
		fate, pod := p.fate(claim, byInstance)
		var err error
		reason := "FailedDelete"
		switch fate {
		case keepClaim:
			kept = append(kept, claim)
		case handOver:
			reason, err = "FailedUpdate", p.handOver(ctx, claim, pod)
		case deleteClaim:
			err = p.executor.DeleteClaim(ctx, p.set, claim)
		}
		if err != nil {
			errs = append(errs, err)
			p.events.Publish(events.Warning(p.stored, reason, "TidyClaims", err.Error()))
		}
	}
	p.claims = kept
	return steps.Outcome{}, errors.Join(errs...)
}

// tidyMarked deletes the claims of pods that the set deleted and whose claims it had no time for: those are not to be
// reused.
func (p *pass) tidyMarked(ctx context.Context) error {
	var kept []*corev1.PersistentVolumeClaim
	var errs []error
	for _, claim := range p.claims {
		uid := types.UID(claim.Annotations[execute.GoesWithPod])
		if uid == "" || slices.ContainsFunc(p.pods, func(pod *corev1.Pod) bool { return pod.UID == uid && pod.DeletionTimestamp == nil }) {
			kept = append(kept, claim)
			continue
		}
		if err := p.executor.DeleteClaim(ctx, p.set, claim); err != nil {
			errs = append(errs, err)
			p.events.Publish(events.Warning(p.stored, "FailedDelete", "TidyClaims", err.Error()))
		}
	}
	p.claims = kept
	return errors.Join(errs...)
}

// unmark lets claims stay whose pod was to be deleted and is not any more.
func (p *pass) unmark(ctx context.Context) error {
	var errs []error
	for _, claim := range p.claims {
		uid := types.UID(claim.Annotations[execute.GoesWithPod])
		if uid != "" && !slices.ContainsFunc(p.plan.Delete, func(d podset.Delete) bool { return d.Pod.UID == uid }) {
			errs = append(errs, p.executor.MarkClaim(ctx, p.set, claim, ""))
		}
	}
	return errors.Join(errs...)
}

// instanceOf finds pods by their instance's id; one that runs stands before one that is dead.
func instanceOf(set *appsv1beta1.CloneSet, list []*corev1.Pod) map[string]*corev1.Pod {
	out := map[string]*corev1.Pod{}
	for _, pod := range list {
		id := instanceID(set, pod)
		if have := out[id]; id != "" && (have == nil || !pods.IsActive(have)) {
			out[id] = pod
		}
	}
	return out
}

// fate is fateOf, but claims made for a pod that was refused are kept for the next attempt.
func (p *pass) fate(claim *corev1.PersistentVolumeClaim, byInstance map[string]*corev1.Pod) (claimFate, *corev1.Pod) {
	fate, pod := fateOf(claim, byInstance)
	switch {
	case pod != nil:
		p.executor.Used(p.set, claim)
	case p.executor.Spare(p.set, claim):
		return keepClaim, nil
	}
	return fate, pod
}

// handOver makes the pod the owner of its claim in the place of the set.
func (p *pass) handOver(ctx context.Context, claim *corev1.PersistentVolumeClaim, pod *corev1.Pod) error {
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": claim.UID,
		"ownerReferences": []any{
			map[string]any{"$patch": "delete", "uid": p.set.UID},
			metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID},
		},
	}})
	if err != nil {
		return err
	}
	changed := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID}}
	err = p.client.Patch(ctx, changed, client.RawPatch(types.StrategicMergePatchType, body), client.DisableReadYourWritesConsistency)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("hand claim %s over to pod %s: %w", claim.Name, pod.Name, err)
	}
	if err == nil {
		p.executor.Expectations.Patched(p.set.UID, changed, p.now)
	}
	return nil
}

// claimTemplateAnnotation marks a revision with the claim templates that go with it.
func claimTemplateAnnotation(templates []corev1.PersistentVolumeClaim) map[string]string {
	if len(templates) == 0 {
		return nil
	}
	raw, err := json.Marshal(templates)
	if err != nil {
		return nil
	}
	h := fnv.New32a()
	_, _ = h.Write(raw)
	return map[string]string{
		appsv1beta1.CloneSetVolumeClaimTemplateHashKey: rand.SafeEncodeString(strconv.FormatUint(uint64(h.Sum32()), 10)),
	}
}

// newClaims makes the claims of one instance.
func newClaims(set *appsv1beta1.CloneSet, id string) []*corev1.PersistentVolumeClaim {
	var out []*corev1.PersistentVolumeClaim
	for i := range set.Spec.VolumeClaimTemplates {
		template := &set.Spec.VolumeClaimTemplates[i]
		labels := maps.Clone(template.Labels)
		if labels == nil {
			labels = map[string]string{}
		}
		maps.Copy(labels, set.Spec.Selector.MatchLabels)
		labels[appsv1beta1.CloneSetInstanceID] = id
		out = append(out, &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: set.Namespace, Name: claimName(template.Name, set.Name, id),
				Labels: labels, Annotations: maps.Clone(template.Annotations), Finalizers: template.Finalizers,
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1beta1.Kind("CloneSet"))},
			},
			Spec: *template.Spec.DeepCopy(),
		})
	}
	return out
}

func claimName(template, set, id string) string { return template + "-" + set + "-" + id }
