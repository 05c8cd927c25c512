//go:build integration

// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"context"
	"fmt"
	"math/rand"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// kills is how often the spoke is killed in the middle of its work.
const kills = 50

// victims are three sets that the spoke works on while it is killed: one updated in place after a grace
// period, one recreated with surge, one that uses its claims again.
type victims struct {
	ctx    context.Context
	ns     string
	killer *killer
	watch  *podWatch
	// place, fresh and again are the sets; all have claims.
	place, fresh, again *appsv1beta1.CloneSet
	version             int
}

var _ = Describe("a spoke that is killed", func() {
	It("goes on where it was, fifty times: nothing twice, nothing lost, nobody too many and too few", func() {
		program, err := gexec.Build("github.com/flotilla-sh/flotilla/spoke", "-buildvcs=false")
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(gexec.CleanupBuildArtifacts)
		ctx := context.Background()
		home := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "flotilla-system"}}
		Expect(client.IgnoreAlreadyExists(admin.Create(ctx, home))).To(Succeed())
		server.StartControllers(GinkgoTB(), "garbage-collector-controller", "persistentvolumeclaim-protection-controller")

		seed := GinkgoRandomSeed()
		GinkgoWriter.Printf("seed %d\n", seed)
		v := &victims{ctx: ctx, ns: newNamespace(ctx), version: 1}
		v.watch = startPodWatch(ctx, v.ns)
		v.create()
		started := time.Now()
		v.killer = startKiller(program, rand.New(rand.NewSource(seed)), kills)
		v.converge("creation")
		rounds := 1
		for ; v.killer.rest() > 0; rounds++ {
			v.round(rounds)
		}
		killed, _ := v.killer.story()
		AddReportEntry("figures", fmt.Sprintf("%d kills, %d rounds, %d pods created, %s", killed, rounds, v.watch.created, time.Since(started)))

		v.killer.takeWrites()
		v.killer.again() // at rest: what it knew is lost, and there is nothing to do
		Consistently(v.killer.takeWrites, 3*time.Second).Should(BeEmpty(), "writes at rest")
		v.check("rest")
		v.edit(v.place, func(s *appsv1beta1.CloneSetSpec) { *s.Replicas++ })
		v.converge("a change after the rest") // it was there all the time
		_, faults := v.killer.story()
		Expect(faults).To(BeEmpty())
	})
})

func (v *victims) create() {
	GinkgoHelper()
	set := func(name string, policy appsv1beta1.PodUpdateStrategyType) *appsv1beta1.CloneSet {
		set := withClaims(newSet(v.ns, 5, policy))
		set.Name = name
		set.Spec.Selector.MatchLabels = map[string]string{"app": name}
		set.Spec.Template.Labels = set.Spec.Selector.MatchLabels
		set.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable = ptr.To(intstr.FromInt32(2))
		return set
	}
	v.place = set("place", appsv1beta1.InPlaceIfPossiblePodUpdateStrategyType)
	v.place.Spec.UpdateStrategy.RollingUpdate.InPlaceUpdateStrategy = &appsv1beta1.InPlaceUpdateStrategy{GracePeriodSeconds: 1}
	v.fresh = set("fresh", appsv1beta1.RecreatePodUpdateStrategyType)
	v.fresh.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable = ptr.To(intstr.FromInt32(0))
	v.fresh.Spec.UpdateStrategy.RollingUpdate.MaxSurge = ptr.To(intstr.FromInt32(2))
	v.again = set("again", appsv1beta1.InPlaceIfPossiblePodUpdateStrategyType)
	v.again.Spec.ScaleStrategy.EnablePVCReuse = true
	v.watch.reuses["again"] = true
	for _, set := range v.sets() {
		v.watch.expect(set.Name, promiseOf(set))
		Expect(admin.Create(v.ctx, set)).To(Succeed())
	}
}

func (v *victims) sets() []*appsv1beta1.CloneSet {
	return []*appsv1beta1.CloneSet{v.place, v.fresh, v.again}
}

func promiseOf(set *appsv1beta1.CloneSet) promise {
	rolling, replicas := set.Spec.UpdateStrategy.RollingUpdate, int(*set.Spec.Replicas)
	out := promise{least: replicas - rolling.MaxUnavailable.IntValue(), most: replicas}
	if rolling.MaxSurge != nil {
		out.most += rolling.MaxSurge.IntValue()
	}
	return out
}

// edit changes a set as a user would.
func (v *victims) edit(set *appsv1beta1.CloneSet, change func(*appsv1beta1.CloneSetSpec)) {
	GinkgoHelper()
	edit(v.ctx, set, func(s *appsv1beta1.CloneSet) {
		change(&s.Spec)
		v.watch.expect(s.Name, promiseOf(s))
	})
}

func (v *victims) editAll(change func(*appsv1beta1.CloneSetSpec)) {
	GinkgoHelper()
	for _, set := range v.sets() {
		v.edit(set, change)
	}
}

func partition(n int32) func(*appsv1beta1.CloneSetSpec) {
	return func(s *appsv1beta1.CloneSetSpec) {
		s.UpdateStrategy.RollingUpdate.Partition = ptr.To(intstr.FromInt32(n))
	}
}

func replicas(n int32) func(*appsv1beta1.CloneSetSpec) {
	return func(s *appsv1beta1.CloneSetSpec) { s.Replicas = ptr.To(n) }
}

// image is a new one each time.
func (v *victims) image() func(*appsv1beta1.CloneSetSpec) {
	v.version++
	return imageOf(v.version)
}

func imageOf(version int) func(*appsv1beta1.CloneSetSpec) {
	return func(s *appsv1beta1.CloneSetSpec) { s.Template.Spec.Containers[0].Image = fmt.Sprint("web:", version) }
}

// round asks for one thing after the other, over and over.
func (v *victims) round(n int) {
	GinkgoHelper()
	switch n % 6 {
	case 1:
		v.keepingPods(func() {
			v.keepingClaims(func() {
				v.edit(v.place, partition(3))
				v.edit(v.fresh, partition(3))
				next := v.image()
				v.edit(v.place, next)
				v.edit(v.fresh, next)
				v.converge("canary, and lost pods")
			})
		})
	case 2:
		v.keepingPods(func() {
			v.edit(v.again, v.image())
			for _, left := range []int32{2, 0} {
				v.edit(v.place, partition(left))
				v.edit(v.fresh, partition(left))
			}
			v.converge("partition moved on")
		})
	case 3:
		v.editAll(replicas(3))
		v.converge("scaled in")
	case 4:
		v.editAll(replicas(6))
		v.editAll(v.image())
		v.converge("scaled and updated at once")
	case 5:
		v.keepingPods(func() {
			old := v.version
			v.editAll(v.image())
			v.editAll(imageOf(old))
			v.converge("rolled back")
		})
	default:
		v.editAll(replicas(5))
		v.version++
		v.editAll(func(s *appsv1beta1.CloneSetSpec) {
			s.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "VERSION", Value: fmt.Sprint(v.version)}}
		})
		v.converge("recreated")
	}
}

// keepingPods: what can be done in place is.
func (v *victims) keepingPods(do func()) {
	GinkgoHelper()
	before := uids(v.podsOf(v.place))
	do()
	Expect(uids(v.podsOf(v.place))).To(ConsistOf(before))
}

// keepingClaims takes pods away from the set that uses its claims again, which must then have the same ones.
func (v *victims) keepingClaims(do func()) {
	GinkgoHelper()
	before := v.claimsOf(v.again)
	list := v.podsOf(v.again)
	v.watch.takeAway(v.ctx, &list[0], false)
	v.watch.takeAway(v.ctx, &list[1], true)
	do()
	Expect(v.claimsOf(v.again)).To(Equal(before))
	after := v.podsOf(v.again)
	Expect(uids(after)).NotTo(ContainElements(list[0].UID, list[1].UID))
	Expect(names(after)).To(ConsistOf(names(list)))
}

// converge waits until every set has done what it was asked for.
func (v *victims) converge(what string) {
	GinkgoHelper()
	begin, kills := time.Now(), v.killer.rest()
	for _, set := range v.sets() {
		want := *set.Spec.Replicas
		updated := want
		if p := set.Spec.UpdateStrategy.RollingUpdate.Partition; p != nil {
			updated -= p.IntVal
		}
		Eventually(func(g Gomega) {
			if broken := v.watch.broken(); len(broken) > 0 {
				StopTrying(strings.Join(broken, "; ")).Now()
			}
			g.Expect(status(v.ctx, set)()).To(haveCounts(want, updated, updated))
			g.Expect(v.podsOf(set)).To(HaveLen(int(want)))
			g.Expect(v.onItsWay(set)).To(BeEmpty())
		}, time.Minute).Should(Succeed(), "%s of %s", what, set.Name)
	}
	for _, set := range v.sets() {
		v.watch.settled(set.Name)
		Expect(client.IgnoreNotFound(admin.Get(v.ctx, client.ObjectKeyFromObject(set), set))).To(Succeed())
	}
	GinkgoWriter.Printf("%s after %s, %d kills\n", what, time.Since(begin).Round(time.Millisecond), kills-v.killer.rest())
	v.check(what)
}

// onItsWay names pods that are being deleted, and claims without a pod: those that are used again are by now.
func (v *victims) onItsWay(set *appsv1beta1.CloneSet) []string {
	GinkgoHelper()
	var out []string
	alive := map[string]bool{}
	for _, pod := range v.podsOf(set) {
		alive[pod.Labels[appsv1beta1.CloneSetInstanceID]] = true
		if pod.DeletionTimestamp != nil {
			out = append(out, "pod "+pod.Name)
		}
	}
	for name, id := range v.instancesOf(set) {
		if !alive[id] {
			out = append(out, "claim "+name)
		}
	}
	return out
}

// check fails when a promise was broken.
func (v *victims) check(when string) {
	GinkgoHelper()
	Expect(v.watch.broken()).To(BeEmpty(), "%s; kills: %v", when, v.killer.done)
}

func (v *victims) podsOf(set *appsv1beta1.CloneSet) []corev1.Pod {
	GinkgoHelper()
	var list corev1.PodList
	Expect(admin.List(v.ctx, &list, client.InNamespace(v.ns), client.MatchingLabels(set.Spec.Selector.MatchLabels))).To(Succeed())
	return list.Items
}

// claimsOf are the claims of living pods by name.
func (v *victims) claimsOf(set *appsv1beta1.CloneSet) map[string]types.UID {
	GinkgoHelper()
	out := map[string]types.UID{}
	for _, pod := range v.podsOf(set) {
		name := claimName("data", set.Name, pod.Labels[appsv1beta1.CloneSetInstanceID])
		var claim corev1.PersistentVolumeClaim
		err := admin.Get(v.ctx, types.NamespacedName{Namespace: v.ns, Name: name}, &claim)
		Expect(apierrors.IsNotFound(err)).To(BeFalse(), "pod %s has lost its claim", pod.Name)
		Expect(err).NotTo(HaveOccurred())
		out[name] = claim.UID
	}
	return out
}

// instancesOf are the instances of a set's claims, by the claims' names.
func (v *victims) instancesOf(set *appsv1beta1.CloneSet) map[string]string {
	GinkgoHelper()
	var list corev1.PersistentVolumeClaimList
	Expect(admin.List(v.ctx, &list, client.InNamespace(v.ns), client.MatchingLabels(set.Spec.Selector.MatchLabels))).To(Succeed())
	out := map[string]string{}
	for i := range list.Items {
		out[list.Items[i].Name] = list.Items[i].Labels[appsv1beta1.CloneSetInstanceID]
	}
	return out
}

func names(pods []corev1.Pod) []string {
	var out []string
	for i := range pods {
		out = append(out, pods[i].Name)
	}
	return out
}
