// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package resourcedistribution_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// atRest is for how long nothing may be written.
const atRest = 2 * time.Second

func configMap(name string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q,"namespace":"ignored"},"data":{"k":"v"}}`, name)
}

func byLabel(team string) metav1.LabelSelector {
	return metav1.LabelSelector{MatchLabels: map[string]string{"team": team}}
}

var _ = Describe("ResourceDistributions", Ordered, Label("integration"), func() {
	It("tell which rights are missing, and go on when they are there", func(ctx context.Context) {
		ns := newNamespace(ctx, "rights", nil)
		rd := distribute(ctx, configMap("rights"), v1beta1.ResourceDistributionTargets{IncludedNamespaces: listOf(ns)})
		Eventually(status(ctx, rd)).Should(HavePrefix("0/0/0 GetResourceFailed"))
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(rd), rd)).To(Succeed())
		Expect(rd.Status.Conditions[0].Reason).To(ContainSubstring("apply kustomize/distribution"))
		grant("kustomize/distribution/role.yaml")
		Eventually(status(ctx, rd)).WithTimeout(time.Minute).Should(Equal("1/1/0"))
		Expect(data(ctx, ns, "rights")()).To(Equal("k=v"))
	})

	It("make one write for a copy and one for the status, and none at rest", func(ctx context.Context) {
		a, b := newNamespace(ctx, "a", nil), newNamespace(ctx, "b", nil)
		for range 2 {
			newNamespace(ctx, "c", map[string]string{"team": "rest"})
		}
		start := time.Now()
		raw := configMap("rest")
		rd := distribute(ctx, raw, v1beta1.ResourceDistributionTargets{IncludedNamespaces: listOf(a, b), NamespaceSelector: byLabel("rest")})
		Eventually(status(ctx, rd)).Should(Equal("4/4/0"))
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(rd), rd)).To(Succeed())
		Expect(rd.Status.Conditions).To(HaveLen(6))
		for _, c := range rd.Status.Conditions {
			Expect(c).To(And(HaveField("Status", corev1.ConditionFalse), HaveField("Reason", "Succeeded")))
		}
		sum := sha256.Sum256(rd.Spec.Resource.Raw)
		cm := &corev1.ConfigMap{}
		Expect(admin.Get(ctx, client.ObjectKey{Namespace: a, Name: "rest"}, cm)).To(Succeed())
		Expect(cm.Annotations).To(And(HaveKeyWithValue(v1beta1.ResourceHashKey, hex.EncodeToString(sum[:])), HaveKeyWithValue(v1beta1.ResourceSourceKey, rd.Name)))
		Expect(metav1.IsControlledBy(cm, rd)).To(BeTrue())
		want := Equal([]string{"1 patch resourcedistributions/status", "4 create configmaps"})
		Expect(writes(start)).To(want)
		Consistently(func() []string { return writes(start) }).WithTimeout(atRest).Should(want)
	})

	It("undo what was done to copies, with one write each (RD-02)", func(ctx context.Context) {
		a, b := newNamespace(ctx, "edited", nil), newNamespace(ctx, "deleted", nil)
		rd := distribute(ctx, configMap("drift"), v1beta1.ResourceDistributionTargets{IncludedNamespaces: listOf(a, b)})
		Eventually(status(ctx, rd)).Should(Equal("2/2/0"))
		start := time.Now()
		cm := &corev1.ConfigMap{}
		Expect(admin.Get(ctx, client.ObjectKey{Namespace: a, Name: "drift"}, cm)).To(Succeed())
		base := client.MergeFrom(cm.DeepCopy())
		cm.Data, cm.Labels["their"] = map[string]string{"k": "other", "more": "x"}, "label"
		Expect(admin.Patch(ctx, cm, base)).To(Succeed())
		Eventually(data(ctx, a, "drift")).Should(Equal("k=v"))
		Expect(admin.Delete(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: b, Name: "drift"}})).To(Succeed())
		Eventually(data(ctx, b, "drift")).Should(Equal("k=v"))
		By("a copy that lost its mark")
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(cm), cm)).To(Succeed())
		Expect(cm.Labels).To(HaveKeyWithValue("their", "label"))
		base = client.MergeFrom(cm.DeepCopy())
		cm.Labels = nil
		Expect(admin.Patch(ctx, cm, base)).To(Succeed())
		Eventually(func() map[string]string {
			Expect(admin.Get(ctx, client.ObjectKeyFromObject(cm), cm)).To(Succeed())
			return cm.Labels
		}).Should(HaveKeyWithValue("flotilla.sh/distributed", "true"))
		want := Equal([]string{"1 create configmaps", "2 update configmaps"})
		Consistently(func() []string { return writes(start) }).WithTimeout(atRest).Should(want)
	})

	It("bring a new resource to all, its labels too", func(ctx context.Context) {
		ns := newNamespace(ctx, "new", nil)
		rd := distribute(ctx, configMap("new"), v1beta1.ResourceDistributionTargets{IncludedNamespaces: listOf(ns)})
		Eventually(data(ctx, ns, "new")).Should(Equal("k=v"))
		edit(ctx, rd, func(spec *v1beta1.ResourceDistributionSpec) {
			spec.Resource.Raw = []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"new","labels":{"l":"1"}},"data":{"k":"w"}}`)
		})
		Eventually(data(ctx, ns, "new")).Should(Equal("k=w"))
		edit(ctx, rd, func(spec *v1beta1.ResourceDistributionSpec) {
			spec.Resource.Raw = []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"new","labels":{"l":"2"}},"data":{"k":"w"}}`)
		})
		Eventually(func() string {
			cm := &corev1.ConfigMap{}
			Expect(admin.Get(ctx, client.ObjectKey{Namespace: ns, Name: "new"}, cm)).To(Succeed())
			return cm.Labels["l"]
		}).Should(Equal("2"))
		Eventually(status(ctx, rd)).Should(Equal("1/1/0"))
	})

	It("follow namespaces that come, are labelled, and go", func(ctx context.Context) {
		rd := distribute(ctx, configMap("follow"), v1beta1.ResourceDistributionTargets{NamespaceSelector: byLabel("follow"), IncludedNamespaces: listOf("comes-later")})
		Eventually(status(ctx, rd)).Should(Equal("1/0/1 NamespaceNotExists[comes-later]"))
		labelled := newNamespace(ctx, "labelled", map[string]string{"team": "follow"})
		plain := newNamespace(ctx, "plain", nil)
		Eventually(data(ctx, labelled, "follow")).Should(Equal("k=v"))
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: plain}}
		Expect(admin.Patch(ctx, ns, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"team":"follow"}}}`)))).To(Succeed())
		Eventually(data(ctx, plain, "follow")).Should(Equal("k=v"))
		later := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "comes-later"}}
		Expect(admin.Create(ctx, later)).To(Succeed())
		Eventually(status(ctx, rd)).Should(Equal("3/3/0"))

		By("no longer labelled")
		Expect(admin.Patch(ctx, ns, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"team":null}}}`)))).To(Succeed())
		Eventually(data(ctx, plain, "follow")).Should(BeEmpty())
		Eventually(status(ctx, rd)).Should(Equal("2/2/0"))

		By("gone (RD-01)")
		Expect(admin.Delete(ctx, later)).To(Succeed())
		Eventually(status(ctx, rd)).Should(Equal("2/1/1 NamespaceNotExists[comes-later]"))
		Expect(admin.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: labelled}})).To(Succeed())
		Eventually(status(ctx, rd)).Should(Equal("1/0/1 NamespaceNotExists[comes-later]"))
	})

	It("leave a namespace alone that is being deleted (RD-01)", func(ctx context.Context) {
		ns := newNamespace(ctx, "held", nil)
		held := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "held", Finalizers: []string{"test/held"}}}
		Expect(admin.Create(ctx, held)).To(Succeed())
		Expect(admin.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}})).To(Succeed())
		start := time.Now()
		rd := distribute(ctx, configMap("late"), v1beta1.ResourceDistributionTargets{IncludedNamespaces: listOf(ns)})
		Eventually(status(ctx, rd)).Should(Equal(fmt.Sprintf("1/0/1 NamespaceNotExists[%s]", ns)))
		Consistently(func() []string { return writes(start) }).WithTimeout(atRest).Should(Equal([]string{"1 patch resourcedistributions/status"}))
		Expect(admin.Patch(ctx, held, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`)))).To(Succeed())
	})

	It("take copies away where targets are narrowed, and all with themselves", func(ctx context.Context) {
		a, b, c := newNamespace(ctx, "stays", nil), newNamespace(ctx, "excluded", nil), newNamespace(ctx, "unlisted", nil)
		rd := distribute(ctx, configMap("narrow"), v1beta1.ResourceDistributionTargets{IncludedNamespaces: listOf(a, b, c)})
		Eventually(status(ctx, rd)).Should(Equal("3/3/0"))
		edit(ctx, rd, func(spec *v1beta1.ResourceDistributionSpec) {
			spec.Targets.IncludedNamespaces, spec.Targets.ExcludedNamespaces = listOf(a), listOf(b)
		})
		Eventually(status(ctx, rd)).Should(Equal("1/1/0"))
		Eventually(data(ctx, b, "narrow")).Should(BeEmpty())
		Eventually(data(ctx, c, "narrow")).Should(BeEmpty())
		Expect(data(ctx, a, "narrow")()).To(Equal("k=v"))
		Expect(admin.Delete(ctx, rd)).To(Succeed())
		Eventually(data(ctx, a, "narrow")).Should(BeEmpty())
	})

	It("reach all namespaces but those of the system", func(ctx context.Context) {
		ns := newNamespace(ctx, "any", nil)
		rd := distribute(ctx, configMap("all"), v1beta1.ResourceDistributionTargets{AllNamespaces: true, ExcludedNamespaces: listOf("default")})
		Eventually(data(ctx, ns, "all")).Should(Equal("k=v"))
		Eventually(status(ctx, rd)).ShouldNot(Or(Equal("stale"), ContainSubstring("Failed")))
		for _, name := range []string{metav1.NamespaceSystem, metav1.NamespacePublic, "default"} {
			Expect(data(ctx, name, "all")()).To(BeEmpty())
		}
	})

	It("never touch what is another's", func(ctx context.Context) {
		ns, free := newNamespace(ctx, "taken", nil), newNamespace(ctx, "free", nil)
		foreign := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "foreign"}, StringData: map[string]string{"their": "own"}}
		Expect(admin.Create(ctx, foreign)).To(Succeed())
		before := foreign.DeepCopy()
		start := time.Now()
		rd := distribute(ctx, `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"foreign"},"stringData":{"k":"hunter2"}}`,
			v1beta1.ResourceDistributionTargets{IncludedNamespaces: listOf(ns, free)})
		Eventually(status(ctx, rd)).Should(Equal(fmt.Sprintf("2/1/1 ConflictOccurred[%s]", ns)))
		Consistently(func() []string { return writes(start) }).WithTimeout(atRest).Should(Equal([]string{"1 create secrets", "1 patch resourcedistributions/status"}))
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(foreign), foreign)).To(Succeed())
		Expect(foreign).To(Equal(before))
		Eventually(notes(ctx, rd)).Should(ConsistOf(fmt.Sprintf("ConflictOccurred %s: Secret %s/foreign is not of this ResourceDistribution: it is left as it is", ns, ns)))

		By("narrowed: another's is not deleted")
		edit(ctx, rd, func(spec *v1beta1.ResourceDistributionSpec) { spec.Targets.IncludedNamespaces = listOf(free) })
		Eventually(status(ctx, rd)).Should(Equal("1/1/0"))
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(foreign), foreign)).To(Succeed())

		By("gone: the copy is made")
		Expect(admin.Delete(ctx, foreign)).To(Succeed())
		edit(ctx, rd, func(spec *v1beta1.ResourceDistributionSpec) { spec.Targets.IncludedNamespaces = listOf(ns, free) })
		Eventually(status(ctx, rd)).Should(Equal("2/2/0"))
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(foreign), foreign)).To(Succeed())
		Expect(foreign.Data).To(HaveKeyWithValue("k", []byte("hunter2")))
	})

	It("take over copies that OpenKruise made, and those it left behind, with one write each", func(ctx context.Context) {
		// They carry no mark, and are there before the controller looks for the first time.
		kept, left := newNamespace(ctx, "kept", map[string]string{"team": "over"}), newNamespace(ctx, "left", nil)
		rd := &v1beta1.ResourceDistribution{ObjectMeta: metav1.ObjectMeta{Name: "over"}}
		rd.Spec.Resource.Raw = []byte(configMap("over"))
		rd.Spec.Targets.IncludedNamespaces = listOf("not-there")
		Expect(admin.Create(ctx, rd)).To(Succeed())
		Eventually(status(ctx, rd)).Should(Equal("1/0/1 NamespaceNotExists[not-there]"))
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(rd), rd)).To(Succeed())
		sum := sha256.Sum256(rd.Spec.Resource.Raw)
		for _, ns := range []string{kept, left} {
			owner := metav1.NewControllerRef(rd, v1beta1.SchemeGroupVersion.WithKind("ResourceDistribution"))
			owner.APIVersion = "apps.kruise.io/v1alpha1"
			Expect(admin.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
				Namespace: ns, Name: "over", OwnerReferences: []metav1.OwnerReference{*owner},
				Annotations: map[string]string{v1beta1.ResourceHashKey: hex.EncodeToString(sum[:]), v1beta1.ResourceSourceKey: rd.Name},
			}, Data: map[string]string{"k": "v"}})).To(Succeed())
		}
		start := time.Now()
		edit(ctx, rd, func(spec *v1beta1.ResourceDistributionSpec) {
			spec.Targets = v1beta1.ResourceDistributionTargets{NamespaceSelector: byLabel("over")}
		})
		Eventually(status(ctx, rd)).Should(Equal("1/1/0"))
		Eventually(data(ctx, left, "over")).Should(BeEmpty())
		Expect(data(ctx, kept, "over")()).To(Equal("k=v"))
		Consistently(func() []string { return writes(start) }).WithTimeout(atRest).Should(ConsistOf("1 update configmaps", "1 delete configmaps", "1 patch resourcedistributions/status"))
		Expect(admin.Delete(ctx, rd)).To(Succeed())
	})

	It("tell nothing of a Secret that an API server quotes, and hold up no other namespace", func(ctx context.Context) {
		bad, good := newNamespace(ctx, "bad", map[string]string{"refuses": "secrets"}), newNamespace(ctx, "good", nil)
		refuse(ctx)
		rd := distribute(ctx, `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"quoted"},"stringData":{"k":"hunter2"}}`,
			v1beta1.ResourceDistributionTargets{IncludedNamespaces: listOf(bad, good)})
		Eventually(status(ctx, rd)).Should(Equal(fmt.Sprintf("2/1/1 CreateResourceFailed[%s]", bad)))
		Expect(admin.Get(ctx, client.ObjectKey{Namespace: good, Name: "quoted"}, &corev1.Secret{})).To(Succeed())
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(rd), rd)).To(Succeed())
		Expect(rd.Status.Conditions[1].Reason).To(ContainSubstring("by a ValidatingAdmissionPolicy"))
		told := fmt.Sprint(rd.Status) + logged()
		Eventually(notes(ctx, rd)).Should(ContainElement(HavePrefix("CreateResourceFailed " + bad)))
		told += fmt.Sprint(notes(ctx, rd)())
		Expect(told).NotTo(Or(ContainSubstring("hunter2"), ContainSubstring("aHVudGVyMg")))

		By("going on when it is no longer refused")
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: bad}}
		Expect(admin.Patch(ctx, ns, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"refuses":null}}}`)))).To(Succeed())
		Eventually(status(ctx, rd)).Should(Equal("2/2/0"))
	})

	It("make the copy when another's object goes away, without being told", func(ctx context.Context) {
		ns := newNamespace(ctx, "yields", nil)
		foreign := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "yields"}}
		Expect(admin.Create(ctx, foreign)).To(Succeed())
		rd := distribute(ctx, configMap("yields"), v1beta1.ResourceDistributionTargets{IncludedNamespaces: listOf(ns)})
		Eventually(status(ctx, rd)).Should(Equal(fmt.Sprintf("1/0/1 ConflictOccurred[%s]", ns)))
		began := time.Now() // of the next pass: it does not try to make what is there
		Expect(admin.Patch(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"a":"b"}}}`)))).To(Succeed())
		Consistently(func() []string { return writes(began) }).WithTimeout(atRest).Should(BeEmpty())
		Expect(admin.Delete(ctx, foreign)).To(Succeed())
		Eventually(status(ctx, rd)).WithTimeout(45 * time.Second).Should(Equal("1/1/0"))
		Expect(data(ctx, ns, "yields")()).To(Equal("k=v"))
	})

	It("write nothing when the controller starts anew, and see what changed while it was away", func(ctx context.Context) {
		a, b := newNamespace(ctx, "same", nil), newNamespace(ctx, "changed", nil)
		secret := `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"restart"},"stringData":{"k":"v"}}`
		rd := distribute(ctx, secret, v1beta1.ResourceDistributionTargets{IncludedNamespaces: listOf(a, b)})
		Eventually(status(ctx, rd)).Should(Equal("2/2/0"))
		stop()
		copied := &corev1.Secret{}
		Expect(admin.Get(ctx, client.ObjectKey{Namespace: b, Name: "restart"}, copied)).To(Succeed())
		base := client.MergeFrom(copied.DeepCopy())
		copied.Data = map[string][]byte{"k": []byte("other")}
		Expect(admin.Patch(ctx, copied, base)).To(Succeed())
		began := time.Now()
		start()
		Eventually(func() map[string][]byte {
			Expect(admin.Get(ctx, client.ObjectKeyFromObject(copied), copied)).To(Succeed())
			return copied.Data
		}).Should(Equal(map[string][]byte{"k": []byte("v")}))
		Consistently(func() []string { return writes(began) }).WithTimeout(atRest).Should(Equal([]string{"1 update secrets"}))
	})

	It("make one write for a namespace that comes", func(ctx context.Context) {
		for range 3 {
			newNamespace(ctx, "crowd", map[string]string{"team": "crowd"})
		}
		rd := distribute(ctx, configMap("crowd"), v1beta1.ResourceDistributionTargets{NamespaceSelector: byLabel("crowd")})
		Eventually(status(ctx, rd)).Should(Equal("3/3/0"))
		began := time.Now()
		newNamespace(ctx, "crowd", map[string]string{"team": "crowd"})
		Eventually(status(ctx, rd)).Should(Equal("4/4/0"))
		Consistently(func() []string { return writes(began) }).WithTimeout(atRest).Should(Equal([]string{"1 create configmaps", "1 patch resourcedistributions/status"}))
	})

	It("leave what is changed of a copy's metadata", func(ctx context.Context) {
		ns := newNamespace(ctx, "metadata", nil)
		rd := distribute(ctx, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"metadata","labels":{"l":"ours"}},"data":{"k":"v"}}`,
			v1beta1.ResourceDistributionTargets{IncludedNamespaces: listOf(ns)})
		Eventually(status(ctx, rd)).Should(Equal("1/1/0"))
		began := time.Now()
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "metadata"}}
		Expect(admin.Patch(ctx, cm, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"l":"theirs"}}}`)))).To(Succeed())
		Consistently(func() []string { return writes(began) }).WithTimeout(atRest).Should(BeEmpty())
	})
})
