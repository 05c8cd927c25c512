// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package spoke

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/e2e/harness"
)

var _ = Describe("Deletion protection", Label("protection"), func() {
	It("holds a namespace and its CloneSet until they are empty", func(ctx SpecContext) {
		label := client.MatchingLabels{appsv1beta1.DeleteProtectionKey: "Cascading"}
		ns := &corev1.Namespace{}
		ns.GenerateName, ns.Labels = "e2e-", label
		Expect(member.Create(ctx, ns)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { // of a spec that failed halfway
			lift := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"`+appsv1beta1.DeleteProtectionKey+`":null}}}`))
			Expect(client.IgnoreNotFound(member.Patch(ctx, ns, lift))).To(Succeed())
			Expect(client.IgnoreNotFound(member.Delete(ctx, ns))).To(Succeed())
		})
		set := shop(ctx, 2, func(set *appsv1beta1.CloneSet) { set.Namespace, set.Labels = ns.Name, label })

		const because = "forbidden by ResourcesProtectionDeletion for policy.kruise.io/delete-protection=Cascading: 2 "
		for obj, what := range map[client.Object]string{ns: "active pods", set: "replicas"} {
			err := member.Delete(ctx, obj)
			Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%v", err)
			Expect(err).To(MatchError(ContainSubstring(because + what)))
		}
		Consistently(func(g Gomega) { g.Expect(podsOf(ctx, set)).To(HaveLen(2)) }, time.Second).Should(Succeed())

		edit(ctx, set, harness.Replicas(0))
		Eventually(func(g Gomega) { g.Expect(podsOf(ctx, set)).To(BeEmpty()) }).WithTimeout(soon).Should(Succeed())
		Expect(member.Delete(ctx, ns)).To(Succeed())
		Eventually(func() bool { return apierrors.IsNotFound(member.Get(ctx, client.ObjectKeyFromObject(ns), ns)) }).WithTimeout(soon).Should(BeTrue())
	}, SpecTimeout(4*time.Minute))
})
