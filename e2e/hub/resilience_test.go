// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package hub

import (
	"context"
	"fmt"
	"math/rand/v2"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/e2e/harness"
)

// kills is how often each program is killed during a scale and an update.
const kills = 20

var _ = Describe("When a program dies", Label("resilience"), Serial, func() {
	DescribeTable("a scale and an update lose no pod", Label("slow"), func(ctx SpecContext, processes ...string) {
		ns := namespace(ctx)
		Expect(fleet.Hub.Create(ctx, web(ns, 12))).To(Succeed())
		Expect(fleet.Hub.Create(ctx, placement(ns))).To(Succeed())
		untilReady(ctx, ns, 12, imageV1)
		births, err := fleet.WatchBirths(ctx, ns, "web")
		Expect(err).NotTo(HaveOccurred())
		seed := uint64(GinkgoRandomSeed())
		random := rand.New(rand.NewPCG(seed, seed))
		image, replicas, wanted := imageV1, int32(12), 12
		for i := range kills {
			By(fmt.Sprintf("kill %d", i+1))
			if i%2 == 0 {
				image = map[string]string{imageV1: imageV2, imageV2: imageV1}[image]
				change(ctx, ns, setImage(image))
			} else {
				next := 12 + int32(random.IntN(6))
				wanted += int(max(0, next-replicas))
				replicas = next
				change(ctx, ns, setReplicas(replicas))
			}
			pause(ctx, time.Duration(random.IntN(1500))*time.Millisecond)
			Expect(fleet.Signal(processes[i%len(processes)], syscall.SIGKILL)).To(Succeed())
			Expect(fleet.Repair(ctx)).To(Succeed())
		}
		change(ctx, ns, setReplicas(12))
		change(ctx, ns, setImage(imageV2))
		untilReady(ctx, ns, 12, imageV2)
		Expect(births.Count()).To(BeNumerically("<=", wanted), "a pod is made only where the workload grew")
		untilSummed(ctx, ns, 12)
	},
		Entry("of the hub", SpecTimeout(15*time.Minute), "hub-flotilla-hub"),
		Entry("of the spokes", SpecTimeout(15*time.Minute), "member-1-flotilla-spoke", "member-2-flotilla-spoke"),
	)

	It("the hub's API server: members go on, status is fresh again", func(ctx SpecContext) {
		ns := namespace(ctx)
		Expect(fleet.Hub.Create(ctx, web(ns, 8))).To(Succeed())
		Expect(fleet.Hub.Create(ctx, placement(ns))).To(Succeed())
		before := untilReady(ctx, ns, 8, imageV1)
		untilSummed(ctx, ns, 8)

		Expect(fleet.Signal("hub-kube-apiserver", syscall.SIGKILL)).To(Succeed())
		By("healing in a member meanwhile")
		lost, err := fleet.Members[0].Pods(ctx, ns, "web")
		Expect(err).NotTo(HaveOccurred())
		Expect(fleet.Members[0].Delete(ctx, &lost[0])).To(Succeed())
		Eventually(ctx, func(g Gomega) {
			pods, err := podsOf(ctx, ns)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(harness.CountReady(pods, imageV1)).To(Equal(8))
			g.Expect(harness.ByUID(pods)).NotTo(HaveKey(lost[0].UID))
		}).Should(Succeed())
		Consistently(ctx, func(g Gomega) {
			pods, err := podsOf(ctx, ns)
			g.Expect(err).NotTo(HaveOccurred())
			missing := 0
			now := harness.ByUID(pods)
			for uid := range before {
				if _, ok := now[uid]; !ok {
					missing++
				}
			}
			g.Expect(missing).To(Equal(1))
		}, 60*time.Second, time.Second).Should(Succeed())

		// Whether it is stale in between is a race of the hub with the spokes, who renew as soon as they can.
		back := time.Now()
		Expect(fleet.Repair(ctx)).To(Succeed())
		for _, member := range fleet.Members {
			Eventually(ctx, func(g Gomega) {
				lease := &coordinationv1.Lease{}
				g.Expect(fleet.Hub.Get(ctx, client.ObjectKey{Namespace: member.Name, Name: "flotilla"}, lease)).To(Succeed())
				g.Expect(lease.Spec.RenewTime).To(HaveField("Time", BeTemporally(">", back)))
			}).Should(Succeed())
		}
		Eventually(ctx, conditionOf(ctx, ns, fleetv1alpha1.ConditionFleetStatusFresh)).Should(Equal("True/Fresh"))
		untilSummed(ctx, ns, 8)
	}, SpecTimeout(8*time.Minute))

	It("a member's spoke: its counters are kept and marked stale, then fresh", func(ctx SpecContext) {
		ns := namespace(ctx)
		Expect(fleet.Hub.Create(ctx, web(ns, 8))).To(Succeed())
		Expect(fleet.Hub.Create(ctx, placement(ns))).To(Succeed())
		untilReady(ctx, ns, 8, imageV1)
		untilSummed(ctx, ns, 8)
		Expect(fleet.Signal("member-2-flotilla-spoke", syscall.SIGKILL)).To(Succeed())
		Eventually(ctx, conditionOf(ctx, ns, fleetv1alpha1.ConditionFleetStatusFresh)).Should(Equal("False/Stale"))
		p := &fleetv1alpha1.FleetPlacement{}
		Expect(fleet.Hub.Get(ctx, keyOf(ns), p)).To(Succeed())
		Expect(p.Status.ReadyReplicas).To(Equal(int32(8)))
		Expect(fleet.Repair(ctx)).To(Succeed())
		Eventually(ctx, conditionOf(ctx, ns, fleetv1alpha1.ConditionFleetStatusFresh)).Should(Equal("True/Fresh"))
	}, SpecTimeout(8*time.Minute))
})

var _ = Describe("At rest", Label("rest"), Serial, func() {
	It("nobody writes for 60 s", func(ctx SpecContext) {
		ns := namespace(ctx)
		Expect(fleet.Hub.Create(ctx, web(ns, 8))).To(Succeed())
		Expect(fleet.Hub.Create(ctx, placement(ns))).To(Succeed())
		untilReady(ctx, ns, 8, imageV1)
		untilSummed(ctx, ns, 8)
		Eventually(ctx, conditionOf(ctx, ns, fleetv1alpha1.ConditionFleetProgressing)).Should(HavePrefix("False/"))
		expectRest(ctx, time.Minute)
	}, SpecTimeout(5*time.Minute))
})

// expectRest waits for the last write of our programs, and then sees none for a while.
func expectRest(ctx context.Context, while time.Duration) {
	GinkgoHelper()
	began := settled(ctx)
	Consistently(ctx, func() (int, error) {
		n := 0
		for _, c := range fleet.All() {
			writes, err := c.Writes("flotilla-", began)
			if err != nil {
				return 0, err
			}
			for _, w := range writes {
				GinkgoWriter.Printf("%s: %+v\n", c.Name, w)
			}
			n += len(writes)
		}
		return n, nil
	}, while, while/12).Should(BeZero())
}

// settled waits until the namespaces of earlier specs have gone and nothing was written for two seconds, and
// returns when that was.
func settled(ctx context.Context) time.Time {
	GinkgoHelper()
	Eventually(ctx, func() (going []string, err error) {
		for _, c := range fleet.All() {
			var list corev1.NamespaceList
			if err := c.List(ctx, &list); err != nil {
				return nil, err
			}
			for _, ns := range list.Items {
				if ns.DeletionTimestamp != nil {
					going = append(going, c.Name+"/"+ns.Name)
				}
			}
		}
		return going, nil
	}, patient).Should(BeEmpty())
	var since time.Time
	Eventually(ctx, func() (int, error) {
		since = time.Now().Add(-2 * time.Second)
		n := 0
		for _, c := range fleet.All() {
			writes, err := c.Writes("flotilla-", since)
			if err != nil {
				return 0, err
			}
			n += len(writes)
		}
		return n, nil
	}, soon).Should(BeZero())
	return since
}

// pause lets a random while pass: the moment of a kill is what this test varies.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
