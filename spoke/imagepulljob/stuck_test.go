// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package imagepulljob

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	testclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/apis/validation"
)

// A job whose secrets cannot be copied asks no node, but it counts those it asked before, and its deadline holds.
func TestAJobThatCannotCopyEndsAllTheSame(t *testing.T) {
	for name, tc := range map[string]struct {
		begun     time.Duration
		phases    []v1beta1.ImagePullPhase
		done      bool
		succeeded int32
		failed    int32
	}{
		"before its deadline": {599 * time.Second, []v1beta1.ImagePullPhase{v1beta1.ImagePhaseSucceeded, "none"}, false, 1, 0},
		"at its deadline":     {600 * time.Second, []v1beta1.ImagePullPhase{v1beta1.ImagePhaseSucceeded, "none"}, true, 1, 1},
		"all nodes are done":  {10 * time.Second, []v1beta1.ImagePullPhase{v1beta1.ImagePhaseSucceeded, v1beta1.ImagePhaseFailed}, true, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKeyring(t, sourceSecret())
			k.client = interceptor.NewClient(k.client.(client.WithWatch), interceptor.Funcs{
				Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
					return apierrors.NewForbidden(corev1.Resource("secrets"), "s", nil)
				},
			})
			j := job("a", func(j *v1beta1.ImagePullJob) {
				j.Finalizers, j.Spec.PullSecrets = []string{v1beta1.ImagePullJobFinalizer}, []string{"regcred"}
				j.Spec.CompletionPolicy.ActiveDeadlineSeconds = ptr.To[int64](600)
				j.Status.StartTime = second(noon.Add(-tc.begun))
			})
			scheme := runtime.NewScheme()
			if err := v1beta1.AddToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			build := fake.NewClientBuilder().WithScheme(scheme).WithObjects(j).WithStatusSubresource(j)
			for i, phase := range tc.phases {
				build.WithObjects(node(fmt.Sprint("n", i), j, phase))
			}
			c := build.Build()
			r := newReconciler(c, c, Options{Clock: testclock.NewFakePassiveClock(noon)})
			r.copier, r.events = k.copier, &told{}
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(j), j); err != nil {
				t.Fatal(err)
			}
			if result, err := r.Reconcile(t.Context(), j); err != nil || result.RequeueAfter != recheck && !tc.done {
				t.Errorf("%+v, %v", result, err)
			}
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(j), j); err != nil {
				t.Fatal(err)
			}
			st := j.Status
			if (st.CompletionTime != nil) != tc.done || st.Succeeded != tc.succeeded || st.Failed != tc.failed {
				t.Errorf("%+v", st)
			}
			var last v1beta1.NodeImage
			if err := c.Get(t.Context(), client.ObjectKey{Name: "n1"}, &last); err != nil {
				t.Fatal(err)
			}
			if tc.phases[1] == "none" && len(last.Spec.Images) > 0 {
				t.Error("a node was asked without the secrets")
			}
		})
	}
}

// A node whose NodeImage takes no further image would refuse it again and again. The job goes on with the others, says
// what it waits for, and looks again: nothing tells a job that is not there yet that others went.
func TestFullNodesHoldUpNoOther(t *testing.T) {
	full := func(name string, images int, with ...string) *v1beta1.NodeImage {
		out := &v1beta1.NodeImage{ObjectMeta: metav1.ObjectMeta{Name: name}}
		out.Spec.Images = map[string]v1beta1.ImageSpec{}
		for _, image := range with {
			out.Spec.Images[image] = v1beta1.ImageSpec{}
		}
		for i := len(with); i < images; i++ {
			out.Spec.Images[fmt.Sprint("image-", i)] = v1beta1.ImageSpec{}
		}
		return out
	}
	free := &v1beta1.NodeImage{ObjectMeta: metav1.ObjectMeta{Name: "z"}}
	for name, tc := range map[string]struct {
		first   *v1beta1.NodeImage
		ask     string
		message string
		wait    time.Duration
	}{
		"full":                        {full("a", 256), "z", "job is running, progress 0.0%; 1 of its nodes pull 256 images already", time.Minute},
		"room for one":                {full("a", 255), "a", "job is running, progress 0.0%", 0},
		"full, has it with other tag": {full("a", 256, "nginx"), "a", "job is running, progress 0.0%", 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := MakePlan(snapshot(job("j", nil), free, tc.first))
			if len(p.Ask) != 1 || p.Ask[0].Name != tc.ask || p.Status.Message != tc.message || p.Wait != tc.wait || p.Status.Desired != 2 {
				t.Errorf("%+v", p)
			}
			for _, n := range p.Ask {
				asked := n.DeepCopy()
				Ask(asked, snapshot(job("j", nil)), Terms{})
				if problems := validation.ValidateNodeImage(n, asked); len(problems) > 0 {
					t.Error(problems)
				}
			}
		})
	}
}
