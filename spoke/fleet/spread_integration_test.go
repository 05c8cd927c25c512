// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package fleet

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
)

// spreadSetText is the CloneSet of the WorkloadSpread as the hub renders it.
const spreadSetText = `{apiVersion: apps.kruise.io/v1beta1, kind: CloneSet, metadata: {name: web, namespace: shop}, spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: main, image: "web:v1"}]}}}}`

// newestEpoch is that of the slices there are: specs before this one may have raised it, and nothing is deleted on the word of
// an older one.
func newestEpoch(ctx context.Context) (newest int64) {
	GinkgoHelper()
	var all fleetv1alpha1.FleetSliceList
	Expect(hubAdmin.List(ctx, &all)).To(Succeed())
	for i := range all.Items {
		newest = max(newest, all.Items[i].Spec.Epoch)
	}
	return max(newest, 1)
}

var _ = Describe("The fleet agent, given a WorkloadSpread beside a workload", func() {
	var w *world
	BeforeEach(func() {
		w = newWorld()
		w.stop = start()
	})
	AfterEach(func() { w.stop() })

	It("lets the workload wait for its WorkloadSpread, and reports of both", func() {
		s := w.slice("spread", spreadSetText, numbersBySubset{"": 3}, nil)
		s.Spec.Epoch = newestEpoch(w.ctx)
		s.Spec.Objects = append(s.Spec.Objects, raw(GinkgoTB(), w.text(spreadText)))
		w.create(s)
		spread, set := &appsv1beta1.WorkloadSpread{}, &appsv1beta1.CloneSet{}
		key := client.ObjectKey{Namespace: w.ns, Name: "web"}
		observe := func() {
			GinkgoHelper()
			Eventually(func() error { return memberAdmin.Get(w.ctx, key, spread) }).Should(Succeed())
			Expect(w.applied(s, "Retrying")).To(ContainSubstring("the workload waits for it"))
			Expect(memberAdmin.Get(w.ctx, key, spread)).To(Succeed())
			spread.Status = appsv1beta1.WorkloadSpreadStatus{ObservedGeneration: spread.Generation, SubsetStatuses: []appsv1beta1.WorkloadSpreadSubsetStatus{
				{Name: "b", Replicas: 2, MissingReplicas: 1}, {Name: "a", MissingReplicas: -1},
			}}
			Expect(memberAdmin.Status().Update(w.ctx, spread)).To(Succeed())
			w.applied(s, "Applied")
			Expect(memberAdmin.Get(w.ctx, key, set)).To(Succeed())
		}
		Consistently(func() error { return memberAdmin.Get(w.ctx, key, set) }, time.Second).Should(MatchError(ContainSubstring("not found")))
		observe()
		Expect(*set.Spec.Replicas).To(BeEquivalentTo(3))
		Eventually(func() any { return w.status(s).Spread }).Should(Equal([]fleetv1alpha1.SpreadCounters{
			{Subset: "a", MissingReplicas: -1}, {Subset: "b", Replicas: 2, MissingReplicas: 1},
		}))
		w.quiet()

		By("growing: not before the new bounds are in the books")
		w.change(s, func() {
			s.Spec.Split[0].Replicas = 9
			s.Spec.Objects[1] = raw(GinkgoTB(), strings.ReplaceAll(w.text(spreadText), "maxReplicas: 3", "maxReplicas: 6"))
		})
		w.applied(s, "Retrying")
		Expect(memberAdmin.Get(w.ctx, key, set)).To(Succeed())
		Expect(*set.Spec.Replicas).To(BeEquivalentTo(3))
		observe()
		Expect(*set.Spec.Replicas).To(BeEquivalentTo(9))

		By("losing the WorkloadSpread: the workload stays")
		w.change(s, func() { s.Spec.Objects = s.Spec.Objects[:1] })
		Eventually(func() error { return memberAdmin.Get(w.ctx, key, spread) }).Should(MatchError(ContainSubstring("not found")))
		w.applied(s, "Applied")
		Eventually(func() any { return w.status(s).Spread }).Should(BeEmpty())
		w.quiet()
	})

	It("brings no WorkloadSpread to a workload of somebody else", func() {
		Expect(memberAdmin.Create(w.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.ns}})).To(Succeed())
		there := parse(GinkgoTB(), w.text(strings.ReplaceAll(spreadSetText, "web:v1", "web:theirs")))
		Expect(memberAdmin.Create(w.ctx, there)).To(Succeed())
		s := w.slice("spread", spreadSetText, numbersBySubset{"": 3}, nil)
		s.Spec.Epoch = newestEpoch(w.ctx)
		s.Spec.Objects = append(s.Spec.Objects, raw(GinkgoTB(), w.text(spreadText)))
		w.create(s)
		Expect(w.applied(s, "Conflict")).To(ContainSubstring("image"))
		spread := &appsv1beta1.WorkloadSpread{}
		key := client.ObjectKey{Namespace: w.ns, Name: "web"}
		Consistently(func() error { return memberAdmin.Get(w.ctx, key, spread) }, time.Second).Should(MatchError(ContainSubstring("not found")))
		By("being allowed to take it over")
		w.change(s, func() { s.Spec.Adoption = fleetv1alpha1.AdoptionAlways })
		Eventually(func() error { return memberAdmin.Get(w.ctx, key, spread) }).Should(Succeed())
	})
})
