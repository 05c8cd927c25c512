// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package fleet

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/internal/conditions"
	"github.com/flotilla-sh/flotilla/internal/testkit"
)

var _ = Describe("The fleet agent", func() {
	var w *world
	BeforeEach(func() {
		w = newWorld()
		w.stop = start()
	})
	AfterEach(func() { w.stop() })

	It("applies, changes and rests", func() {
		s := w.create(w.slice("web", udText, numbersBySubset{"a": 3, "b": 2}, numbersBySubset{"a": 1}))
		w.applied(s, "Applied")
		Expect(w.shape()).To(Equal("5 a:3/1/1 b:2/-1/1 web:v1"))
		ud := w.ud()
		Expect(ud.Labels).To(And(HaveKeyWithValue("app", "web"), HaveKeyWithValue(fleetv1alpha1.SliceLabel, s.Name)))
		Expect(ud.Annotations).To(HaveKeyWithValue(fleetv1alpha1.SourceAnnotation, w.ns+"/web"))
		Expect(owners(ud)).To(ConsistOf("fleet-template", "fleet-split", "fleet-rollout"))
		w.quiet()

		By("changing numbers: only their owners write")
		since := time.Now()
		w.change(s, func() { w.numbers(s, udText, numbersBySubset{"a": 4, "b": 2}, numbersBySubset{"a": 1}) })
		w.applied(s, "Applied")
		Expect(w.shape()).To(Equal("6 a:4/1/1 b:2/-1/1 web:v1"))
		Expect(memberServer.Writes(GinkgoTB(), memberAgent, since)).To(HaveLen(1))

		By("changing the template, lowering partitions with it")
		w.change(s, func() {
			w.numbers(s, replaced("web:v1", "web:v2"), numbersBySubset{"a": 4, "b": 2}, numbersBySubset{"a": 0})
		})
		w.applied(s, "Applied")
		Expect(w.shape()).To(Equal("6 a:4/0/1 b:2/-1/1 web:v2"))

		By("adding and removing subsets in one change")
		w.change(s, func() {
			w.numbers(s, replaced("name: b,", "name: c,"), numbersBySubset{"a": 1, "c": 7}, numbersBySubset{"c": 7})
		})
		w.applied(s, "Applied")
		Expect(w.shape()).To(Equal("8 a:1/-1/1 c:7/7/1 web:v1"))

		By("becoming a whole copy")
		w.change(s, func() { w.numbers(s, manual, nil, nil) })
		w.applied(s, "Rejected") // the selector is required
		w.change(s, func() { w.numbers(s, udText, nil, nil) })
		w.applied(s, "Applied")
		Expect(owners(w.ud())).To(ConsistOf("fleet-template"))
		w.quiet()
	})

	It("lets partitions go where others hold what is around them", func() {
		Expect(memberAdmin.Create(w.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.ns}})).To(Succeed())
		obj := parse(GinkgoTB(), w.text(udText))
		obj.Object["spec"].(map[string]any)["updateStrategy"] = map[string]any{"type": "Manual", "manualUpdate": map[string]any{}}
		Expect(memberAdmin.Create(w.ctx, obj)).To(Succeed())
		s := w.create(w.slice("web", udText, numbersBySubset{"a": 3, "b": 2}, numbersBySubset{"b": 1}))
		w.applied(s, "Applied")
		w.change(s, func() {
			w.numbers(s, replaced("name: b,", "name: c,"), numbersBySubset{"a": 3, "c": 2}, numbersBySubset{"c": 1})
		})
		w.applied(s, "Applied")
		Expect(w.shape()).To(Equal("5 a:3/-1/1 c:2/1/1 web:v1"))
		w.change(s, func() { w.numbers(s, udText, numbersBySubset{"a": 3, "b": 2}, nil) })
		w.applied(s, "Applied")
		Expect(w.shape()).To(Equal("5 a:3/-1/1 b:2/-1/1 web:v1"))
		Expect(w.ud().Spec.UpdateStrategy.Type).To(Equal(appsv1beta1.ManualUpdateStrategyType))
		w.quiet()
	})

	It("undoes drift and makes anew what somebody deletes", func() {
		s := w.create(w.slice("web", udText, numbersBySubset{"a": 3, "b": 2}, nil))
		w.applied(s, "Applied")
		ud := w.ud()
		ud.Spec.Replicas = ptr.To[int32](50)
		ud.Spec.Template.CloneSetTemplate.Spec.Template.Spec.Containers[0].Image = "web:hand"
		Expect(memberAdmin.Update(w.ctx, ud)).To(Succeed())
		Eventually(w.shape).Should(Equal("5 a:3/-1/1 b:2/-1/1 web:v1"))
		Expect(memberAdmin.Delete(w.ctx, ud)).To(Succeed())
		Eventually(func() any {
			if now := w.ud(); now != nil {
				return now.UID
			}
			return ud.UID
		}).ShouldNot(Equal(ud.UID))
		Eventually(w.shape).Should(Equal("5 a:3/-1/1 b:2/-1/1 web:v1"))
	})

	It("waits, without haste, for a namespace that is being deleted", func() {
		Expect(memberAdmin.Create(w.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.ns}})).To(Succeed())
		Expect(memberAdmin.Delete(w.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.ns}})).To(Succeed())
		s := w.create(w.slice("web", udText, numbersBySubset{"a": 3, "b": 2}, nil))
		Expect(w.applied(s, "Retrying")).To(ContainSubstring("being terminated"))
		w.quiet()
	})

	It("says which kind it has no right to, and goes on with the others", func() {
		const account = `{apiVersion: v1, kind: ServiceAccount, metadata: {name: %s, namespace: shop}}`
		denied := w.create(w.slice("denied", fmt.Sprintf(account, "denied"), nil, nil))
		Expect(w.applied(denied, "Rejected")).To(ContainSubstring("cannot list resource"))
		s := w.create(w.slice("web", udText, numbersBySubset{"a": 3, "b": 2}, nil))
		w.applied(s, "Applied")
		Expect(hubAdmin.Delete(w.ctx, denied)).To(Succeed())
		Eventually(func() error { return hubAdmin.Get(w.ctx, client.ObjectKeyFromObject(denied), denied) }).Should(MatchError(ContainSubstring("not found")))

		By("having had the right")
		rights := placingRights("serviceaccounts")
		for _, obj := range rights {
			Expect(memberAdmin.Create(w.ctx, obj)).To(Succeed())
		}
		granted := w.create(w.slice("granted", fmt.Sprintf(account, "granted"), nil, nil))
		w.applied(granted, "Applied")
		w.stop()
		for _, obj := range rights {
			Expect(memberAdmin.Delete(w.ctx, obj)).To(Succeed())
		}
		w.stop = start()
		w.applied(granted, "Rejected")
		w.change(s, func() { w.numbers(s, udText, numbersBySubset{"a": 1, "b": 1}, nil) })
		w.applied(s, "Applied")
		for _, obj := range placingRights("serviceaccounts") {
			Expect(memberAdmin.Create(w.ctx, obj)).To(Succeed())
			DeferCleanup(func() { Expect(memberAdmin.Delete(w.ctx, obj)).To(Succeed()) })
		}
		w.change(granted, func() { // or the next attempt would have to be waited for
			granted.Spec.Objects[0] = raw(GinkgoTB(), w.text(fmt.Sprintf(account, "granted, labels: {a: b}")))
		})
		w.applied(granted, "Applied")
	})

	It("applies several objects and takes back the ones no longer listed", func() {
		s := w.slice("many", `{apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: shop}, data: {k: v}}`, nil, nil)
		s.Spec.Objects = append(s.Spec.Objects, raw(GinkgoTB(), w.text(`{apiVersion: v1, kind: ConfigMap, metadata: {name: two, namespace: shop}, data: {k: v}}`)))
		w.create(s)
		w.applied(s, "Applied")
		two := &corev1.ConfigMap{}
		Expect(memberAdmin.Get(w.ctx, client.ObjectKey{Namespace: w.ns, Name: "two"}, two)).To(Succeed())
		two.Data["k"] = "hand"
		Expect(memberAdmin.Update(w.ctx, two)).To(Succeed())
		Eventually(func() string {
			Expect(memberAdmin.Get(w.ctx, client.ObjectKeyFromObject(two), two)).To(Succeed())
			return two.Data["k"]
		}).Should(Equal("v"))
		w.change(s, func() { s.Spec.Objects = s.Spec.Objects[:1] })
		Eventually(func() error { return memberAdmin.Get(w.ctx, client.ObjectKeyFromObject(two), two) }).Should(MatchError(ContainSubstring("not found")))
		Expect(memberAdmin.Get(w.ctx, client.ObjectKey{Namespace: w.ns, Name: "one"}, two)).To(Succeed())
		w.quiet()
	})

	Describe("meets an object that is there", func() {
		var there *appsv1beta1.UnitedDeployment
		BeforeEach(func() {
			Expect(memberAdmin.Create(w.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.ns}})).To(Succeed())
			obj := parse(GinkgoTB(), w.text(udText))
			obj.Object["spec"].(map[string]any)["replicas"] = int64(9)
			Expect(memberAdmin.Create(w.ctx, obj)).To(Succeed())
			there = w.ud()
		})

		It("takes it over when it is equal but for numbers", func() {
			s := w.create(w.slice("web", udText, numbersBySubset{"a": 3, "b": 2}, nil))
			w.applied(s, "Applied")
			Expect(w.ud().UID).To(Equal(there.UID))
			Expect(w.shape()).To(Equal("5 a:3/-1/1 b:2/-1/1 web:v1"))
		})

		It("leaves it alone when it differs, and says in what", func() {
			s := w.create(w.slice("web", replaced("web:v1", "web:v2"), numbersBySubset{"a": 3, "b": 2}, nil))
			Expect(w.applied(s, "Conflict")).To(And(ContainSubstring("UnitedDeployment "+w.ns+"/web"), ContainSubstring("containers[0].image")))
			Expect(w.ud().ResourceVersion).To(Equal(there.ResourceVersion))
			Expect(w.status(s).Subsets).To(BeEmpty())
			w.quiet()

			By("being deleted: it is still not ours")
			Expect(hubAdmin.Delete(w.ctx, s)).To(Succeed())
			Eventually(func() error { return hubAdmin.Get(w.ctx, client.ObjectKeyFromObject(s), s) }).Should(MatchError(ContainSubstring("not found")))
			Expect(w.ud().ResourceVersion).To(Equal(there.ResourceVersion))
		})

		It("leaves it alone with policy Never, takes it with Always", func() {
			s := w.slice("web", replaced("web:v1", "web:v2"), numbersBySubset{"a": 3, "b": 2}, nil)
			s.Spec.Adoption = fleetv1alpha1.AdoptionNever
			w.create(s)
			Expect(w.applied(s, "Conflict")).To(ContainSubstring("Never"))
			w.change(s, func() { s.Spec.Adoption = fleetv1alpha1.AdoptionAlways })
			w.applied(s, "Applied")
			Expect(w.shape()).To(Equal("5 a:3/-1/1 b:2/-1/1 web:v2"))

			By("another slice that wants the same")
			other := w.slice("other", udText, numbersBySubset{"a": 1, "b": 1}, nil)
			other.Spec.Adoption = fleetv1alpha1.AdoptionAlways
			w.create(other)
			Expect(w.applied(other, "Conflict")).To(ContainSubstring(s.Name))
			Expect(w.shape()).To(Equal("5 a:3/-1/1 b:2/-1/1 web:v2"))
		})
	})

	It("says what it cannot read and what is refused", func() {
		s := w.slice("bad", udText, numbersBySubset{"a": 1, "b": 1, "c": 1}, nil)
		w.create(s)
		Expect(w.applied(s, "Unreadable")).To(ContainSubstring(`subset "c"`))
		unknown := w.create(w.slice("unknown", `{apiVersion: example.com/v1, kind: Nothing, metadata: {name: x, namespace: shop}}`, nil, nil))
		Expect(w.applied(unknown, "Rejected")).To(ContainSubstring("Nothing"))
		w.quiet()
	})

	It("deletes with Cascade and lets the slice go once the objects are gone", func() {
		s := w.create(w.slice("web", udText, numbersBySubset{"a": 3, "b": 2}, nil))
		w.applied(s, "Applied")
		ud := w.ud()
		ud.Finalizers = []string{"test.io/hold"}
		Expect(memberAdmin.Update(w.ctx, ud)).To(Succeed())
		Expect(hubAdmin.Delete(w.ctx, s)).To(Succeed())
		Eventually(func() any { return w.ud().DeletionTimestamp }).ShouldNot(BeNil())
		Consistently(func() error { return hubAdmin.Get(w.ctx, client.ObjectKeyFromObject(s), s) }, time.Second).Should(Succeed())
		ud = w.ud()
		ud.Finalizers = nil
		Expect(memberAdmin.Update(w.ctx, ud)).To(Succeed())
		Eventually(func() error { return hubAdmin.Get(w.ctx, client.ObjectKeyFromObject(s), s) }).Should(MatchError(ContainSubstring("not found")))
		Expect(w.shape()).To(Equal("absent"))
		Expect(memberAdmin.Get(w.ctx, client.ObjectKey{Name: w.ns}, &corev1.Namespace{})).To(Succeed(), "the namespace stays")
	})

	It("lets go with Orphan, leaving everything as it runs", func() {
		s := w.slice("web", udText, numbersBySubset{"a": 3, "b": 2}, numbersBySubset{"a": 2})
		s.Spec.DeletionPolicy = fleetv1alpha1.DeletionOrphan
		w.create(s)
		w.applied(s, "Applied")
		before := w.ud()
		Expect(hubAdmin.Delete(w.ctx, s)).To(Succeed())
		Eventually(func() error { return hubAdmin.Get(w.ctx, client.ObjectKeyFromObject(s), s) }).Should(MatchError(ContainSubstring("not found")))
		after := w.ud()
		Expect(after.Spec).To(Equal(before.Spec))
		Expect(after.UID).To(Equal(before.UID))
		Expect(after.Labels).To(And(HaveKeyWithValue("app", "web"), Not(HaveKey(fleetv1alpha1.SliceLabel))))
		Expect(after.Annotations).To(BeEmpty())
		Expect(owners(after)).To(BeEmpty())
	})

	It("reports counters, revisions and troubles, at most once a second", func() {
		s := w.create(w.slice("web", udText, numbersBySubset{"a": 3, "b": 2}, nil))
		w.applied(s, "Applied")
		ud := w.ud()
		ud.Status = appsv1beta1.UnitedDeploymentStatus{
			ObservedGeneration: ud.Generation, CurrentRevision: "web-1", UpdatedRevision: "web-2",
			SubsetStatuses: []appsv1beta1.UnitedDeploymentSubsetStatus{{Name: "a", Replicas: 3, Partition: 1}, {Name: "b", Replicas: 2}},
		}
		Expect(memberAdmin.Status().Update(w.ctx, ud)).To(Succeed())
		set := w.cloneSet(ud, "a", 3)
		w.pod(set, "web-2", true)
		w.pod(set, "web-1", true)
		w.pod(set, "web-2", false)
		set.Status = appsv1beta1.CloneSetStatus{Replicas: 3, ReadyReplicas: 2, AvailableReplicas: 2}
		Expect(memberAdmin.Status().Update(w.ctx, set)).To(Succeed())
		Eventually(func() any { return w.status(s) }).Should(And(
			HaveField("CurrentRevision", "web-1"), HaveField("UpdatedRevision", "web-2"),
			HaveField("ObjectGeneration", ud.Generation), HaveField("ObjectObservedGeneration", ud.Generation),
			HaveField("Subsets", ConsistOf(
				fleetv1alpha1.SubsetCounters{Subset: "a", Replicas: 3, ReadyReplicas: 2, UpdatedReplicas: 2, UpdatedReadyReplicas: 1, UnavailableReplicas: 1, Partition: 1},
				fleetv1alpha1.SubsetCounters{Subset: "b", UnavailableReplicas: 2})),
			HaveField("Worst", ConsistOf(fleetv1alpha1.Trouble{Reason: "Unschedulable", Message: "no node", Pods: 1}))))
		since := time.Now()
		for i := range int32(40) {
			set.Status.ReadyReplicas = i % 3
			Expect(memberAdmin.Status().Update(w.ctx, set)).To(Succeed())
			time.Sleep(50 * time.Millisecond)
		}
		Expect(hubServer.Writes(GinkgoTB(), hubAgent, since)).To(And(Not(BeEmpty()), HaveEach(HaveField("Resource", "fleetslices/status"))))
		Expect(len(hubServer.Writes(GinkgoTB(), hubAgent, since))).To(BeNumerically("<=", int(time.Since(since)/time.Second)+1))
		w.quiet()
	})

	It("renews its Lease", func() {
		lease := &coordinationv1.Lease{}
		key := client.ObjectKey{Namespace: clusterName, Name: fleetv1alpha1.AddOnName}
		Eventually(func() error { return hubAdmin.Get(w.ctx, key, lease) }).Should(Succeed())
		first, returned := lease.Spec.RenewTime.Time, lease.Spec.AcquireTime
		Eventually(func() bool {
			Expect(hubAdmin.Get(w.ctx, key, lease)).To(Succeed())
			return lease.Spec.RenewTime.After(first)
		}).Should(BeTrue())
		Expect(lease.Spec.AcquireTime.Equal(returned)).To(BeTrue(), "it was not out of touch")

		By("saying that it is back when the Lease had run out")
		w.stop()
		Expect(hubAdmin.Get(w.ctx, key, lease)).To(Succeed())
		lease.Spec.RenewTime = ptr.To(metav1.NewMicroTime(time.Now().Add(-time.Hour)))
		Expect(hubAdmin.Update(w.ctx, lease)).To(Succeed())
		w.stop = start()
		Eventually(func() *metav1.MicroTime {
			Expect(hubAdmin.Get(w.ctx, key, lease)).To(Succeed())
			return lease.Spec.AcquireTime
		}).ShouldNot(Or(BeNil(), Equal(returned)))
		back := *lease.Spec.AcquireTime
		Eventually(func() time.Duration {
			Expect(hubAdmin.Get(w.ctx, key, lease)).To(Succeed())
			return lease.Spec.RenewTime.Sub(back.Time)
		}).Should(BeNumerically(">", 0))
		Expect(lease.Spec.AcquireTime.Time).To(BeTemporally("==", back.Time))
	})

	It("is killed at any moment and still arrives", func() {
		s := w.create(w.slice("web", udText, numbersBySubset{"a": 3, "b": 2}, numbersBySubset{"a": 1}))
		for i := range 8 {
			time.Sleep(time.Duration(rand.IntN(150)) * time.Millisecond)
			w.stop()
			name := []string{"b", "c", "d"}[i%3]
			text := strings.ReplaceAll(replaced("name: b,", "name: "+name+","), "web:v1", fmt.Sprintf("web:k%d", i))
			w.change(s, func() {
				w.numbers(s, text, numbersBySubset{"a": int32(i), name: 2}, numbersBySubset{"a": int32(i), name: 1})
			})
			w.stop = start()
		}
		w.applied(s, "Applied")
		Expect(w.shape()).To(Equal("9 a:7/7/1 c:2/1/1 web:k7"))
		Expect(owners(w.ud())).To(ConsistOf("fleet-template", "fleet-split", "fleet-rollout"))
		w.quiet()
	})

	It("deletes nothing on a truncated list or an old epoch, but sweeps for a newer hub", func() {
		s := w.create(w.slice("web", udText, numbersBySubset{"a": 3, "b": 2}, nil))
		keep := w.create(w.slice("keep", `{apiVersion: v1, kind: ConfigMap, metadata: {name: keep, namespace: shop}}`, nil, nil))
		w.applied(s, "Applied")
		w.applied(keep, "Applied")
		w.stop()
		since := time.Now()
		By("losing a slice while the agent is away")
		w.change(s, func() { s.Finalizers = nil })
		Expect(hubAdmin.Delete(w.ctx, s)).To(Succeed())
		w.stop = start()
		deletes := func() (out []testkit.Write) {
			for _, write := range memberServer.Writes(GinkgoTB(), memberAgent, since) {
				if write.Verb == "delete" {
					out = append(out, write)
				}
			}
			return out
		}
		Consistently(deletes, 5*time.Second, 500*time.Millisecond).Should(BeEmpty())
		Expect(w.shape()).To(Equal("5 a:3/-1/1 b:2/-1/1 web:v1"))

		By("a hub that says it is a new one, and has stood")
		others := &fleetv1alpha1.FleetSliceList{}
		Expect(hubAdmin.List(w.ctx, others, client.InNamespace(clusterName))).To(Succeed())
		for i := range others.Items {
			w.change(&others.Items[i], func() { others.Items[i].Spec.Epoch = 5 })
		}
		Eventually(w.shape).Should(Equal("absent"))

		By("an older hub again: the word of a deletion does not count")
		w.change(keep, func() { keep.Spec.Epoch = 4 })
		w.applied(keep, "Applied")
		Expect(hubAdmin.Delete(w.ctx, keep)).To(Succeed())
		Eventually(func() string {
			c := conditions.Find(w.status(keep).Conditions, fleetv1alpha1.SliceConditionApplied)
			return c.Reason + " " + c.Message
		}).Should(And(HavePrefix("Retrying"), ContainSubstring("epoch 5")))
		Expect(memberAdmin.Get(w.ctx, client.ObjectKey{Namespace: w.ns, Name: "keep"}, &corev1.ConfigMap{})).To(Succeed())
		w.change(keep, func() { keep.Spec.Epoch = 5 })
		Eventually(func() error { return hubAdmin.Get(w.ctx, client.ObjectKeyFromObject(keep), keep) }).Should(MatchError(ContainSubstring("not found")))
		Expect(hubAdmin.List(w.ctx, others, client.InNamespace(clusterName))).To(Succeed())
		for i := range others.Items { // the other specs are of epoch 1
			w.change(&others.Items[i], func() { others.Items[i].Spec.Epoch = 5 })
		}
	})
})

var _ = Describe("Without the hub", Serial, func() {
	It("everything goes on, nothing is deleted, and the agent joins again by itself", func() {
		w := newWorld()
		w.stop = start()
		defer func() { w.stop() }()
		s := w.create(w.slice("web", udText, numbersBySubset{"a": 3, "b": 2}, nil))
		w.applied(s, "Applied")
		since := time.Now()
		hubServer.StopAPI(GinkgoTB())

		By("undoing drift meanwhile")
		ud := w.ud()
		ud.Spec.Replicas = ptr.To[int32](50)
		Expect(memberAdmin.Update(w.ctx, ud)).To(Succeed())
		Eventually(w.shape).Should(Equal("5 a:3/-1/1 b:2/-1/1 web:v1"))

		By("being restarted meanwhile")
		w.stop()
		w.stop = start()
		Consistently(w.shape, 5*time.Second, 250*time.Millisecond).Should(Equal("5 a:3/-1/1 b:2/-1/1 web:v1"))
		for _, write := range memberServer.Writes(GinkgoTB(), memberAgent, since) {
			Expect(write.Verb).NotTo(Equal("delete"))
		}

		hubServer.StartAPI(GinkgoTB())
		w.change(s, func() { w.numbers(s, udText, numbersBySubset{"a": 1, "b": 1}, nil) })
		w.applied(s, "Applied")
		Expect(w.shape()).To(Equal("2 a:1/-1/1 b:1/-1/1 web:v1"))

		By("an outage without a restart")
		hubServer.StopAPI(GinkgoTB())
		time.Sleep(4 * time.Second) // the outage itself
		hubServer.StartAPI(GinkgoTB())
		w.change(s, func() { w.numbers(s, udText, numbersBySubset{"a": 2, "b": 1}, nil) })
		w.applied(s, "Applied")
		Expect(w.shape()).To(Equal("3 a:2/-1/1 b:1/-1/1 web:v1"))
		w.quiet()
	})

	It("begins without a kubeconfig and follows its changes", func() {
		w := newWorld()
		file := filepath.Join(GinkgoT().TempDir(), "kubeconfig")
		w.stop = start(func(o *Options) { o.HubConfig, o.HubKubeconfig, o.UserAgent = nil, file, hubAgent })
		defer func() { w.stop() }()
		s := w.create(w.slice("web", `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop}, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}`, numbersBySubset{"": 3}, nil))
		writeKubeconfig(file, "https://127.0.0.1:1")
		Consistently(func() any { return w.status(s).Conditions }, 2*time.Second).Should(BeEmpty())
		writeKubeconfig(file, hubAccess.Host)
		w.applied(s, "Applied")
		var d appsv1.Deployment
		Expect(memberAdmin.Get(w.ctx, client.ObjectKey{Namespace: w.ns, Name: "web"}, &d)).To(Succeed())
		Expect(*d.Spec.Replicas).To(BeEquivalentTo(3))
		Eventually(func() any { return w.status(s).Subsets }).Should(ConsistOf(fleetv1alpha1.SubsetCounters{UnavailableReplicas: 3}))
	})
})
