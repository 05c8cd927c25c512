//go:build integration

// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

var _ = Describe("pull secrets", Label("integration"), func() {
	regcred := func(ctx context.Context, ns, name string) *corev1.Secret {
		secret := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Type: corev1.SecretTypeDockerConfigJson,
			StringData: map[string]string{corev1.DockerConfigJsonKey: `{"auths":{}}`},
		}
		Expect(admin.Create(ctx, secret)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { Expect(client.IgnoreNotFound(admin.Delete(ctx, secret))).To(Succeed()) })
		return secret
	}
	with := func(pool string, names ...string) func(*appsv1beta1.ImagePullJobSpec) {
		return func(s *appsv1beta1.ImagePullJobSpec) {
			labelled(pool)(s)
			s.PullSecrets = names
		}
	}
	silent := func(ctx context.Context, pool string) string {
		return newNodes(ctx, pool, 1, map[string]string{"pool": pool, "silent": "yes"})[0]
	}

	It("are told when they are missing, and taken when they come", func(ctx context.Context) {
		startPulling(defaults)
		node := silent(ctx, "absent")
		ns := newPullNamespace(ctx)
		job := pullJob(ns, "absent", "absent:1", with("absent", "later"))
		Expect(admin.Create(ctx, job)).To(Succeed())
		Eventually(told(ctx, job)).Should(ContainElement("PullSecretNotFound: pull secrets later are not there: nodes pull without them"))
		Eventually(jobNow(ctx, job)).Should(HaveField("Active", int32(1)))
		Expect(nodeNow(ctx, node).Spec.Images["absent"].PullSecrets).To(BeEmpty())
		regcred(ctx, ns, "later")
		Eventually(func() []appsv1beta1.ReferenceObject { return nodeNow(ctx, node).Spec.Images["absent"].PullSecrets }).Should(HaveLen(1))
	})

	It("of jobs in the agents' namespace are used as they are", func(ctx context.Context) {
		startPulling(defaults)
		node := silent(ctx, "own")
		ns := appsv1beta1.KruiseDaemonConfigNamespace
		regcred(ctx, ns, "own")
		job := pullJob(ns, "own", "own:1", with("own", "own", "typo"))
		Expect(admin.Create(ctx, job)).To(Succeed())
		Eventually(jobNow(ctx, job)).Should(HaveField("Active", int32(1)))
		refs := func() []appsv1beta1.ReferenceObject { return nodeNow(ctx, node).Spec.Images["own"].PullSecrets }
		Eventually(refs).Should(Equal([]appsv1beta1.ReferenceObject{{Namespace: ns, Name: "own"}}))
		Eventually(told(ctx, job)).Should(ContainElement("PullSecretNotFound: pull secrets typo are not there: nodes pull without them"))
		Expect(admin.Delete(ctx, job)).To(Succeed())
		Eventually(func() error { return admin.Get(ctx, client.ObjectKeyFromObject(job), job) }).ShouldNot(Succeed())
		Expect(admin.Get(ctx, client.ObjectKey{Namespace: ns, Name: "own"}, &corev1.Secret{})).To(Succeed())
	})

	It("wait for the agents' namespace, and nothing else does", func(ctx context.Context) {
		GinkgoT().Setenv(appsv1beta1.DaemonConfigNamespaceEnv, "agents")
		startPulling(defaults)
		startAgents(10e6)
		newNodes(ctx, "nowhere", 1, map[string]string{"pool": "nowhere"})
		ns := newPullNamespace(ctx)
		regcred(ctx, ns, "key")
		keyed, plain := pullJob(ns, "keyed", "nowhere/a:1", with("nowhere", "key")), pullJob(ns, "plain", "nowhere/b:1", with("nowhere"))
		Expect(admin.Create(ctx, keyed)).To(Succeed())
		Expect(admin.Create(ctx, plain)).To(Succeed())
		Eventually(jobNow(ctx, plain)).Should(HaveField("Succeeded", int32(1)))
		Eventually(told(ctx, keyed)).Should(ContainElement(HavePrefix("FailedCopyPullSecret: namespace agents cannot be read: it must be there")))

		By("letting a job go that never had a copy")
		other := pullJob(ns, "other", "nowhere/c:1", with("nowhere", "key"))
		Expect(admin.Create(ctx, other)).To(Succeed())
		Eventually(told(ctx, other)).Should(ContainElement(HavePrefix("FailedCopyPullSecret: ")))
		Expect(admin.Delete(ctx, other)).To(Succeed())
		Eventually(func() error { return admin.Get(ctx, client.ObjectKeyFromObject(other), other) }).ShouldNot(Succeed())

		By("going on when it is there")
		Expect(admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "agents"}})).To(Succeed())
		grantSpoke(ctx, "agents")
		Eventually(jobNow(ctx, keyed), "90s").Should(HaveField("Succeeded", int32(1)))

		By("saying so when it is taken away, and going on when it is back")
		for _, obj := range []client.Object{&rbacv1.RoleBinding{}, &rbacv1.Role{}} {
			Expect(admin.DeleteAllOf(ctx, obj, client.InNamespace("agents"))).To(Succeed())
		}
		regcred(ctx, ns, "new")
		late := pullJob(ns, "late", "nowhere/d:1", with("nowhere", "new"))
		Expect(admin.Create(ctx, late)).To(Succeed())
		Eventually(told(ctx, late)).Should(ContainElement(MatchRegexp("FailedCopyPullSecret: .*namespace agents cannot be .*: it must be there")))
		grantSpoke(ctx, "agents")
		Eventually(jobNow(ctx, late), "30s").Should(HaveField("Succeeded", int32(1)))
	})

	It("are listed in no other namespace", func(ctx context.Context) {
		spoke, err := client.New(asSpoke(), client.Options{Scheme: Scheme()})
		Expect(err).NotTo(HaveOccurred())
		Expect(spoke.List(ctx, &corev1.SecretList{})).To(MatchError(ContainSubstring("forbidden")))
		Expect(spoke.List(ctx, &corev1.SecretList{}, client.InNamespace("default"))).To(MatchError(ContainSubstring("forbidden")))
		Expect(spoke.List(ctx, &corev1.SecretList{}, client.InNamespace(appsv1beta1.KruiseDaemonConfigNamespace))).To(Succeed())
	})
})
