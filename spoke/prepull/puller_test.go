// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package prepull

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/events"
	"github.com/flotilla-sh/flotilla/internal/ownership"
)

// told keeps the reasons and types of events.
type told []string

func (l *told) Publish(list ...events.Event) {
	for _, e := range list {
		*l = append(*l, e.Type+" "+e.Reason)
	}
}

var gvk = schema.GroupVersionKind{Group: "apps.kruise.io", Version: "v1beta1", Kind: "CloneSet"}

func owner(uid types.UID) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: uid}}
}

func TestCarry(t *testing.T) {
	ctx := context.Background()
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(appsv1beta1.AddToScheme(scheme))
	update := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web-2"}}
	job := func(name string, uid types.UID) *appsv1beta1.ImagePullJob {
		out := &appsv1beta1.ImagePullJob{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
		if uid != "" {
			out.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner(uid), gvk)}
		}
		return out
	}
	plan := Plan{Jobs: []*appsv1beta1.ImagePullJob{job("web-2-a", ""), job("web-2-b", "")}, Mark: appsv1beta1.ImagePreDownloadCreatedKey}
	for name, tc := range map[string]struct {
		there  []client.Object
		plan   Plan
		refuse error
		jobs   []string
		marked string
		events told
		fails  bool
	}{
		"made": {nil, plan, nil, []string{"web-2-a", "web-2-b"}, appsv1beta1.ImagePreDownloadCreatedKey,
			told{"Normal CreatedImagePullJob", "Normal CreatedImagePullJob"}, false},
		"one is there": {[]client.Object{job("web-2-a", "u")}, plan, nil, []string{"web-2-a", "web-2-b"}, appsv1beta1.ImagePreDownloadCreatedKey,
			told{"Normal CreatedImagePullJob"}, false},
		"refused for good": {nil, plan, apierrors.NewInvalid(schema.GroupKind{Kind: "ImagePullJob"}, "x", nil), nil, appsv1beta1.ImagePreDownloadCreatedKey,
			told{"Normal FailedCreateImagePullJob", "Normal FailedCreateImagePullJob"}, false},
		"failed": {nil, plan, apierrors.NewInternalError(context.DeadlineExceeded), nil, "", nil, true},
		"ignored": {nil, Plan{Mark: appsv1beta1.ImagePreDownloadIgnoredKey}, nil, nil, appsv1beta1.ImagePreDownloadIgnoredKey,
			told{"Normal IgnoredImagePreDownload"}, false},
		"over, its own jobs go": {[]client.Object{job("mine", "u"), job("other", "x"), job("nobodys", "")}, Plan{Clean: true}, nil, []string{"nobodys", "other"}, "", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(append(tc.there, update.DeepCopy())...).
				WithIndex(&appsv1beta1.ImagePullJob{}, ownership.ControllerUIDIndex, ownership.IndexByController).
				WithInterceptorFuncs(interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, obj client.Object, o ...client.CreateOption) error {
					if tc.refuse != nil {
						return tc.refuse
					}
					return c.Create(ctx, obj, o...)
				}}).Build()
			var got told
			p := &Puller{Client: c, Events: &got, FieldOwner: "test"}
			plan := tc.plan
			plan.Jobs = nil
			for _, j := range tc.plan.Jobs {
				plan.Jobs = append(plan.Jobs, j.DeepCopy())
			}
			if err := p.Carry(ctx, owner("u"), gvk, update, plan); (err != nil) != tc.fails {
				t.Errorf("error %v", err)
			}
			var list appsv1beta1.ImagePullJobList
			var revision appsv1.ControllerRevision
			if c.List(ctx, &list) != nil || c.Get(ctx, client.ObjectKeyFromObject(update), &revision) != nil {
				t.Fatal("cannot read back")
			}
			var jobs []string
			for i := range list.Items {
				jobs = append(jobs, list.Items[i].Name)
			}
			slices.Sort(jobs)
			if diff := cmp.Diff(tc.jobs, jobs); diff != "" {
				t.Errorf("jobs %s", diff)
			}
			if diff := cmp.Diff(tc.events, got); diff != "" {
				t.Errorf("events %s", diff)
			}
			if marked := len(revision.Labels) == 1 && revision.Labels[tc.marked] == "true"; marked != (tc.marked != "") {
				t.Errorf("labels %v", revision.Labels)
			}
		})
	}
}
