//go:build integration

// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// defaults are the flags as a user leaves them, but that nodes need not be ready for long.
var defaults = Options{PullTTLSeconds: 300, NodeImageDelay: 2 * time.Second}

func pullJob(ns, name, image string, change func(*appsv1beta1.ImagePullJobSpec)) *appsv1beta1.ImagePullJob {
	out := &appsv1beta1.ImagePullJob{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}
	out.Spec.Image = image
	if change != nil {
		change(&out.Spec)
	}
	return out
}

func jobNow(ctx context.Context, job *appsv1beta1.ImagePullJob) func() appsv1beta1.ImagePullJobStatus {
	return func() appsv1beta1.ImagePullJobStatus {
		var now appsv1beta1.ImagePullJob
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(job), &now)).To(Succeed())
		return now.Status
	}
}

func nodeNow(ctx context.Context, name string) *appsv1beta1.NodeImage {
	var now appsv1beta1.NodeImage
	Expect(admin.Get(ctx, client.ObjectKey{Name: name}, &now)).To(Succeed())
	return &now
}

func labelled(value string) func(*appsv1beta1.ImagePullJobSpec) {
	return func(s *appsv1beta1.ImagePullJobSpec) {
		s.Selector = &appsv1beta1.ImagePullJobNodeSelector{LabelSelector: metav1.LabelSelector{MatchLabels: map[string]string{"pool": value}}}
		s.Parallelism = ptr.To(intstr.FromInt32(10))
	}
}

var _ = Describe("NodeImages", Label("integration"), func() {
	It("come and go with their nodes", func(ctx context.Context) {
		startPulling(defaults)
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "fresh", Labels: map[string]string{"a": "1"}}}
		Expect(admin.Create(ctx, node)).To(Succeed())
		since := time.Now().Truncate(time.Second)
		setReady(ctx, node, since)
		virtual := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "virtual", Labels: map[string]string{"type": "virtual-kubelet"}}}
		Expect(admin.Create(ctx, virtual)).To(Succeed())
		setReady(ctx, virtual, since.Add(-time.Hour))
		made := &appsv1beta1.NodeImage{}
		Eventually(func() error { return admin.Get(ctx, client.ObjectKey{Name: "fresh"}, made) }).Should(Succeed())
		Expect(made.CreationTimestamp.Time).To(BeTemporally(">=", since.Add(2*time.Second)))
		Expect(made.Labels).To(Equal(map[string]string{"a": "1"}))
		Expect(admin.Get(ctx, client.ObjectKey{Name: "virtual"}, &appsv1beta1.NodeImage{})).NotTo(Succeed())

		node.Labels = map[string]string{"b": "2"}
		Expect(admin.Update(ctx, node)).To(Succeed())
		Eventually(func() map[string]string { return nodeNow(ctx, "fresh").Labels }).Should(Equal(node.Labels))
		before := time.Now()
		Consistently(func() int { return len(writesSince(before)) }, "2s").Should(BeZero())
		Expect(admin.Delete(ctx, node)).To(Succeed())
		Eventually(func() error { return admin.Get(ctx, client.ObjectKey{Name: "fresh"}, made) }).ShouldNot(Succeed())
	})
})

var _ = Describe("ImagePullJobs", Label("integration"), func() {
	// The figures of the issue: 500 nodes, 50 at once, two writes a node.
	It("pull on 500 nodes, 50 at once, with one write each, and one to take it back", func(ctx context.Context) {
		startPulling(defaults)
		play := startAgents(300 * time.Millisecond)
		newNodes(ctx, "many", 500, map[string]string{"pool": "many"})
		ns := newPullNamespace(ctx)
		began := time.Now()
		job := pullJob(ns, "many", "nginx:1.25", func(s *appsv1beta1.ImagePullJobSpec) {
			labelled("many")(s)
			s.Parallelism = ptr.To(intstr.FromInt32(50))
		})
		Expect(admin.Create(ctx, job)).To(Succeed())
		Eventually(jobNow(ctx, job), "120s").Should(HaveField("Message", "job has completed"))
		took := time.Since(began)
		status := jobNow(ctx, job)()
		Expect([]int32{status.Desired, status.Succeeded, status.Failed, status.Active}).To(Equal([]int32{500, 500, 0, 0}))
		Expect(play.mostAtOnce("nginx")).To(SatisfyAll(BeNumerically("<=", 50), BeNumerically(">=", 25)))

		perNode, statuses, other := map[string]int{}, 0, map[string]int{}
		for _, w := range writesSince(began) {
			switch w.Resource {
			case "nodeimages":
				perNode[w.Name]++
			case "imagepulljobs/status":
				statuses++
			default:
				other[w.Verb+" "+w.Resource]++
			}
		}
		Expect(perNode).To(HaveLen(500))
		Expect(perNode).To(HaveEach(BeNumerically("<=", 1)))
		Expect(statuses).To(BeNumerically("<=", int(took.Seconds())+2))
		AddReportEntry("500 nodes", fmt.Sprintf("%.1f s, %d at once, %d status writes, others %v", took.Seconds(), play.mostAtOnce("nginx"), statuses, other))

		By("writing nothing at rest")
		time.Sleep(time.Second)
		rest := time.Now()
		Consistently(func() int { return len(writesSince(rest)) }, "3s").Should(BeZero())

		By("taking it back when the job is deleted")
		Expect(admin.Delete(ctx, job)).To(Succeed())
		Eventually(func() int {
			var list appsv1beta1.NodeImageList
			Expect(admin.List(ctx, &list)).To(Succeed())
			left := 0
			for i := range list.Items {
				left += len(list.Items[i].Spec.Images)
			}
			return left
		}, "30s").Should(BeZero())
		again := map[string]int{}
		for _, w := range writesSince(rest) {
			if strings.HasPrefix(w.Resource, "nodeimages") {
				again[w.Name]++
			}
		}
		Expect(again).To(HaveEach(BeNumerically("<=", 1)), "two writes a node altogether")
	})

	It("keep parallelism, pause with 0, and tell which nodes failed", func(ctx context.Context) {
		startPulling(defaults)
		play := startAgents(200 * time.Millisecond)
		names := newNodes(ctx, "few", 4, map[string]string{"pool": "few"})
		ns := newPullNamespace(ctx)
		job := pullJob(ns, "paused", "one:1", func(s *appsv1beta1.ImagePullJobSpec) {
			labelled("few")(s)
			s.Parallelism = ptr.To(intstr.FromInt32(0))
		})
		Expect(admin.Create(ctx, job)).To(Succeed())
		Eventually(jobNow(ctx, job)).Should(HaveField("Desired", int32(4)))
		Consistently(func() int { return len(nodeNow(ctx, names[0]).Spec.Images) }, "1s").Should(BeZero())
		Expect(admin.Patch(ctx, job, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"parallelism":1}}`)))).To(Succeed())
		Eventually(jobNow(ctx, job)).Should(HaveField("Succeeded", int32(4)))
		Expect(play.mostAtOnce("one")).To(Equal(1))

		broken := pullJob(ns, "broken", "broken:1", labelled("few"))
		Expect(admin.Create(ctx, broken)).To(Succeed())
		Eventually(jobNow(ctx, broken)).Should(SatisfyAll(HaveField("Failed", int32(4)), HaveField("FailedNodes", names), HaveField("CompletionTime", Not(BeNil()))))

		By("another job for the same image, which is there")
		second := pullJob(ns, "second", "one:1", func(s *appsv1beta1.ImagePullJobSpec) {
			labelled("few")(s)
			s.CompletionPolicy.Type = appsv1beta1.CompletionPolicyNever
		})
		Expect(admin.Create(ctx, second)).To(Succeed())
		Eventually(jobNow(ctx, second)).Should(HaveField("Succeeded", int32(4)))
		tag := nodeNow(ctx, names[0]).TagSpec("one", "1")
		Expect(tag.Version).To(BeEquivalentTo(1))
		Expect(tag.OwnerReferences).To(HaveLen(2))

		By("a node that comes later is served by a job of type Never")
		newNodes(ctx, "late", 1, map[string]string{"pool": "few"})
		Eventually(jobNow(ctx, second)).Should(SatisfyAll(HaveField("Succeeded", int32(5)), HaveField("CompletionTime", BeNil())))
	})

	It("end by deadline and by time to live", func(ctx context.Context) {
		startPulling(defaults)
		play := startAgents(100 * time.Millisecond)
		_ = play
		newNodes(ctx, "awake", 1, map[string]string{"pool": "limits"})
		newNodes(ctx, "asleep", 1, map[string]string{"pool": "limits", "silent": "yes"})
		ns := newPullNamespace(ctx)
		job := pullJob(ns, "deadline", "limits:1", func(s *appsv1beta1.ImagePullJobSpec) {
			labelled("limits")(s)
			s.CompletionPolicy.ActiveDeadlineSeconds = ptr.To[int64](3)
			s.CompletionPolicy.TTLSecondsAfterFinished = ptr.To[int32](4)
		})
		Expect(admin.Create(ctx, job)).To(Succeed())
		Eventually(jobNow(ctx, job)).Should(SatisfyAll(
			HaveField("Message", "job exceeds activeDeadlineSeconds"), HaveField("Succeeded", int32(1)),
			HaveField("Failed", int32(1)), HaveField("FailedNodes", []string{"asleep-000"}),
		))
		Eventually(func() error { return admin.Get(ctx, client.ObjectKeyFromObject(job), job) }).ShouldNot(Succeed())
		Eventually(func() int { return len(nodeNow(ctx, "awake-000").Spec.Images) }).Should(BeZero())

		empty := pullJob(ns, "empty", "limits:2", labelled("nobody"))
		Expect(admin.Create(ctx, empty)).To(Succeed())
		Eventually(jobNow(ctx, empty)).Should(HaveField("CompletionTime", Not(BeNil())))
	})

	It("follow pods, and a changed time-out reaches the nodes that pull (IP-03)", func(ctx context.Context) {
		startPulling(defaults)
		names := newNodes(ctx, "pods", 2, map[string]string{"pool": "pods", "silent": "yes"})
		ns := newPullNamespace(ctx)
		job := pullJob(ns, "pods", "pods:1", func(s *appsv1beta1.ImagePullJobSpec) {
			s.PodSelector = &appsv1beta1.ImagePullJobPodSelector{LabelSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}}
			s.CompletionPolicy.Type = appsv1beta1.CompletionPolicyNever
			s.Parallelism = ptr.To(intstr.FromInt32(5))
			s.PullPolicy = &appsv1beta1.PullPolicy{TimeoutSeconds: ptr.To[int32](15)}
		})
		Expect(admin.Create(ctx, job)).To(Succeed())
		Eventually(jobNow(ctx, job)).Should(HaveField("Message", "job is running, no progress"))
		for i, name := range names {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Labels: map[string]string{"app": "web"}}}
			pod.Spec.NodeName, pod.Spec.Containers = name, []corev1.Container{{Name: "c", Image: "i"}}
			Expect(admin.Create(ctx, pod)).To(Succeed())
			Eventually(jobNow(ctx, job)).Should(SatisfyAll(HaveField("Desired", int32(i+1)), HaveField("Active", int32(i+1))))
		}
		timeout := func() int32 { return *nodeNow(ctx, names[0]).TagSpec("pods", "1").PullPolicy.TimeoutSeconds }
		Expect(timeout()).To(BeEquivalentTo(15))
		set := func(job *appsv1beta1.ImagePullJob, seconds int) {
			patch := fmt.Sprintf(`{"spec":{"pullPolicy":{"timeoutSeconds":%d}}}`, seconds)
			Expect(admin.Patch(ctx, job, client.RawPatch("application/merge-patch+json", []byte(patch)))).To(Succeed())
		}
		set(job, 10)
		Eventually(timeout).Should(BeEquivalentTo(10))

		By("of two jobs the more patient decides")
		other := pullJob(ns, "other", "pods:1", func(s *appsv1beta1.ImagePullJobSpec) {
			labelled("pods")(s)
			s.PullPolicy = &appsv1beta1.PullPolicy{TimeoutSeconds: ptr.To[int32](30)}
		})
		Expect(admin.Create(ctx, other)).To(Succeed())
		Eventually(timeout).Should(BeEquivalentTo(30))
		set(job, 20)
		Consistently(timeout, "1s").Should(BeEquivalentTo(30))
		set(other, 5)
		Eventually(timeout).Should(BeEquivalentTo(20))
	})

	It("copy pull secrets once, follow their source, and take them away with the last job (IP-08)", func(ctx context.Context) {
		startPulling(defaults)
		startAgents(100 * time.Millisecond)
		names := newNodes(ctx, "keys", 2, map[string]string{"pool": "keys"})
		ns := newPullNamespace(ctx)
		source := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "regcred", Labels: map[string]string{"l": "1"}}, Type: corev1.SecretTypeDockerConfigJson,
			StringData: map[string]string{corev1.DockerConfigJsonKey: `{"auths":{}}`},
		}
		Expect(admin.Create(ctx, source)).To(Succeed())
		copies := func() []corev1.Secret {
			var list corev1.SecretList
			Expect(admin.List(ctx, &list, client.InNamespace(appsv1beta1.KruiseDaemonConfigNamespace))).To(Succeed())
			return list.Items
		}
		var jobs []*appsv1beta1.ImagePullJob
		for _, name := range []string{"j1", "j2"} {
			job := pullJob(ns, name, "keys/"+name, func(s *appsv1beta1.ImagePullJobSpec) {
				labelled("keys")(s)
				s.PullSecrets = []string{"regcred"}
				s.CompletionPolicy.Type = appsv1beta1.CompletionPolicyNever
			})
			Expect(admin.Create(ctx, job)).To(Succeed())
			jobs = append(jobs, job)
		}
		for _, job := range jobs {
			Eventually(jobNow(ctx, job)).Should(HaveField("Succeeded", int32(2)))
		}
		Expect(copies()).To(HaveLen(1))
		made := copies()[0]
		Expect(made.Name).To(MatchRegexp("^regcred-[0-9a-f]{6}$"))
		Expect(made.Type).To(Equal(source.Type))
		Expect(made.Labels).To(HaveKeyWithValue("l", "1"))
		Expect(made.Annotations).To(Equal(map[string]string{
			"imagepulljobs.kruise.io/source-key": ns + "/regcred", "imagepulljobs.kruise.io/mode": "batch",
			"imagepulljobs.kruise.io/references": ns + "/j1," + ns + "/j2",
		}))
		want := []appsv1beta1.ReferenceObject{{Namespace: "kruise-daemon-config", Name: made.Name, Mode: "batch"}}
		Expect(nodeNow(ctx, names[0]).Spec.Images["keys/j1"].PullSecrets).To(Equal(want))

		By("following the source")
		source.StringData = map[string]string{corev1.DockerConfigJsonKey: `{"auths":{"a.io":{}}}`}
		Expect(admin.Update(ctx, source)).To(Succeed())
		Eventually(func() string { return string(copies()[0].Data[corev1.DockerConfigJsonKey]) }, "12s").Should(ContainSubstring("a.io"))

		By("coming back when somebody deletes it")
		Expect(admin.Delete(ctx, &made)).To(Succeed())
		Eventually(copies).Should(HaveLen(1))
		Eventually(func() string { return copies()[0].Annotations["imagepulljobs.kruise.io/references"] }).Should(Equal(ns + "/j1," + ns + "/j2"))

		By("going with the last job")
		Expect(admin.Delete(ctx, jobs[0])).To(Succeed())
		Eventually(func() string { return copies()[0].Annotations["imagepulljobs.kruise.io/references"] }).Should(Equal(ns + "/j2"))
		Expect(admin.Delete(ctx, jobs[1])).To(Succeed())
		Eventually(copies).Should(BeEmpty())
		Eventually(func() int { return len(nodeNow(ctx, names[0]).Spec.Images) }).Should(BeZero())

		By("and its references with it, when the image stays")
		done := pullJob(ns, "done", "keys/done", func(s *appsv1beta1.ImagePullJobSpec) {
			labelled("keys")(s)
			s.PullSecrets = []string{"regcred", "absent"}
		})
		Expect(admin.Create(ctx, done)).To(Succeed())
		Eventually(jobNow(ctx, done)).Should(HaveField("CompletionTime", Not(BeNil())))
		Eventually(copies).Should(BeEmpty())
		Eventually(func() []appsv1beta1.ReferenceObject {
			return nodeNow(ctx, names[0]).Spec.Images["keys/done"].PullSecrets
		}).Should(BeEmpty())
		Expect(nodeNow(ctx, names[0]).Spec.Images).To(HaveKey("keys/done"))
	})

	It("go on where a spoke before them left off, without pulling again (IP-10)", func(ctx context.Context) {
		stop := startPulling(defaults)
		startAgents(200 * time.Millisecond)
		newNodes(ctx, "again", 6, map[string]string{"pool": "again"})
		ns := newPullNamespace(ctx)
		job := pullJob(ns, "again", "again:1", func(s *appsv1beta1.ImagePullJobSpec) {
			labelled("again")(s)
			s.Parallelism = ptr.To(intstr.FromInt32(1))
		})
		Expect(admin.Create(ctx, job)).To(Succeed())
		Eventually(jobNow(ctx, job)).Should(HaveField("Succeeded", BeNumerically(">", 0)))
		stop()
		startPulling(defaults)
		Eventually(jobNow(ctx, job)).Should(HaveField("Succeeded", int32(6)))
		var list appsv1beta1.NodeImageList
		Expect(admin.List(ctx, &list, client.MatchingLabels{"pool": "again"})).To(Succeed())
		for i := range list.Items {
			Expect(list.Items[i].TagSpec("again", "1").Version).To(BeZero())
		}
		byID, byName := appsv1beta1.ImageHolders(list.Items)
		Expect(byName).To(HaveKeyWithValue("again:1", int32(6)))
		Expect(byID).To(HaveKeyWithValue("again@sha256:1", int32(6)))
	})
})

var _ = Describe("ImageListPullJobs", Label("integration"), func() {
	It("have a stable child for each image (IP-10), and parallelism holds for each (IP-02)", func(ctx context.Context) {
		stop := startPulling(defaults)
		play := startAgents(200 * time.Millisecond)
		newNodes(ctx, "list", 4, map[string]string{"pool": "list"})
		ns := newPullNamespace(ctx)
		list := &appsv1beta1.ImageListPullJob{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "list"}}
		list.Spec.Images = []string{"list/a:1", "list/b:1", "broken"}
		list.Spec.Selector = &appsv1beta1.ImagePullJobNodeSelector{LabelSelector: metav1.LabelSelector{MatchLabels: map[string]string{"pool": "list"}}}
		Expect(admin.Create(ctx, list)).To(Succeed())
		children := func() map[string]string {
			var jobs appsv1beta1.ImagePullJobList
			Expect(admin.List(ctx, &jobs, client.InNamespace(ns))).To(Succeed())
			out := map[string]string{}
			for i := range jobs.Items {
				out[jobs.Items[i].Spec.Image] = jobs.Items[i].Name
			}
			return out
		}
		status := func() appsv1beta1.ImageListPullJobStatus {
			Expect(admin.Get(ctx, client.ObjectKeyFromObject(list), list)).To(Succeed())
			return list.Status
		}
		Eventually(children).Should(HaveLen(3))
		first := children()
		Eventually(status, "60s").Should(HaveField("CompletionTime", Not(BeNil())))
		done := status()
		Expect([]int32{done.Desired, done.Completed, done.Succeeded, done.Active}).To(Equal([]int32{3, 3, 2, 0}))
		Expect(done.FailedImageStatuses).To(ConsistOf(HaveField("Name", "broken")))
		Expect(play.mostAtOnce("list/a")).To(Equal(1))
		Expect(play.mostAtOnce("list/b")).To(Equal(1))
		Expect(list.Labels).To(HaveKey("controller-revision-hash"))

		By("starting anew")
		stop()
		before := time.Now()
		startPulling(defaults)
		Consistently(func() int { return len(writesSince(before)) }, "3s").Should(BeZero())
		Expect(children()).To(Equal(first))

		By("other images and other terms")
		never := &appsv1beta1.ImageListPullJob{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "never"}}
		never.Spec.Images = []string{"list/c:1", "list/d:1"}
		never.Spec.Selector, never.Spec.CompletionPolicy.Type = list.Spec.Selector, appsv1beta1.CompletionPolicyNever
		Expect(admin.Create(ctx, never)).To(Succeed())
		Eventually(children).Should(HaveLen(5))
		c := children()["list/c:1"]
		Expect(admin.Patch(ctx, never, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"images":["list/c:1"]}}`)))).To(Succeed())
		Eventually(children).ShouldNot(HaveKey("list/d:1"))
		Expect(children()).To(HaveKeyWithValue("list/c:1", c))
		Expect(admin.Patch(ctx, never, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"parallelism":2}}`)))).To(Succeed())
		Eventually(children).Should(HaveKeyWithValue("list/c:1", Not(Equal(c))))

		By("deleting what is there, while there is a spoke to let it go")
		Expect(admin.Delete(ctx, never)).To(Succeed())
		Eventually(func() int { // there is no garbage collector here
			Expect(admin.DeleteAllOf(ctx, &appsv1beta1.ImagePullJob{}, client.InNamespace(ns))).To(Succeed())
			return len(children())
		}).Should(BeZero())
	})
})
