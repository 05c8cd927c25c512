// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package launchpriority

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// found is a ConfigMap of the barrier's name that is there already.
func found(owners ...metav1.OwnerReference) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web-0-barrier", UID: "c", OwnerReferences: owners},
		Data:       map[string]string{"precious": "data"},
	}
}

func owner(kind, name string, uid types.UID) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "v1", Kind: kind, Name: name, UID: uid}
}

func reconcilerOf(c client.Client) (*Reconciler, *told) {
	got := &told{}
	return &Reconciler{client: c, events: got, clock: clocktesting.NewFakeClock(time.Unix(0, 0)), done: lru.New(remembered)}, got
}

func dataNow(t *testing.T, c client.Client) map[string]string {
	t.Helper()
	var now corev1.ConfigMap
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(found()), &now); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return now.Data
}

// Whoever may make a pod names a ConfigMap by that: it must be the pod's, or an earlier one's, to be written or to go.
func TestConfigMapsOfOthers(t *testing.T) {
	first := podOf(one{name: "a", priority: 10}, one{name: "c"})
	second := podOf(one{name: "a", priority: 10, ready: true}, one{name: "c"})
	ended := podOf(one{name: "a", priority: 10}, one{name: "c"})
	ended.Status.Phase = corev1.PodSucceeded
	precious, p10, both := map[string]string{"precious": "data"}, map[string]string{"p_10": "true"}, map[string]string{"p_10": "true", "p_0": "true"}
	taken := told{"Warning BarrierNameTaken: containers cannot start in order: ConfigMap web-0-barrier is there and does not belong to this pod, so it is left alone; rename it, or give the pod another name"}
	for name, tc := range map[string]struct {
		pod    *corev1.Pod
		there  *corev1.ConfigMap
		want   map[string]string
		events told // nil: not looked at
	}{
		"nobody's":                  {first, found(), precious, taken},
		"nobody's, later":           {second, found(), precious, taken},
		"nobody's, at the end":      {ended, found(), precious, nil},
		"another pod's":             {first, found(owner("Pod", "web-1", "v")), precious, taken},
		"another pod's, at the end": {ended, found(owner("Pod", "web-1", "v")), precious, nil},
		"of another kind":           {first, found(owner("Secret", "web-0", "v")), precious, taken},
		"an earlier pod's":          {first, found(owner("Pod", "web-0", "before")), p10, nil},
		"an earlier pod's, later":   {second, found(owner("Pod", "web-0", "before")), both, nil},
		"an earlier one's, at end":  {ended, found(owner("Pod", "web-0", "before")), precious, nil},
		"its own":                   {first, found(owner("Pod", "web-0", "u")), map[string]string{"precious": "data", "p_10": "true"}, nil},
		"its own, at the end":       {ended, found(owner("Pod", "web-0", "u")), nil, nil},
		"its own, later":            {second, found(owner("Pod", "web-0", "u")), map[string]string{"precious": "data", "p_10": "true", "p_0": "true"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := fake.NewClientBuilder().WithObjects(tc.pod.DeepCopy(), tc.there).Build()
			r, events := reconcilerOf(cluster)
			res, err := r.Reconcile(t.Context(), tc.pod)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, dataNow(t, cluster)); diff != "" {
				t.Errorf("data (-want +got):\n%s", diff)
			}
			if tc.events == nil {
				return
			}
			if diff := cmp.Diff(tc.events, *events); diff != "" || res.RequeueAfter == 0 {
				t.Errorf("looks again after %v, events (-want +got):\n%s", res.RequeueAfter, diff)
			}
		})
	}
}

// The garbage collector may take an earlier pod's barrier between any two requests, and somebody may make another.
func TestBarrierChangesMeanwhile(t *testing.T) {
	pod := podOf(one{name: "a", priority: 10}, one{name: "c"})
	earlier := found(owner("Pod", "web-0", "before"))
	for name, funcs := range map[string]func(client.Client) interceptor.Funcs{
		"collected after create": func(cluster client.Client) interceptor.Funcs {
			return interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
				err := c.Create(ctx, obj, opts...)
				if apierrors.IsAlreadyExists(err) {
					_ = cluster.Delete(ctx, found())
				}
				return err
			}}
		},
		"collected after the patch": func(cluster client.Client) interceptor.Funcs {
			return interceptor.Funcs{Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
				err := c.Patch(ctx, obj, patch, opts...)
				_ = cluster.Delete(ctx, found())
				return err
			}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := fake.NewClientBuilder().WithObjects(pod.DeepCopy(), earlier.DeepCopy()).Build()
			r, _ := reconcilerOf(interceptor.NewClient(cluster, funcs(cluster)))
			if _, err := r.Reconcile(t.Context(), pod); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(map[string]string{"p_10": "true"}, dataNow(t, cluster)); diff != "" {
				t.Errorf("data (-want +got):\n%s", diff)
			}
		})
	}
}

// A barrier that is another by the time it is deleted is no reason to forget the pod.
func TestReplacedMeanwhileIsTriedAgain(t *testing.T) {
	pod := podOf(one{name: "a", priority: 10}, one{name: "c"})
	cluster := fake.NewClientBuilder().WithObjects(pod.DeepCopy(), found(owner("Pod", "web-0", "before"))).Build()
	conflict := apierrors.NewConflict(corev1.Resource("configmaps"), "web-0-barrier", nil)
	r, _ := reconcilerOf(interceptor.NewClient(cluster, interceptor.Funcs{
		Delete: func(_ context.Context, _ client.WithWatch, _ client.Object, opts ...client.DeleteOption) error {
			asked := (&client.DeleteOptions{}).ApplyOptions(opts)
			if asked.Preconditions == nil || asked.Preconditions.UID == nil || *asked.Preconditions.UID != "c" {
				t.Errorf("deletes whatever is there: %+v", asked.Preconditions)
			}
			return conflict
		},
	}))
	if _, err := r.Reconcile(t.Context(), pod); err == nil {
		t.Error("no error, so nobody looks again")
	}
}
