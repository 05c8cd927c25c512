// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package uniteddeployment

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/conditions"
)

// rest is how long the system is watched for writes it should not make.
const rest60 = 3 * time.Second

var _ = Describe("UnitedDeployment", func() {
	var (
		ctx  = context.Background()
		ns   string
		stop func()
	)

	BeforeEach(func() {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "ud-"}}
		Expect(admin.Create(ctx, namespace)).To(Succeed())
		ns = namespace.Name
		stop = start(server.ConfigFor(agent))
	})
	AfterEach(func() { stop() })

	fresh := func(ud *appsv1beta1.UnitedDeployment) *appsv1beta1.UnitedDeployment {
		ud = ud.DeepCopy()
		ud.Namespace, ud.UID, ud.Generation = ns, "", 0
		Expect(admin.Create(ctx, ud)).To(Succeed())
		return ud
	}
	change := func(ud *appsv1beta1.UnitedDeployment, mutate func()) {
		GinkgoHelper()
		Eventually(func() error {
			if err := admin.Get(ctx, client.ObjectKeyFromObject(ud), ud); err != nil {
				return err
			}
			mutate()
			return admin.Update(ctx, ud)
		}).Should(Succeed())
	}
	cloneSets := func() map[string]appsv1beta1.CloneSet {
		var list appsv1beta1.CloneSetList
		Expect(admin.List(ctx, &list, client.InNamespace(ns))).To(Succeed())
		out := map[string]appsv1beta1.CloneSet{}
		for _, item := range list.Items {
			name := item.Labels[appsv1beta1.SubsetNameLabel]
			if _, twice := out[name]; twice {
				name += "/duplicate/" + item.Name
			}
			out[name] = item
		}
		return out
	}
	shape := func() map[string]string {
		out := map[string]string{}
		for name, set := range cloneSets() {
			n := cloneSetAdapter{}.read(&set)
			out[name] = fmt.Sprintf("%d/%d %s", n.replicas, n.partition, set.Spec.Template.Spec.Containers[0].Image)
		}
		return out
	}
	deployments := func() []appsv1.Deployment {
		var list appsv1.DeploymentList
		Expect(admin.List(ctx, &list, client.InNamespace(ns))).To(Succeed())
		return list.Items
	}
	status := func(ud *appsv1beta1.UnitedDeployment) func() appsv1beta1.UnitedDeploymentStatus {
		return func() appsv1beta1.UnitedDeploymentStatus {
			var got appsv1beta1.UnitedDeployment
			Expect(admin.Get(ctx, client.ObjectKeyFromObject(ud), &got)).To(Succeed())
			return got.Status
		}
	}
	observed := func(ud *appsv1beta1.UnitedDeployment) {
		GinkgoHelper()
		Eventually(func() bool {
			Expect(admin.Get(ctx, client.ObjectKeyFromObject(ud), ud)).To(Succeed())
			return ud.Status.ObservedGeneration == ud.Generation
		}).Should(BeTrue())
	}
	quiet := func() {
		GinkgoHelper()
		var since time.Time
		Eventually(func() int { // wait for the last write to settle
			since = time.Now()
			time.Sleep(500 * time.Millisecond)
			return len(server.Writes(GinkgoTB(), agent, since))
		}).Should(BeZero())
		since = time.Now()
		Consistently(func() any { return server.Writes(GinkgoTB(), agent, since) }, rest60, 500*time.Millisecond).Should(BeEmpty())
	}

	It("makes nothing of a namespace that is being deleted", func() {
		ud := fresh(cloneSetUD(2, subset("a", 1), subset("b", 1)))
		Eventually(shape).Should(HaveLen(2))
		observed(ud)
		// Nothing here takes the finalizer off, so it stays as a namespace is while it is emptied.
		Expect(admin.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}})).To(Succeed())
		since := time.Now()
		gone := cloneSets()["a"]
		Expect(admin.Delete(ctx, &gone)).To(Succeed())
		refused := func() (n int) {
			for _, w := range server.Writes(GinkgoTB(), agent, since) {
				if w.Verb == "create" && w.Namespace == ns {
					n++
				}
			}
			return n
		}
		Eventually(refused).Should(Equal(1))
		change(ud, func() { ud.Spec.Template.CloneSetTemplate.Spec.Template.Spec.Containers[0].Image = "web:v2" })
		Eventually(refused).Should(BeNumerically(">", 1))
		quiet()
		c := conditions.FindCompat(status(ud)().Conditions, appsv1beta1.SubsetProvisioned)
		Expect(c).To(HaveField("Status", corev1.ConditionTrue))
		Expect(admin.Delete(ctx, ud)).To(Succeed()) // a controller that starts would try once more
	})

	It("asks for kinds that are not installed no more than once", func() {
		stop()
		var asked atomic.Int32
		cfg := server.ConfigFor(agent)
		cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				if path := r.URL.Path; path == "/apis" || path == "/api" || strings.Count(path, "/") == 3 && strings.HasPrefix(path, "/apis/") {
					asked.Add(1)
				}
				return next.RoundTrip(r)
			})
		})
		stop = start(cfg)
		ud := fresh(cloneSetUD(1, subset("a", -1)))
		Eventually(shape).Should(HaveLen(1))
		observed(ud)
		before := asked.Load()
		Expect(before).To(BeNumerically(">", 0))
		for n := range int32(3) {
			change(ud, func() { ud.Spec.Replicas = ptr.To(n) })
			observed(ud)
		}
		Expect(asked.Load()).To(Equal(before))
	})

	DescribeTable("moves the domain of a subset, and then rests", func(ud *appsv1beta1.UnitedDeployment, pod *corev1.PodTemplateSpec, live func(client.Object) *corev1.PodSpec, list func() client.ObjectList) {
		pod.Spec.Tolerations = []corev1.Toleration{{Key: "own", Effect: corev1.TaintEffectNoSchedule}}
		pod.Spec.Affinity = &corev1.Affinity{
			NodeAffinity: &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{
				Weight: 3, Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "fast", Operator: corev1.NodeSelectorOpExists}}},
			}}},
			PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
				TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			}}},
		}
		ud = fresh(ud)
		spec := func(g Gomega) *corev1.PodSpec {
			objects := list()
			g.Expect(admin.List(ctx, objects, client.InNamespace(ns))).To(Succeed())
			items, err := meta.ExtractList(objects)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(items).To(HaveLen(1))
			return live(items[0].(client.Object))
		}
		Eventually(func(g Gomega) { spec(g) }).Should(Succeed())
		quiet()
		change(ud, func() {
			a := &ud.Spec.Topology.Subsets[0]
			a.NodeSelectorTerm.MatchExpressions[0].Values = []string{"zone-a", "zone-c"}
			a.Tolerations = []corev1.Toleration{{Key: "virtual", Operator: corev1.TolerationOpExists}}
		})
		Eventually(func(g Gomega) {
			got := spec(g)
			required := got.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
			g.Expect(required.NodeSelectorTerms[0].MatchExpressions[0].Values).To(Equal([]string{"zone-a", "zone-c"}))
			g.Expect(got.Tolerations).To(HaveLen(2))
		}).Should(Succeed())
		quiet()
	},
		func() TableEntry {
			ud := cloneSetUD(1, subset("a", 1))
			return Entry("of a CloneSet", ud, &ud.Spec.Template.CloneSetTemplate.Spec.Template,
				func(o client.Object) *corev1.PodSpec { return &(cloneSetAdapter{}).template(o).Spec },
				func() client.ObjectList { return &appsv1beta1.CloneSetList{} })
		}(),
		func() TableEntry {
			ud := deploymentUD(1, subset("a", 1))
			return Entry("of a Deployment", ud, &ud.Spec.Template.DeploymentTemplate.Spec.Template,
				func(o client.Object) *corev1.PodSpec { return &(deploymentAdapter{}).template(o).Spec },
				func() client.ObjectList { return &appsv1.DeploymentList{} })
		}(),
	)

	It("makes, sizes, updates and removes CloneSets, and then rests", func() {
		ud := fresh(cloneSetUD(5, subset("a", 2), subset("b", -1)))
		Eventually(shape).Should(Equal(map[string]string{"a": "2/0 web:v1", "b": "3/0 web:v1"}))
		observed(ud)
		made := cloneSets()
		Expect(made["a"].Name).To(HavePrefix("web-a-"))
		Expect(ud.Status.UpdatedRevision).To(HavePrefix("web-"))
		quiet()

		By("scaling and setting partitions")
		change(ud, func() {
			ud.Spec.Replicas = ptr.To[int32](6)
			ud.Spec.UpdateStrategy.ManualUpdate = &appsv1beta1.ManualUpdate{Partitions: map[string]int32{"a": 1, "b": 4}}
		})
		Eventually(shape).Should(Equal(map[string]string{"a": "2/1 web:v1", "b": "4/4 web:v1"}))

		By("changing the template: every field reaches the subsets")
		change(ud, func() {
			t := ud.Spec.Template.CloneSetTemplate
			t.Spec.Template.Spec.Containers[0].Image = "web:v2"
			t.Spec.MinReadySeconds = 5
			t.Spec.ScaleStrategy.MaxUnavailable = ptr.To(intOrString(2))
			t.Labels["team"] = "b"
		})
		Eventually(shape).Should(Equal(map[string]string{"a": "2/1 web:v2", "b": "4/4 web:v2"}))
		b := cloneSets()["b"]
		Expect(b.Spec.MinReadySeconds).To(BeEquivalentTo(5))
		Expect(b.Spec.ScaleStrategy.MaxUnavailable.IntValue()).To(Equal(2))
		Expect(b.Labels).To(HaveKeyWithValue("team", "b"))

		By("taking fields out of the template: they leave the subsets, others' fields stay")
		hand := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"scaleStrategy":{"podsToDelete":["p"]}}}`))
		Expect(admin.Patch(ctx, &b, hand)).To(Succeed())
		change(ud, func() {
			t := ud.Spec.Template.CloneSetTemplate
			t.Spec.MinReadySeconds = 0
			t.Spec.ScaleStrategy.MaxUnavailable = nil
			delete(t.Labels, "team")
		})
		Eventually(func() any { return cloneSets()["b"].Spec.MinReadySeconds }).Should(BeZero())
		Expect(cloneSets()["b"].Spec.ScaleStrategy.MaxUnavailable).To(BeNil())
		Expect(cloneSets()["b"].Spec.ScaleStrategy.PodsToDelete).To(ConsistOf("p"))
		Expect(cloneSets()["b"].Labels).NotTo(HaveKey("team"))

		By("removing one subset and adding another")
		change(ud, func() {
			ud.Spec.Topology.Subsets = []appsv1beta1.Subset{subset("b", -1), subset("c", 1)}
			ud.Spec.UpdateStrategy.ManualUpdate = nil
		})
		Eventually(shape).Should(Equal(map[string]string{"b": "5/0 web:v2", "c": "1/0 web:v2"}))
		Expect(cloneSets()["b"].UID).To(Equal(made["b"].UID))
		observed(ud)
		quiet()
	})

	It("lets fields go which the creation wrote", func() {
		ud := cloneSetUD(1, subset("a", 1))
		ud.Spec.Template.CloneSetTemplate.Spec.MinReadySeconds = 9
		ud = fresh(ud)
		Eventually(shape).Should(HaveLen(1))
		change(ud, func() { ud.Spec.Template.CloneSetTemplate.Spec.MinReadySeconds = 0 })
		Eventually(func() any { return cloneSets()["a"].Spec.MinReadySeconds }).Should(BeZero())
	})

	It("counts pods and promotes the revision", func() {
		ud := fresh(cloneSetUD(2, subset("a", 2)))
		Eventually(shape).Should(HaveLen(1))
		observed(ud)
		set := cloneSets()["a"]
		set.Status.Replicas, set.Status.ReadyReplicas = 2, 2
		Expect(admin.Status().Update(ctx, &set)).To(Succeed())
		first := ud.Status.UpdatedRevision
		pods := []*corev1.Pod{readyPod(ctx, &set, first), readyPod(ctx, &set, first)}
		Eventually(status(ud)).Should(And(
			HaveField("Replicas", BeEquivalentTo(2)), HaveField("ReadyReplicas", BeEquivalentTo(2)),
			HaveField("UpdatedReadyReplicas", BeEquivalentTo(2)), HaveField("CurrentRevision", first)))

		change(ud, func() { ud.Spec.Template.CloneSetTemplate.Spec.Template.Spec.Containers[0].Image = "web:v2" })
		Eventually(status(ud)).Should(And(HaveField("UpdatedRevision", Not(Equal(first))), HaveField("UpdatedReplicas", BeZero())))
		second := status(ud)().UpdatedRevision
		Expect(status(ud)().CurrentRevision).To(Equal(first), "while pods are old")
		quiet()
		for i, pod := range pods {
			relabel := fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, appsv1beta1.SubsetRevisionLabel, second)
			Expect(admin.Patch(ctx, pod, client.RawPatch(types.MergePatchType, []byte(relabel)))).To(Succeed())
			Eventually(status(ud)).Should(HaveField("UpdatedReadyReplicas", BeEquivalentTo(i+1)))
		}
		Eventually(status(ud)).Should(HaveField("CurrentRevision", second))
		Expect(conditions.FindCompat(status(ud)().Conditions, appsv1beta1.UnitedDeploymentUpdated)).To(HaveField("Status", corev1.ConditionTrue))
	})

	It("trims the history", func() {
		ud := cloneSetUD(0, subset("a", 0))
		ud.Spec.RevisionHistoryLimit = ptr.To[int32](1)
		ud = fresh(ud)
		for i := range 4 {
			observed(ud)
			change(ud, func() {
				ud.Spec.Template.CloneSetTemplate.Spec.Template.Spec.Containers[0].Image = fmt.Sprintf("web:n%d", i)
			})
		}
		Eventually(func() int {
			var list appsv1.ControllerRevisionList
			Expect(admin.List(ctx, &list, client.InNamespace(ns))).To(Succeed())
			return len(list.Items)
		}).Should(Equal(2))
	})

	It("rests with Deployments that have a partition and never become ready", func() {
		ud := deploymentUD(4, subset("a", 2), subset("b", 2))
		ud.Spec.UpdateStrategy.ManualUpdate = &appsv1beta1.ManualUpdate{Partitions: map[string]int32{"a": 1, "b": 2}}
		ud = fresh(ud)
		Eventually(deployments).Should(HaveLen(2))
		d := deployments()[0]
		d.Status.Replicas, d.Status.UnavailableReplicas = 2, 2
		Expect(admin.Status().Update(ctx, &d)).To(Succeed())
		quiet()
		change(ud, func() { ud.Spec.Template.DeploymentTemplate.Spec.MinReadySeconds = 3 })
		Eventually(deployments).Should(HaveEach(HaveField("Spec.MinReadySeconds", BeEquivalentTo(3))))
		quiet()
	})

	It("shows a refused creation and goes on when it is mended", func() {
		ud := deploymentUD(2, subset("a", 1), subset("b", 1))
		ud.Spec.Template.DeploymentTemplate.Spec.Template.Spec.Containers[0].Image = ""
		ud = fresh(ud)
		Eventually(status(ud)).Should(HaveField("Conditions", ContainElement(And(
			HaveField("Type", appsv1beta1.SubsetProvisioned), HaveField("Status", corev1.ConditionFalse),
			HaveField("Reason", "Error"), HaveField("Message", ContainSubstring("image"))))))
		Expect(status(ud)().ObservedGeneration).To(BeZero())
		change(ud, func() { ud.Spec.Template.DeploymentTemplate.Spec.Template.Spec.Containers[0].Image = "web:v1" })
		Eventually(status(ud)).Should(HaveField("Conditions", ContainElement(And(
			HaveField("Type", appsv1beta1.SubsetProvisioned), HaveField("Status", corev1.ConditionTrue)))))
		Expect(deployments()).To(HaveLen(2))
	})

	It("lets go of nothing for a selector that does not match the template", func() {
		ud := fresh(cloneSetUD(2, subset("a", 2)))
		Eventually(shape).Should(HaveLen(1))
		before := cloneSets()["a"]
		selector := ud.Spec.Selector
		change(ud, func() { ud.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "other"}} })
		Eventually(status(ud)).Should(HaveField("Conditions", ContainElement(And(
			HaveField("Type", appsv1beta1.SubsetProvisioned), HaveField("Status", corev1.ConditionFalse),
			HaveField("Message", ContainSubstring("spec.selector does not match"))))))
		Expect(cloneSets()["a"].OwnerReferences).To(ConsistOf(HaveField("UID", ud.UID)))
		change(ud, func() { ud.Spec.Selector = selector })
		Eventually(status(ud)).Should(HaveField("Conditions", ContainElement(And(
			HaveField("Type", appsv1beta1.SubsetProvisioned), HaveField("Status", corev1.ConditionTrue)))))
		Expect(cloneSets()["a"].UID).To(Equal(before.UID))
	})

	It("switches the template's kind", func() {
		ud := fresh(cloneSetUD(2, subset("a", 2)))
		Eventually(shape).Should(HaveLen(1))
		change(ud, func() { ud.Spec.Template = deploymentUD(1).Spec.Template })
		Eventually(deployments).Should(HaveLen(1))
		Eventually(shape).Should(BeEmpty())
	})

	It("keeps the better of two workloads of one subset and takes an orphan over", func() {
		stop()
		ud := fresh(cloneSetUD(1, subset("a", 1)))
		good := twin(ud, "good", true)
		Expect(admin.Create(ctx, good)).To(Succeed())
		good.Status.Replicas, good.Status.ReadyReplicas = 1, 1
		Expect(admin.Status().Update(ctx, good)).To(Succeed())
		Expect(admin.Create(ctx, twin(ud, "orphan", false))).To(Succeed())
		Expect(admin.Create(ctx, twin(ud, "other", true))).To(Succeed())
		stop = start(server.ConfigFor(agent))
		Eventually(func() []string {
			var names []string
			for _, set := range cloneSets() {
				names = append(names, set.Name)
			}
			return names
		}).Should(ConsistOf("good"))
		Expect(cloneSets()["a"].UID).To(Equal(good.UID))
	})

	It("is killed at any moment and still makes one workload for each subset", func() {
		ud := fresh(cloneSetUD(6, subset("a", -1), subset("b", -1), subset("c", -1)))
		for i := range 8 {
			time.Sleep(time.Duration(rand.IntN(120)) * time.Millisecond)
			stop()
			change(ud, func() {
				ud.Spec.Replicas = ptr.To(int32(6 + 3*i))
				ud.Spec.Template.CloneSetTemplate.Spec.Template.Spec.Containers[0].Image = fmt.Sprintf("web:k%d", i)
			})
			stop = start(server.ConfigFor(agent))
		}
		Eventually(shape).Should(Equal(map[string]string{"a": "9/0 web:k7", "b": "9/0 web:k7", "c": "9/0 web:k7"}))
		observed(ud)
		for name, set := range cloneSets() {
			Expect(set.Name).To(Equal(workloadName("web-"+name+"-", ud.UID, name, "CloneSet", 0)), "made once")
		}
		quiet()
		stop()
		since := time.Now()
		stop = start(server.ConfigFor(agent))
		Consistently(func() any { return server.Writes(GinkgoTB(), agent, since) }, rest60, 500*time.Millisecond).
			Should(BeEmpty(), "a restart writes nothing")
	})
})
