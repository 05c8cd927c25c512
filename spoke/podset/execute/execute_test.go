// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/flotilla-sh/flotilla/internal/podpatch"
	"github.com/flotilla-sh/flotilla/spoke/podset"
)

var owner = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "owner", UID: "owner-uid"}}

func newPod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{"l": "1"},
			OwnerReferences: []metav1.OwnerReference{{UID: owner.UID, Controller: ptr.To(true), Kind: "X", Name: "owner"}}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "c:1"}}},
	}
}

// bench is an executor over a fake API server.
type bench struct {
	*Executor
	now     time.Time
	writes  atomic.Int32
	fail    func(verb, name string) error
	builder builder
}

func newBench(objects ...client.Object) *bench {
	b := &bench{now: time.Unix(1000, 0), fail: func(string, string) error { return nil }}
	count := func(verb, name string) error { b.writes.Add(1); return b.fail(verb, name) }
	c := fake.NewClientBuilder().WithObjects(objects...).WithStatusSubresource(&corev1.Pod{}).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, w client.WithWatch, obj client.Object, o ...client.CreateOption) error {
			if err := count("create", obj.GetName()); err != nil {
				return err
			}
			if obj.GetUID() == "" {
				obj.SetUID(types.UID("uid-" + obj.GetName()))
			}
			return w.Create(ctx, obj, o...)
		},
		Patch: func(ctx context.Context, w client.WithWatch, obj client.Object, p client.Patch, o ...client.PatchOption) error {
			if err := count("patch", obj.GetName()); err != nil {
				return err
			}
			return w.Patch(ctx, obj, p, o...)
		},
		SubResourcePatch: func(ctx context.Context, w client.Client, sub string, obj client.Object, p client.Patch, o ...client.SubResourcePatchOption) error {
			if err := count("patch status", obj.GetName()); err != nil {
				return err
			}
			return w.SubResource(sub).Patch(ctx, obj, p, o...)
		},
	}).Build()
	b.Executor = &Executor{Client: c, Live: c, FieldOwner: "test", Expectations: &Expectations{}, Now: func() time.Time { return b.now }}
	return b
}

type builder struct {
	made   int
	claims []*corev1.PersistentVolumeClaim
	// ofPod are the claims of a pod that is there.
	ofPod  []*corev1.PersistentVolumeClaim
	reuses bool
}

func (b *builder) Build(podset.Create) (*corev1.Pod, []*corev1.PersistentVolumeClaim, error) {
	b.made++
	pod := newPod(fmt.Sprint("new-", b.made))
	pod.UID = ""
	return pod, b.claims, nil
}

func (b *builder) Claims(*corev1.Pod) []*corev1.PersistentVolumeClaim { return b.ofPod }

func (b *builder) ReusesClaims() bool { return b.reuses }

func (b *bench) observe(t *testing.T, cached ...*corev1.Pod) ([]string, time.Duration) {
	t.Helper()
	got, wait, err := Observe(context.Background(), b.Executor, owner, cached, func() *corev1.Pod { return &corev1.Pod{} })
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, pod := range got {
		names = append(names, pod.Name)
	}
	return names, wait
}

func (b *bench) live(t *testing.T, name string) *corev1.Pod {
	t.Helper()
	var pod corev1.Pod
	if err := b.Live.Get(context.Background(), types.NamespacedName{Namespace: "ns", Name: name}, &pod); err != nil {
		t.Fatal(err)
	}
	return &pod
}

// A creation that the cache does not show holds the next pass back; the truth is asked for after a
// while and stands in for the cache as long as that lags.
func TestObserveCreation(t *testing.T) {
	b := newBench()
	b.Execute(context.Background(), owner, &podset.Plan{Create: make([]podset.Create, 1)}, &b.builder)
	if _, wait := b.observe(t); wait != Patience {
		t.Fatalf("wait %v", wait)
	}
	b.now = b.now.Add(Patience)
	for range 2 {
		if names, wait := b.observe(t); wait != 0 || !cmp.Equal(names, []string{"new-1"}) {
			t.Fatalf("names %v, wait %v", names, wait)
		}
		b.now = b.now.Add(Patience)
	}
	if names, wait := b.observe(t, b.live(t, "new-1")); wait != 0 || len(names) != 1 {
		t.Fatalf("names %v, wait %v", names, wait)
	}
	if len(b.Expectations.set) != 0 {
		t.Error("what the cache shows must be forgotten")
	}
}

// CS-09: the pod was created, somebody deleted it, and the watch showed neither.
func TestObserveCreationNobodySaw(t *testing.T) {
	b := newBench()
	b.Execute(context.Background(), owner, &podset.Plan{Create: make([]podset.Create, 1)}, &b.builder)
	if err := b.Client.Delete(context.Background(), b.live(t, "new-1")); err != nil {
		t.Fatal(err)
	}
	b.now = b.now.Add(Patience)
	if names, wait := b.observe(t); wait != 0 || len(names) != 0 || len(b.Expectations.set) != 0 {
		t.Errorf("names %v, wait %v, left %v", names, wait, b.Expectations.set)
	}
}

func TestObservePatchAndDeletion(t *testing.T) {
	b := newBench(newPod("p"), newPod("q"))
	before, gone := b.live(t, "p"), b.live(t, "q")
	patch := podpatch.Patch{}
	patch.Label("x", "y")
	b.Execute(context.Background(), owner, &podset.Plan{
		Change: []podset.Change{{Pod: before, Writes: []podset.Write{{Patch: patch}}}},
		Delete: []podset.Delete{{Pod: gone}},
	}, &b.builder)
	if _, wait := b.observe(t, before, gone); wait == 0 {
		t.Error("the old version must hold the pass back")
	}
	if names, wait := b.observe(t, b.live(t, "p")); wait != 0 || len(names) != 1 {
		t.Errorf("names %v, wait %v", names, wait)
	}

	// The cache still shows the deleted pod: the truth wins.
	b.Expectations.Deleted(owner.UID, gone, b.now)
	b.now = b.now.Add(Patience)
	if names, _ := b.observe(t, b.live(t, "p"), gone); !cmp.Equal(names, []string{"p"}) {
		t.Errorf("names %v", names)
	}
	terminating := gone.DeepCopy()
	terminating.DeletionTimestamp = &metav1.Time{Time: b.now}
	if names, wait := b.observe(t, b.live(t, "p"), terminating); wait != 0 || len(names) != 2 {
		t.Errorf("names %v, wait %v", names, wait)
	}
}

func TestExpectationsOfAnotherOwnerDoNotCount(t *testing.T) {
	b := newBench()
	b.Expectations.Created("somebody", newPod("p"), b.now)
	if _, wait := b.observe(t); wait != 0 {
		t.Error("waits for another workload")
	}
	b.Expectations.Created(owner.UID, newPod("p"), b.now)
	b.Expectations.Forget(owner.UID)
	if _, wait := b.observe(t); wait != 0 {
		t.Error("waits for what was forgotten")
	}
}

// A creation whose answer was lost may have worked: it is waited for, and not repeated meanwhile.
func TestLostAnswer(t *testing.T) {
	b := newBench()
	b.fail = func(string, string) error { return apierrors.NewTimeoutError("slow", 1) }
	out := b.Execute(context.Background(), owner, &podset.Plan{Create: make([]podset.Create, 1)}, &b.builder)
	if out.Err() == nil {
		t.Error("the failure must be told")
	}
	if _, wait := b.observe(t); wait == 0 {
		t.Error("the pod may exist")
	}
	b.fail = func(string, string) error {
		return apierrors.NewForbidden(corev1.Resource("pods"), "new-2", errors.New("quota"))
	}
	b.Expectations = &Expectations{}
	b.Execute(context.Background(), owner, &podset.Plan{Create: make([]podset.Create, 1)}, &b.builder)
	if _, wait := b.observe(t); wait != 0 {
		t.Error("a refused pod does not exist")
	}
}

// Claims made for a pod that is refused are spare until a pod has them; those of a pod that may have
// been made are not.
func TestSpares(t *testing.T) {
	b := newBench()
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "data"}}
	b.builder.claims = []*corev1.PersistentVolumeClaim{claim}
	refusal := error(apierrors.NewTimeoutError("slow", 1))
	b.fail = func(_, name string) error {
		if name == claim.Name {
			return nil
		}
		return refusal
	}
	plan := &podset.Plan{Create: make([]podset.Create, 1)}
	b.Execute(context.Background(), owner, plan, &b.builder)
	if b.Spare(owner, claim) {
		t.Error("the pod may be there")
	}
	if err := b.Client.Delete(context.Background(), claim); err != nil {
		t.Fatal(err)
	}
	claim.UID, claim.ResourceVersion = "", ""
	refusal = apierrors.NewForbidden(corev1.Resource("pods"), "p", errors.New("quota"))
	b.Execute(context.Background(), owner, plan, &b.builder)
	if !b.Spare(owner, claim) || b.Spare(newPod("another"), claim) {
		t.Error("the claim is spare, for its owner")
	}
	b.Used(owner, claim)
	if b.Spare(owner, claim) {
		t.Error("a pod has it")
	}
	if !b.DropSpares(owner) || b.DropSpares(owner) {
		t.Error("spares are dropped once")
	}
}

func TestCreationInVain(t *testing.T) {
	b := newBench()
	b.fail = func(string, string) error {
		err := apierrors.NewForbidden(corev1.Resource("pods"), "p", errors.New("being deleted"))
		err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
		return err
	}
	out := b.Execute(context.Background(), owner, &podset.Plan{Create: make([]podset.Create, 9)}, &b.builder)
	if len(out.Facts) != 1 || !out.Facts[0].InVain() || out.Facts[0].Raced() || out.Err() != nil || out.Raced() {
		t.Errorf("%d facts, err %v", len(out.Facts), out.Err())
	}
}

// A deletion that is refused is told and tried again; it is no error, for which the next try would come later each time.
func TestRefusedDeletion(t *testing.T) {
	for name, tc := range map[string]struct {
		answer  error
		refused bool
	}{
		"refused": {apierrors.NewForbidden(corev1.Resource("pods"), "p", errors.New("the budget is spent")), true},
		"failed":  {apierrors.NewInternalError(errors.New("lost")), false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(newPod("p"))
			b.Client = interceptor.NewClient(b.Client.(client.WithWatch), interceptor.Funcs{
				Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error { return tc.answer },
			})
			out := b.Execute(context.Background(), owner, &podset.Plan{Delete: []podset.Delete{{Pod: b.live(t, "p")}}}, &b.builder)
			if len(out.Facts) != 1 || out.Facts[0].Err == nil || out.Refused() != tc.refused || (out.Err() == nil) != tc.refused {
				t.Errorf("refused %v, err %v, facts %+v", out.Refused(), out.Err(), out.Facts)
			}
		})
	}
}

func TestSlowStart(t *testing.T) {
	b := newBench()
	b.fail = func(_, name string) error {
		if name == "new-5" {
			return apierrors.NewForbidden(corev1.Resource("pods"), name, errors.New("quota"))
		}
		return nil
	}
	out := b.Execute(context.Background(), owner, &podset.Plan{Create: make([]podset.Create, 100)}, &b.builder)
	if n := b.writes.Load(); n != 1+2+4 {
		t.Errorf("%d creations tried, want those of the batches up to the failure", n)
	}
	if len(out.Facts) != 7 || out.Err() == nil || out.Raced() {
		t.Errorf("%d facts, err %v", len(out.Facts), out.Err())
	}
}

func TestPatchConditions(t *testing.T) {
	somebody := func(change func(*corev1.Pod)) func(*testing.T, *bench) {
		return func(t *testing.T, b *bench) {
			pod := b.live(t, "p")
			change(pod)
			if err := b.Client.Update(context.Background(), pod); err != nil {
				t.Fatal(err)
			}
			pod.Status.Phase = corev1.PodPhase(pod.Annotations["phase"])
			if err := b.Client.Status().Update(context.Background(), pod); err != nil {
				t.Fatal(err)
			}
		}
	}
	statusOnly := func(t *testing.T, b *bench) {
		pod := b.live(t, "p")
		pod.Status.Phase = corev1.PodRunning
		if err := b.Client.Status().Update(context.Background(), pod); err != nil {
			t.Fatal(err)
		}
	}
	relabel := somebody(func(p *corev1.Pod) { p.Labels["l"] = "2" })
	for name, tc := range map[string]struct {
		only    podset.Only
		meddle  func(*testing.T, *bench)
		written bool
		writes  int32
	}{
		"content, untouched":    {podset.SameContent, nil, true, 1},
		"content, status moved": {podset.SameContent, statusOnly, true, 2},
		"content, relabelled":   {podset.SameContent, relabel, false, 1},
		"version, status moved": {podset.SameVersion, statusOnly, false, 1},
		"pod, relabelled":       {podset.SamePod, relabel, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(newPod("p"))
			planned := b.live(t, "p")
			if tc.meddle != nil {
				tc.meddle(t, b)
			}
			b.writes.Store(0)
			patch := podpatch.Patch{}
			patch.Label("x", "y")
			out := b.Execute(context.Background(), owner, &podset.Plan{Change: []podset.Change{
				{Pod: planned, Writes: []podset.Write{{Patch: patch, Only: tc.only}}},
			}}, &b.builder)
			if written := b.live(t, "p").Labels["x"] == "y"; written != tc.written || b.writes.Load() != tc.writes {
				t.Errorf("written %v by %d writes: %v", written, b.writes.Load(), out.Facts[0].Err)
			}
			if out.Raced() == tc.written || out.Err() != nil {
				t.Errorf("raced %v, err %v", out.Raced(), out.Err())
			}
		})
	}
}

// Between closing the gate and changing the containers somebody relabels the pod: the containers stay.
func TestSecondWriteSeesWhatChanged(t *testing.T) {
	b := newBench(newPod("p"))
	planned := b.live(t, "p")
	pod := b.live(t, "p")
	pod.Labels["l"] = "2"
	if err := b.Client.Update(context.Background(), pod); err != nil {
		t.Fatal(err)
	}
	closeGate := podpatch.Patch{Conditions: []corev1.PodCondition{{Type: "Gate", Status: corev1.ConditionFalse}}}
	image := podpatch.Patch{Images: map[string]string{"c": "c:2"}}
	out := b.Execute(context.Background(), owner, &podset.Plan{Change: []podset.Change{
		{Pod: planned, Writes: []podset.Write{{Patch: closeGate, Only: podset.SamePod}, {Patch: image}}},
	}}, &b.builder)
	live := b.live(t, "p")
	if live.Spec.Containers[0].Image != "c:1" || !out.Raced() || len(live.Status.Conditions) != 1 {
		t.Errorf("image %s, raced %v, conditions %v", live.Spec.Containers[0].Image, out.Raced(), live.Status.Conditions)
	}
}

// A pod of the same name that is another pod is never deleted: the server is told the uid.
func TestDeleteIsByUID(t *testing.T) {
	b := newBench(newPod("p"))
	var asked client.DeleteOptions
	b.Client = interceptor.NewClient(b.Client.(client.WithWatch), interceptor.Funcs{
		Delete: func(_ context.Context, _ client.WithWatch, _ client.Object, o ...client.DeleteOption) error {
			asked.ApplyOptions(o)
			return nil
		},
	})
	b.Execute(context.Background(), owner, &podset.Plan{Delete: []podset.Delete{{Pod: b.live(t, "p")}}}, &b.builder)
	if asked.Preconditions == nil || asked.Preconditions.UID == nil || *asked.Preconditions.UID != "uid-p" {
		t.Errorf("preconditions %v", asked.Preconditions)
	}
}

// Where claims are reused, those that go with a pod are marked before it is deleted: whatever comes between, nobody
// takes them for claims of a pod that vanished.
func TestClaimsAreMarkedFirst(t *testing.T) {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "data", UID: "uid-data"}}
	for name, reuses := range map[string]bool{"reused": true, "not reused": false} {
		t.Run(name, func(t *testing.T) {
			b := newBench(newPod("p"), claim.DeepCopy())
			b.builder.ofPod, b.builder.reuses = []*corev1.PersistentVolumeClaim{claim}, reuses
			b.Client = interceptor.NewClient(b.Client.(client.WithWatch), interceptor.Funcs{
				Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error {
					return errors.New("killed here")
				},
			})
			pod := b.live(t, "p")
			b.Execute(context.Background(), owner, &podset.Plan{Delete: []podset.Delete{{Pod: pod}}}, &b.builder)
			var left corev1.PersistentVolumeClaim
			if err := b.Client.Get(context.Background(), client.ObjectKeyFromObject(claim), &left); err != nil {
				t.Fatal(err)
			}
			if got := left.Annotations[GoesWithPod] == string(pod.UID); got != reuses {
				t.Errorf("marked %t: %v", got, left.Annotations)
			}
			if err := b.MarkClaim(context.Background(), owner, &left, ""); err != nil {
				t.Fatal(err)
			}
			if _, marked := left.Annotations[GoesWithPod]; !marked != !reuses {
				t.Error("the claim that was handed in is not changed")
			}
			if err := b.Client.Get(context.Background(), client.ObjectKeyFromObject(claim), &left); err != nil || left.Annotations[GoesWithPod] != "" {
				t.Errorf("the mark is taken away: %v %v", left.Annotations, err)
			}
		})
	}
}
