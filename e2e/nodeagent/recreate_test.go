// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package nodeagent

import (
	"context"
	"fmt"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/e2e/harness"
	"github.com/flotilla-sh/flotilla/internal/pods"
)

type recreate = appsv1beta1.ContainerRecreateRequest

// third puts a third container into the template, and a folder that all share.
func third(set *appsv1beta1.CloneSet) {
	spec := &set.Spec.Template.Spec
	spec.Containers = append(spec.Containers, corev1.Container{Name: "third", Image: "sleeper:v1"})
	spec.Volumes = []corev1.Volume{{Name: "shared", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	for i := range spec.Containers {
		spec.Containers[i].VolumeMounts = []corev1.VolumeMount{{Name: "shared", MountPath: "/shared"}}
	}
}

func runs(command ...string) *corev1.LifecycleHandler {
	return &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: command}}
}

// hooked gives container web hooks, nil for none.
func hooked(postStart, preStop *corev1.LifecycleHandler) harness.Change {
	return inContainer("web", func(c *corev1.Container) { c.Lifecycle = &corev1.Lifecycle{PostStart: postStart, PreStop: preStop} })
}

func patient(seconds int64) harness.Change {
	return func(set *appsv1beta1.CloneSet) { set.Spec.Template.Spec.TerminationGracePeriodSeconds = &seconds }
}

// request asks for restarts in a pod.
func request(ctx context.Context, pod *corev1.Pod, strategy appsv1beta1.ContainerRecreateRequestStrategy, containers ...string) *recreate {
	GinkgoHelper()
	r := recreateOf(pod, strategy, containers...)
	Expect(member.Create(ctx, r)).To(Succeed())
	return r
}

func recreateOf(pod *corev1.Pod, strategy appsv1beta1.ContainerRecreateRequestStrategy, containers ...string) *recreate {
	r := &recreate{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, GenerateName: "restart-"}}
	r.Spec.PodName, r.Spec.Strategy = pod.Name, &strategy
	for _, name := range containers {
		r.Spec.Containers = append(r.Spec.Containers, appsv1beta1.ContainerRecreateRequestContainer{Name: name})
	}
	return r
}

// seen reads a request until it is as wanted.
func seen(ctx context.Context, r *recreate, phase appsv1beta1.ContainerRecreateRequestPhase) *recreate {
	GinkgoHelper()
	got := &recreate{}
	Eventually(ctx, func(g Gomega) {
		g.Expect(member.Get(ctx, client.ObjectKeyFromObject(r), got)).To(Succeed())
		g.Expect(got.Status.Phase).To(Equal(phase), "%+v", got.Status)
	}).WithTimeout(soon).Should(Succeed())
	return got
}

func phasesOf(r *recreate) map[string]string {
	out := map[string]string{}
	for _, s := range r.Status.ContainerRecreateStates {
		out[s.Name] = fmt.Sprintf("%s %v", s.Phase, s.IsKilled)
	}
	return out
}

// ended is when the last instance of a container but one ended.
func ended(pod *corev1.Pod, container string) time.Time {
	GinkgoHelper()
	last := status(pod, container).LastTerminationState.Terminated
	Expect(last).NotTo(BeNil(), container)
	return last.FinishedAt.Time
}

// together and inTurn are what there is between the ends of two containers, of which the first takes 5 s at least to start.
func together(d time.Duration) {
	GinkgoHelper()
	Expect(d.Abs()).To(BeNumerically("<", 3*time.Second))
}

func inTurn(d time.Duration) {
	GinkgoHelper()
	Expect(d).To(BeNumerically(">=", 5*time.Second))
}

const done, recreating = appsv1beta1.ContainerRecreateRequestCompleted, appsv1beta1.ContainerRecreateRequestRecreating

var _ = Describe("A ContainerRecreateRequest on real nodes", Label("containerrecreaterequest", "nodeagent"), func() {
	It("restarts one of three containers, its preStop hook first, and is cleaned up", func(ctx SpecContext) {
		set := shop(ctx, 1, third, patient(20), hooked(nil, runs("touch", "/shared/said-goodbye")))
		before := records(ctx, set)
		pod := podsOf(ctx, set)[0]
		r := recreateOf(&pod, appsv1beta1.ContainerRecreateRequestStrategy{MinStartedSeconds: 4}, "web")
		r.Spec.TTLSecondsAfterFinished = ptr.To(int32(5))
		Expect(member.Create(ctx, r)).To(Succeed())
		Expect(r.Labels).To(SatisfyAll(HaveKeyWithValue("crr.apps.kruise.io/pod-uid", string(pod.UID)), HaveKeyWithValue("crr.apps.kruise.io/node-name", pod.Spec.NodeName)))

		got := seen(ctx, r, done)
		Expect(got.Status.Message).To(BeEmpty())
		Expect(phasesOf(got)).To(Equal(map[string]string{"web": "Succeeded true"}))
		after := records(ctx, set)
		sameBut(before[pod.UID], after[pod.UID], "web")
		Expect(got.Status.ContainerStatusSnapshot).To(ConsistOf(HaveField("ContainerID", after[pod.UID].running["web"])))
		Expect(got.Status.CompletionTime.Sub(status(ptr.To(podsOf(ctx, set)[0]), "web").State.Running.StartedAt.Time)).To(BeNumerically(">=", 3*time.Second))
		_, err := member.Kubectl(ctx, "", "-n", pod.Namespace, "exec", pod.Name, "-c", "third", "--", "cat", "/shared/said-goodbye")
		Expect(err).NotTo(HaveOccurred(), "the hook has run")
		Expect(eventsOf(ctx, &pod, "Killing")).To(ContainElement("Stopping container web by ContainerRecreateRequest " + r.Name))
		Eventually(ctx, func() error { return member.Get(ctx, client.ObjectKeyFromObject(r), &recreate{}) }).Should(MatchError(ContainSubstring("not found")))
		sameBut(after[pod.UID], records(ctx, set)[pod.UID])
	}, SpecTimeout(4*time.Minute))

	DescribeTable("restarts several", func(ctx SpecContext, ordered bool, apart func(time.Duration)) {
		set := shop(ctx, 1, third, patient(10), hooked(runs("sleep", "5"), nil))
		before := records(ctx, set)
		pod := podsOf(ctx, set)[0]
		r := request(ctx, &pod, appsv1beta1.ContainerRecreateRequestStrategy{OrderedRecreate: ordered}, "web", "beside")
		Expect(phasesOf(seen(ctx, r, done))).To(Equal(map[string]string{"web": "Succeeded true", "beside": "Succeeded true"}))
		after := records(ctx, set)
		sameBut(before[pod.UID], after[pod.UID], "web", "beside")
		now := podsOf(ctx, set)[0]
		apart(ended(&now, "beside").Sub(ended(&now, "web")))
	},
		Entry("at once", false, together, SpecTimeout(4*time.Minute)),
		Entry("in order, each when the one before is ready", true, inTurn, SpecTimeout(4*time.Minute)),
	)

	It("stops one container after the other, however long each takes, and tells who waits meanwhile (CR-01)", func(ctx SpecContext) {
		set := shop(ctx, 1, third, patient(20), hooked(nil, runs("sleep", "8")))
		before := records(ctx, set)
		pod := podsOf(ctx, set)[0]
		first := request(ctx, &pod, appsv1beta1.ContainerRecreateRequestStrategy{}, "web", "beside")
		seen(ctx, first, recreating)
		second := seen(ctx, request(ctx, &pod, appsv1beta1.ContainerRecreateRequestStrategy{}, "third"), appsv1beta1.ContainerRecreateRequestPending)
		Expect(status(thePod(ctx, Default, set), "web").RestartCount).To(BeZero(), "the first is not over, nor its hook")
		seen(ctx, first, done)
		seen(ctx, second, done)
		sameBut(before[pod.UID], records(ctx, set)[pod.UID], "web", "beside", "third")
		Expect(ended(thePod(ctx, Default, set), "beside").Sub(first.CreationTimestamp.Time)).To(BeNumerically(">=", 7*time.Second), "whole seconds")
	}, SpecTimeout(4*time.Minute))

	It("is over at its deadline, and the container that is being stopped is stopped all the same", func(ctx SpecContext) {
		set := shop(ctx, 1, patient(20), hooked(nil, runs("sleep", "8")))
		before := records(ctx, set)
		pod := podsOf(ctx, set)[0]
		r := recreateOf(&pod, appsv1beta1.ContainerRecreateRequestStrategy{OrderedRecreate: true}, "web", "beside")
		r.Spec.ActiveDeadlineSeconds = ptr.To(int64(3))
		Expect(member.Create(ctx, r)).To(Succeed())
		got := seen(ctx, r, done)
		Expect(got.Status.Message).To(Equal("recreating has exceeded the activeDeadlineSeconds"))
		Expect(phasesOf(got)).To(Equal(map[string]string{"web": "Pending false", "beside": "Pending false"}))
		Eventually(ctx, func() map[string]string { return phasesOf(seen(ctx, r, done)) }).WithTimeout(soon).
			Should(Equal(map[string]string{"web": "Recreating true", "beside": "Pending false"}))
		settled(ctx, set)
		sameBut(before[pod.UID], records(ctx, set)[pod.UID], "web")
	}, SpecTimeout(4*time.Minute))

	It("takes the pod out of its Services first, and cuts a hook off that takes longer than it may", func(ctx SpecContext) {
		set := shop(ctx, 1, patient(20), hooked(nil, runs("sleep", "8")))
		pod := podsOf(ctx, set)[0]
		before := records(ctx, set)
		r := request(ctx, &pod, appsv1beta1.ContainerRecreateRequestStrategy{UnreadyGracePeriodSeconds: ptr.To(int64(1)), TerminationGracePeriodSeconds: ptr.To(int64(3))}, "web")
		held := func(g Gomega) *corev1.Pod {
			pod := thePod(ctx, g, set)
			c := pods.Condition(pod, appsv1beta1.KruisePodReadyConditionType)
			g.Expect(c).NotTo(BeNil())
			g.Expect(string(c.Status) + " " + c.Message).To(Equal(fmt.Sprintf(`False [{"userAgent":"ContainerRecreateRequest","key":"%s/%s"}]`, r.Namespace, r.Name)))
			g.Expect(pods.Condition(pod, corev1.PodReady).Status).To(Equal(corev1.ConditionFalse))
			return pod
		}
		Eventually(ctx, func(g Gomega) {
			g.Expect(status(held(g), "web").RestartCount).To(BeZero(), "not before the pod is out")
		}).WithTimeout(soon).Should(Succeed())
		seen(ctx, r, done)
		settled(ctx, set)
		now := thePod(ctx, Default, set)
		Expect(pods.Condition(now, appsv1beta1.KruisePodReadyConditionType).Message).To(Equal("[]"))
		Expect(ended(now, "web").Sub(r.CreationTimestamp.Time)).To(BeNumerically("<", 8*time.Second))
		sameBut(before[pod.UID], records(ctx, set)[pod.UID], "web")
	}, SpecTimeout(4*time.Minute))

	DescribeTable("waits for the one before it, until that is deleted (CR-01), and may stop what is starting", func(ctx SpecContext, ordered bool, apart func(time.Duration)) {
		set := shop(ctx, 1, patient(10), hooked(runs("sleep", "15"), nil))
		before := records(ctx, set)
		pod := podsOf(ctx, set)[0]
		first := request(ctx, &pod, appsv1beta1.ContainerRecreateRequestStrategy{}, "web")
		second := request(ctx, &pod, appsv1beta1.ContainerRecreateRequestStrategy{ForceRecreate: true, OrderedRecreate: ordered}, "web", "beside")
		seen(ctx, second, appsv1beta1.ContainerRecreateRequestPending)
		Eventually(ctx, func(g Gomega) {
			all, err := fleet.Containers(ctx, pod.Spec.NodeName)
			g.Expect(err).NotTo(HaveOccurred())
			var starting bool
			for _, c := range all {
				starting = starting || c.PodUID == string(pod.UID) && c.Name == "web" && c.Attempt == 1 && c.Running
			}
			g.Expect(starting).To(BeTrue())
		}).WithTimeout(soon).Should(Succeed())
		Expect(seen(ctx, second, appsv1beta1.ContainerRecreateRequestPending).Status.ContainerRecreateStates).To(BeEmpty())
		Expect(member.Delete(ctx, first)).To(Succeed())
		Expect(phasesOf(seen(ctx, second, done))).To(Equal(map[string]string{"web": "Succeeded true", "beside": "Succeeded true"}))
		settled(ctx, set)
		after := records(ctx, set)[pod.UID]
		Expect(after.attempts).To(Equal(map[string]int{"web": 2, "beside": 1}), "web once for each request")
		Expect(after.running["beside"]).NotTo(Equal(before[pod.UID].running["beside"]))
		now := thePod(ctx, Default, set)
		apart(ended(now, "beside").Sub(ended(now, "web")))
	},
		Entry("at once", false, together, SpecTimeout(4*time.Minute)),
		Entry("in order", true, inTurn, SpecTimeout(4*time.Minute)),
	)

	It("does not leave a container in a crash loop without an answer (CR-04)", func(ctx SpecContext) {
		ns := memberNamespace(ctx)
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "loop"}}
		pod.Spec.Containers = []corev1.Container{{Name: "crasher", Image: "crasher:v1"}, {Name: "beside", Image: "sleeper:v1"}}
		Expect(member.Create(ctx, pod)).To(Succeed())
		looping := func(g Gomega) {
			g.Expect(member.Get(ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
			g.Expect(status(pod, "crasher").State.Running).To(BeNil())
			g.Expect(status(pod, "crasher").RestartCount).To(BeNumerically(">=", 2), "and for a while")
		}
		Eventually(ctx, looping).WithTimeout(2 * time.Minute).Should(Succeed())
		r := request(ctx, pod, appsv1beta1.ContainerRecreateRequestStrategy{ForceRecreate: true}, "crasher")
		got := seen(ctx, r, done)
		// The kubelet says in some seconds of a back-off only that the container waits; in the others its next start counts.
		Expect(got.Status.ContainerRecreateStates).To(ConsistOf(Or(
			SatisfyAll(HaveField("Phase", appsv1beta1.ContainerRecreateRequestFailed), HaveField("Message", ContainSubstring("there is no instance to stop"))),
			HaveField("Phase", appsv1beta1.ContainerRecreateRequestSucceeded))))
	}, SpecTimeout(4*time.Minute))

	DescribeTable("restarts once though somebody is killed in the middle", func(ctx SpecContext, process string) {
		set := shop(ctx, 1, patient(30), hooked(nil, runs("sleep", "5")))
		before := records(ctx, set)
		pod := podsOf(ctx, set)[0]
		r := request(ctx, &pod, appsv1beta1.ContainerRecreateRequestStrategy{OrderedRecreate: true}, "web", "beside")
		Eventually(ctx, func() []string { return eventsOf(ctx, &pod, "Killing") }).WithTimeout(soon).
			Should(ContainElement(ContainSubstring("by ContainerRecreateRequest")))
		Expect(fleet.Signal(pod.Spec.NodeName+process, syscall.SIGKILL)).To(Succeed())
		Consistently(ctx, func() string { return string(seen(ctx, r, recreating).Status.Phase) }).WithTimeout(2 * time.Second).Should(BeEquivalentTo(recreating))
		Expect(fleet.Repair(ctx)).To(Succeed())
		Expect(phasesOf(seen(ctx, r, done))).To(Equal(map[string]string{"web": "Succeeded true", "beside": "Succeeded true"}))
		settled(ctx, set)
		sameBut(before[pod.UID], records(ctx, set)[pod.UID], "web", "beside")
	},
		Entry("the agent", "-flotilla-nodeagent", SpecTimeout(10*time.Minute)),
		Entry("the runtime", "-containerd", SpecTimeout(10*time.Minute)),
	)
})
