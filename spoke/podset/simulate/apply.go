// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"errors"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flotilla-sh/flotilla/spoke/podset"
)

var (
	errRefused  = errors.New("refused")
	errConflict = errors.New("conflict")
	errLost     = errors.New("answer lost")
)

// Apply carries a plan out on the truth. build makes the pod of a creation; its name must be new.
func (w *World) Apply(plan *podset.Plan, build func(podset.Create) *corev1.Pod) {
	for size, list := 1, plan.Create; len(list) > 0; size *= 2 {
		batch := list[:min(size, len(list))]
		list = list[len(batch):]
		failed := false
		for _, c := range batch {
			failed = w.create(build(c), c.Reason) != nil || failed
		}
		if failed {
			break
		}
	}
	for _, d := range plan.Delete {
		w.deleteFor(d)
	}
	for i := range plan.Change {
		w.change(&plan.Change[i])
	}
}

func (w *World) create(pod *corev1.Pod, reason string) error {
	if w.chance(w.Faults.Refuse) || w.truth[pod.Name] != nil {
		w.note("create %s: refused", pod.Name)
		return errRefused
	}
	w.version++
	pod.UID = types.UID("uid-" + strconv.FormatInt(w.version, 10))
	pod.CreationTimestamp = metav1.NewTime(w.Now)
	w.put(pod)
	w.note("create %s: %s", pod.Name, reason)
	if w.chance(w.Faults.LoseAnswer) {
		unknown := *pod
		unknown.UID = ""
		w.expect.Created(w.Owner, &unknown, w.Now)
		return errLost
	}
	w.expect.Created(w.Owner, pod, w.Now)
	return nil
}

func (w *World) deleteFor(d podset.Delete) {
	live := w.truth[d.Pod.Name]
	if live == nil || live.UID != d.Pod.UID || w.chance(w.Faults.Refuse) {
		w.note("delete %s: refused", d.Pod.Name)
		return
	}
	w.terminate(d.Pod.Name)
	w.expect.Deleted(w.Owner, d.Pod, w.Now)
	w.note("delete %s: %s", d.Pod.Name, d.Reason)
}

func (w *World) change(c *podset.Change) {
	pod := c.Pod
	for i := range c.Writes {
		after, err := w.patch(pod, &c.Writes[i])
		if err != nil {
			w.note("patch %s: %v", pod.Name, err)
			return
		}
		w.expect.Patched(w.Owner, after, w.Now)
		written := *pod
		c.Writes[i].Patch.ApplyTo(&written)
		if i+1 < len(c.Writes) && !sameContent(&written, after) {
			w.note("patch %s: %v", pod.Name, errConflict)
			return
		}
		pod = after
	}
	w.note("%s %s: %s", kinds[c.Kind], pod.Name, c.Reason)
}

var kinds = map[podset.ChangeKind]string{
	podset.Refresh: "refresh", podset.UpdateInPlace: "update", podset.PrepareUpdate: "prepare-update",
	podset.MarkForRecreate: "recreate", podset.PrepareDelete: "prepare-delete", podset.Revive: "revive",
}

func (w *World) patch(pod *corev1.Pod, write *podset.Write) (*corev1.Pod, error) {
	live := w.truth[pod.Name]
	if live == nil || live.UID != pod.UID || w.chance(w.Faults.Conflict) {
		return nil, errConflict
	}
	switch write.Only {
	case podset.SameVersion:
		if live.ResourceVersion != pod.ResourceVersion {
			return nil, errConflict
		}
	case podset.SameContent:
		if !sameContent(pod, live) {
			return nil, errConflict
		}
	case podset.SamePod:
	}
	after := *live
	write.Patch.ApplyTo(&after)
	return w.put(&after), nil
}

func sameContent(a, b *corev1.Pod) bool {
	return (a.DeletionTimestamp == nil) == (b.DeletionTimestamp == nil) && maps.Equal(a.Labels, b.Labels) &&
		maps.Equal(a.Annotations, b.Annotations) && slices.Equal(a.Finalizers, b.Finalizers) &&
		a.Spec.NodeName == b.Spec.NodeName && equality.Semantic.DeepEqual(a.Spec.Containers, b.Spec.Containers)
}
