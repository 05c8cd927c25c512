// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/spoke/spread"
)

// ledgers returns so many of them over one API server, as processes that take turns have, what they all see in their
// caches, and a count of the writes.
func ledgers(t *testing.T, count int, most ...int) (all []*Ledger, seen *appsv1beta1.WorkloadSpread, writes *int) {
	t.Helper()
	ws := &appsv1beta1.WorkloadSpread{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "ws", UID: "u"}}
	for i, m := range most {
		of := intstr.FromInt(m)
		ws.Spec.Subsets = append(ws.Spec.Subsets, appsv1beta1.WorkloadSpreadSubset{Name: string(rune('a' + i)), MaxReplicas: &of})
	}
	scheme := runtime.NewScheme()
	if err := appsv1beta1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	writes = new(int)
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(ws).WithStatusSubresource(ws).WithInterceptorFuncs(interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, patch client.Patch, o ...client.SubResourcePatchOption) error {
			mu.Lock()
			defer mu.Unlock()
			*writes++
			return c.SubResource(sub).Patch(ctx, obj, patch, o...)
		},
	}).Build()
	seen = &appsv1beta1.WorkloadSpread{}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(ws), seen); err != nil {
		t.Fatal(err)
	}
	for range count {
		all = append(all, &Ledger{Live: c, Writer: c.Status(), FieldOwner: "test", Clock: clocktesting.NewFakeClock(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))})
	}
	return all, seen, writes
}

// 200 pods at once, of which 20 find a place: no subset is over-filled, none is left with a place free.
func TestManyAtOnce(t *testing.T) {
	all, seen, writes := ledgers(t, 1, 5, 15)
	got := map[string]int{}
	var mu sync.Mutex
	var wait sync.WaitGroup
	for i := range 200 {
		wait.Go(func() {
			to, err := all[0].Admit(t.Context(), seen, Subject{Version: "v", Key: fmt.Sprint("p", i), Named: true})
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			}
			got[to.Subset]++
		})
	}
	wait.Wait()
	if got["a"] != 5 || got["b"] != 15 || got[""] != 180 || *writes > 20 {
		t.Errorf("%v after %d writes", got, *writes)
	}
}

// Two processes whose caches show nothing of each other's writes share the same places, and one gets what the other frees.
func TestStaleCaches(t *testing.T) {
	all, seen, _ := ledgers(t, 2, 1, 1)
	admit := func(l *Ledger, name, want string) {
		t.Helper()
		if to, err := l.Admit(t.Context(), seen, Subject{Version: "v", Key: name, Named: true}); err != nil || to.Subset != want {
			t.Errorf("%s: %+v %v", name, to, err)
		}
	}
	admit(all[0], "p", "a")
	admit(all[1], "q", "b")
	admit(all[0], "r", "")
	admit(all[1], "p", "a") // asked again elsewhere
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Annotations: map[string]string{
		appsv1beta1.MatchedWorkloadSpreadKey: spread.Match{Name: "ws", Subset: "a"}.Annotation()}}}
	for range 2 {
		if _, err := all[0].Release(t.Context(), seen, Subject{Version: "v"}, pod, "a"); err != nil {
			t.Error(err)
		}
	}
	admit(all[1], "s", "a")
	admit(all[0], "t", "")
	if got := all[1].Books(seen).VersionedSubsetStatuses["v"]; len(got) != 2 {
		t.Errorf("%+v", got)
	}
}
