//go:build integration

// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	"github.com/flotilla-sh/flotilla/internal/features"
)

var _ = Describe("custom probes that were switched off", Label("integration"), func() {
	It("lets markers go that are deleted, and no others", func(ctx context.Context) {
		gate := string(features.PodProbeMarkerGate)
		Expect(features.Gate.SetFromMap(map[string]bool{gate: false})).To(Succeed())
		DeferCleanup(func() { Expect(features.Gate.SetFromMap(map[string]bool{gate: true})).To(Succeed()) })
		ns := newPullNamespace(ctx)
		made := func(name string) *v1alpha1.PodProbeMarker {
			marker := &v1alpha1.PodProbeMarker{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Finalizers: []string{v1alpha1.PodProbeMarkerFinalizer}}}
			marker.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
			marker.Spec.Probes = []v1alpha1.PodContainerProbe{{Name: "healthy", ContainerName: "main", PodConditionType: "example.com/healthy"}}
			Expect(admin.Create(ctx, marker)).To(Succeed())
			return marker
		}
		before, later, kept := made("before"), made("later"), made("kept")
		Expect(admin.Delete(ctx, before)).To(Succeed())

		list := controllers(nil, nil)
		at := slices.IndexFunc(list, func(e entry) bool { return e.name == "podprobemarker" })
		startPulling(defaults, list[at].add)
		gone := func(marker *v1alpha1.PodProbeMarker) func() bool {
			return func() bool {
				return apierrors.IsNotFound(admin.Get(ctx, client.ObjectKeyFromObject(marker), &v1alpha1.PodProbeMarker{}))
			}
		}
		Eventually(gone(before)).Should(BeTrue())
		Expect(admin.Delete(ctx, later)).To(Succeed())
		Eventually(gone(later)).Should(BeTrue())
		var now v1alpha1.PodProbeMarker
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(kept), &now)).To(Succeed())
		Expect(now.ResourceVersion).To(Equal(kept.ResourceVersion))
		Expect(admin.Delete(ctx, kept)).To(Succeed())
		Eventually(gone(kept)).Should(BeTrue())
	})
})
