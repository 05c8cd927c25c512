// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package uniteddeployment

import (
	"context"
	"errors"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/apply"
	"github.com/flotilla-sh/flotilla/internal/events"
	"github.com/flotilla-sh/flotilla/internal/ownership"
)

// fieldOwner owns the fields of subset workloads.
const fieldOwner = "spoke-uniteddeployment"

// nameAttempts bounds how many taken names a creation walks past.
const nameAttempts = 5

// writer carries plans out.
type writer struct {
	client.Client
	live    client.Reader
	applier *apply.Applier

	mu sync.Mutex
	// owned are the workloads whose fields are known to be owned by fieldOwner alone. It is a
	// saving only: losing it costs one read for each workload.
	owned map[types.UID]bool
}

func newWriter(c client.Client, live client.Reader) *writer {
	return &writer{Client: c, live: live, applier: apply.New(c), owned: map[types.UID]bool{}}
}

// execute makes the plan's writes: creations, updates, then deletions. One that fails does not keep
// the others from being made.
func (w *writer) execute(ctx context.Context, ud *appsv1beta1.UnitedDeployment, p *plan, kind string) (*outcome, []events.Event) {
	o := &outcome{provisionErr: p.trouble}
	var told []events.Event
	if o.labelErr = w.label(ctx, p.labels); o.labelErr != nil {
		return o, []events.Event{failure(ud, eventSubsetFailed, o.labelErr)}
	}
	logger := log.FromContext(ctx)
	each := func(moves []move, verb string, do func(move) error) (done []move, err error) {
		var errs []error
		for _, m := range moves {
			err := do(m)
			if inVain(err) {
				continue
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("subset %s: %w", m.subset, err))
				told = append(told, subsetFailed(ud, verb, m, err))
				continue
			}
			logger.V(1).Info(verb, "subset", m.subset, "reason", m.reason)
			done = append(done, m)
		}
		return done, errors.Join(errs...)
	}
	created, createErr := each(p.creates, "create", func(m move) error { return w.create(ctx, ud, m, kind) })
	updated, updateErr := each(p.updates, "update", func(m move) error { return w.update(ctx, m) })
	deleted, deleteErr := each(p.deletes, "delete", func(m move) error { return w.remove(ctx, m) })
	stuckErr := w.removeStuck(ctx, p.stuck)
	o.provisioned, o.updated = len(created)+len(deleted), len(updated)
	o.provisionErr, o.updateErr = errors.Join(o.provisionErr, createErr, deleteErr), errors.Join(updateErr, stuckErr)
	if len(created) > 0 {
		told = append(told, subsetsCreated(ud, kind, created))
	}
	if len(deleted) > 0 {
		told = append(told, subsetsDeleted(ud, deleted))
	}
	return o, told
}

// inVain tells whether a creation failed because the namespace is being deleted: nothing can be made in it
// any more, and the UnitedDeployment goes with it.
func inVain(err error) bool { return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) }

// create makes the workload under a name that follows from its owner and subset. When that name is
// taken by our own workload, the cache was behind and nothing is left to do.
func (w *writer) create(ctx context.Context, ud *appsv1beta1.UnitedDeployment, m move, kind string) error {
	prefix := m.want.GetGenerateName()
	for attempt := range nameAttempts {
		obj := m.want.DeepCopyObject().(client.Object)
		obj.SetName(workloadName(prefix, ud.UID, m.subset, kind, attempt))
		err := w.Create(ctx, obj, client.FieldOwner(fieldOwner), lagging)
		if err == nil || apierrors.IsTimeout(err) {
			return nil // a creation that timed out is found by its name next time
		}
		if !apierrors.IsAlreadyExists(err) {
			return err
		}
		ours, err := w.isOurs(ctx, ud, m.want.GetObjectKind().GroupVersionKind(), obj.GetName())
		if ours || err != nil {
			return err
		}
	}
	return fmt.Errorf("%d names that start with %s are taken", nameAttempts, prefix)
}

// isOurs asks the API server whether the object of that name is the UnitedDeployment's and stays.
func (w *writer) isOurs(ctx context.Context, ud *appsv1beta1.UnitedDeployment, kind schema.GroupVersionKind, name string) (bool, error) {
	there := &metav1.PartialObjectMetadata{}
	there.SetGroupVersionKind(kind)
	if err := w.live.Get(ctx, client.ObjectKey{Namespace: ud.Namespace, Name: name}, there); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return ownership.IsControlledBy(there, ud.UID), nil
}

// update sends the fields that the template sets.
func (w *writer) update(ctx context.Context, m move) error {
	want, err := applicable(m.want, m.live)
	if err != nil {
		return err
	}
	if err := w.takeFields(ctx, want, m.live.GetUID()); err != nil {
		return fmt.Errorf("taking over fields: %w", err)
	}
	_, err = w.applier.Apply(ctx, want, m.live, fieldOwner)
	return err
}

// applicable turns a desired workload into what server-side apply sends: with the live one's name
// and uid, so that no other object of that name is written, and without status. Owners that others
// put there stay, since references are merged by uid.
func applicable(want, live client.Object) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(want)
	if err != nil {
		return nil, err
	}
	out := &unstructured.Unstructured{Object: content}
	delete(out.Object, "status")
	dropEmpty(out.Object["spec"])
	out.SetGroupVersionKind(want.GetObjectKind().GroupVersionKind())
	out.SetName(live.GetName())
	out.SetGenerateName("")
	out.SetUID(live.GetUID())
	return out, nil
}

// dropEmpty takes out parts of a spec that say nothing, such as a strategy no field of which is set:
// to server-side apply an empty part is a part to keep, whose last field, when it goes, leaves null.
func dropEmpty(spec any) {
	fields, _ := spec.(map[string]any)
	for name, value := range fields {
		if part, ok := value.(map[string]any); ok && len(part) == 0 && name != "selector" && name != "template" {
			delete(fields, name)
		}
	}
}

// remove deletes the workload in the background, if it still is the one that was seen.
func (w *writer) remove(ctx context.Context, m move) error {
	err := w.Delete(ctx, m.live, client.PropagationPolicy(metav1.DeletePropagationBackground),
		client.Preconditions{UID: ptr.To(m.live.GetUID())}, lagging)
	w.forget(m.live)
	return client.IgnoreNotFound(err)
}

// label tells pods that are in reserve from those that serve. Workloads are not sized before all pods are told apart: a
// subset that is marked would take the rest for new ones.
func (w *writer) label(ctx context.Context, pods []labelling) error {
	for _, l := range pods {
		change := fmt.Appendf(nil, `{"metadata":{"uid":%q,"labels":{%q:%q}}}`, l.pod.UID, appsv1beta1.ReservedPodLabel, l.to.label())
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: l.pod.Namespace, Name: l.pod.Name}}
		err := w.Patch(ctx, pod, client.RawPatch(types.MergePatchType, change), client.FieldOwner(fieldOwner), lagging)
		// A conflict says that it is another pod by now.
		if client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
			return fmt.Errorf("labelling pod %s: %w", l.pod.Name, err)
		}
	}
	return nil
}

// removeStuck deletes pods, if they still are those that were seen.
func (w *writer) removeStuck(ctx context.Context, stuck []*corev1.Pod) error {
	var errs []error
	for _, pod := range stuck {
		log.FromContext(ctx).Info("Deleting a pod that keeps its StatefulSet from being updated", "pod", pod.Name)
		err := w.Delete(ctx, pod, client.Preconditions{UID: &pod.UID}, lagging)
		errs = append(errs, client.IgnoreNotFound(err))
	}
	return errors.Join(errs...)
}

// onDelete forgets workloads of the kind that are gone, by whose hand soever.
func (w *writer) onDelete(kind schema.GroupVersionKind) predicate.Predicate {
	return predicate.Funcs{DeleteFunc: func(e event.DeleteEvent) bool {
		gone := &metav1.PartialObjectMetadata{} // events come without a kind
		gone.SetGroupVersionKind(kind)
		gone.SetNamespace(e.Object.GetNamespace())
		gone.SetName(e.Object.GetName())
		gone.SetUID(e.Object.GetUID())
		w.forget(gone)
		return true
	}}
}

func (w *writer) forget(obj client.Object) {
	w.applier.Forget(obj)
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.owned, obj.GetUID())
}
