// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package nodeagent

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/e2e/harness"
)

// pull makes a job that pulls an image on these nodes (none: all), all at once, unless a change says otherwise.
func pull(ctx context.Context, ns, image string, change func(*appsv1beta1.ImagePullJobSpec), nodes ...string) *appsv1beta1.ImagePullJob {
	GinkgoHelper()
	job := &appsv1beta1.ImagePullJob{ObjectMeta: metav1.ObjectMeta{Namespace: ns, GenerateName: "pull-"}}
	job.Spec.Image, job.Spec.Parallelism = image, ptr.To(intstr.FromInt32(10))
	if len(nodes) > 0 {
		job.Spec.Selector = &appsv1beta1.ImagePullJobNodeSelector{Names: nodes}
	}
	if change != nil {
		change(&job.Spec)
	}
	Expect(member.Create(ctx, job)).To(Succeed())
	return job
}

func bounds(timeout, backoff int32) func(*appsv1beta1.ImagePullJobSpec) {
	return func(s *appsv1beta1.ImagePullJobSpec) {
		s.PullPolicy = &appsv1beta1.PullPolicy{TimeoutSeconds: &timeout, BackoffLimit: &backoff}
	}
}

func pulled(ctx context.Context, job *appsv1beta1.ImagePullJob) func() (appsv1beta1.ImagePullJobStatus, error) {
	return func() (appsv1beta1.ImagePullJobStatus, error) {
		err := member.Get(ctx, client.ObjectKeyFromObject(job), job)
		return job.Status, err
	}
}

// tagOn is how far a node is with an image.
func tagOn(ctx context.Context, node, image string) func() (appsv1beta1.ImageTagStatus, error) {
	return func() (appsv1beta1.ImageTagStatus, error) {
		var obj appsv1beta1.NodeImage
		if err := member.Get(ctx, client.ObjectKey{Name: node}, &obj); err != nil {
			return appsv1beta1.ImageTagStatus{}, err
		}
		at := strings.LastIndex(image, ":")
		for _, tag := range obj.Status.ImageStatuses[image[:at]].Tags {
			if tag.Tag == image[at+1:] {
				return tag, nil
			}
		}
		return appsv1beta1.ImageTagStatus{}, nil
	}
}

var _ = Describe("Images pulled ahead", Label("nodeagent", "images"), Serial, func() {
	const first, second = "member-1-node-1", "member-1-node-2"
	var (
		slow *slowRegistry
		ns   string
	)

	BeforeEach(func(ctx SpecContext) {
		ns = memberNamespace(ctx)
		slow = startRegistry(ctx)
		Eventually(ctx, func() (int, error) {
			var list appsv1beta1.NodeImageList
			err := member.List(ctx, &list)
			return len(list.Items), err
		}).Should(Equal(2), "one NodeImage for each node")
	}, NodeTimeout(5*time.Minute))

	It("say why they cannot be had: missing, locked, slow, registry away", func(ctx SpecContext) {
		good := slow.push(ctx, "team/web", "v1", 1<<20)
		missing := pull(ctx, ns, slowHost+"/team/web:none", bounds(30, 0), first)
		Eventually(ctx, pulled(ctx, missing)).Should(And(HaveField("Failed", int32(1)), HaveField("FailedNodes", []string{first})))
		Expect(tagOn(ctx, first, missing.Spec.Image)()).To(And(HaveField("Phase", appsv1beta1.ImagePhaseFailed), HaveField("Message", ContainSubstring("not found"))))

		By("with the wrong key, and with the right one")
		locked := slow.push(ctx, lockedPart+"/web", "v1", 1<<20)
		for key, succeeded := range map[string]int32{"wrong": 0, password: 1} {
			secret := &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: ns, GenerateName: "key-"}, Type: corev1.SecretTypeDockerConfigJson,
				StringData: map[string]string{corev1.DockerConfigJsonKey: fmt.Sprintf(`{"auths":{%q:{"username":"u","password":%q}}}`, slowHost, key)},
			}
			Expect(member.Create(ctx, secret)).To(Succeed())
			job := pull(ctx, ns, locked, func(s *appsv1beta1.ImagePullJobSpec) {
				bounds(30, 0)(s)
				s.PullSecrets = []string{secret.Name}
			}, map[int32]string{0: first, 1: second}[succeeded])
			Eventually(ctx, pulled(ctx, job)).Should(And(HaveField("CompletionTime", Not(BeNil())), HaveField("Succeeded", succeeded)), key)
		}
		Expect(tagOn(ctx, first, locked)()).To(HaveField("Message", ContainSubstring("401")))

		By("slower than there is time")
		slow.bytesPerSecond.Store(1 << 20)
		lame := slow.push(ctx, "team/lame", "v1", 30<<20)
		late := pull(ctx, ns, lame, bounds(3, 0), first)
		Eventually(ctx, tagOn(ctx, first, lame)).Should(And(HaveField("Phase", appsv1beta1.ImagePhasePulling), HaveField("StartTime", Not(BeNil()))))
		Eventually(ctx, pulled(ctx, late)).Should(HaveField("Failed", int32(1)))
		Expect(tagOn(ctx, first, lame)()).To(HaveField("Message", ContainSubstring("did not end within 3s")))
		slow.bytesPerSecond.Store(0)

		By("away, and back")
		slow.down()
		patient := pull(ctx, ns, good, bounds(30, 20), first, second)
		Eventually(ctx, tagOn(ctx, first, good)).Should(And(HaveField("Phase", appsv1beta1.ImagePhasePulling), HaveField("Message", ContainSubstring("connection refused"))))
		slow.up(slow.address)
		Eventually(ctx, pulled(ctx, patient)).Should(And(HaveField("Succeeded", int32(2)), HaveField("CompletionTime", Not(BeNil()))))
		Expect(fleet.HasImage(ctx, first, good)).To(BeTrue())
	}, SpecTimeout(8*time.Minute))

	It("make an update in place faster", func(ctx SpecContext) {
		set := shop(ctx, 4)
		took := func(image string) time.Duration {
			GinkgoHelper()
			began := time.Now()
			edit(ctx, set, harness.Image("web", image))
			settled(ctx, set)
			return time.Since(began)
		}
		const size = 40 << 20
		cold, warm := slow.push(ctx, "team/cold", "v2", size), slow.push(ctx, "team/warm", "v2", size)
		slow.bytesPerSecond.Store(5 << 20) // 8 s for the layer
		without := took(cold)
		began := time.Now()
		job := pull(ctx, ns, warm, nil)
		Eventually(ctx, pulled(ctx, job)).Should(HaveField("Succeeded", int32(2)))
		ahead := time.Since(began)
		with := took(warm)
		AddReportEntry("update of 4 pods", fmt.Sprintf("%.1f s without, %.1f s with the image pulled ahead (which took %.1f s)", without.Seconds(), with.Seconds(), ahead.Seconds()))
		GinkgoWriter.Printf("update of 4 pods: %.1f s without, %.1f s with the image pulled ahead (which took %.1f s)\n", without.Seconds(), with.Seconds(), ahead.Seconds())
		Expect(with).To(BeNumerically("<", without-4*time.Second))
	}, SpecTimeout(8*time.Minute))

	It("go on after the agent was killed in the middle, which stays small over 300 MB", func(ctx SpecContext) {
		big := slow.push(ctx, "team/big", "v1", 300<<20)
		slow.bytesPerSecond.Store(15 << 20) // 20 s
		job := pull(ctx, ns, big, nil, first)
		Eventually(ctx, tagOn(ctx, first, big)).Should(HaveField("Phase", appsv1beta1.ImagePhasePulling))
		Eventually(ctx, tagOn(ctx, first, big)).WithPolling(500 * time.Millisecond).Should(HaveField("Progress", And(BeNumerically(">", 0), BeNumerically("<", 100))))
		began, err := tagOn(ctx, first, big)()
		Expect(err).NotTo(HaveOccurred())
		GinkgoWriter.Printf("%d %% are there %.0f s after the pull began\n", began.Progress, time.Since(began.StartTime.Time).Seconds())
		Expect(fleet.Signal(agentProcess, syscall.SIGKILL)).To(Succeed())
		repair(ctx)()
		Eventually(ctx, pulled(ctx, job)).Should(HaveField("Succeeded", int32(1)))
		after, err := tagOn(ctx, first, big)()
		Expect(err).NotTo(HaveOccurred())
		Expect(after.StartTime.Equal(began.StartTime)).To(BeTrue(), "it is the same pull")
		Expect(after.Progress).To(BeEquivalentTo(100))
		pid, err := fleet.PID(agentProcess)
		Expect(err).NotTo(HaveOccurred())
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		Expect(err).NotTo(HaveOccurred())
		_, rest, _ := strings.Cut(string(raw), "VmHWM:")
		kb, err := strconv.Atoi(strings.Fields(rest)[0])
		Expect(err).NotTo(HaveOccurred())
		GinkgoWriter.Printf("the agent took %.1f MB at most\n", float64(kb)/1024)
		Expect(kb).To(BeNumerically("<", 60<<10))
	}, SpecTimeout(8*time.Minute))

	It("go on after the runtime was killed in the middle, which costs no attempt", func(ctx SpecContext) {
		set := shop(ctx, 2)
		before := records(ctx, set)
		broken := slow.push(ctx, "team/broken", "v1", 60<<20)
		slow.bytesPerSecond.Store(5 << 20) // 12 s
		job := pull(ctx, ns, broken, bounds(300, 0), first)
		Eventually(ctx, tagOn(ctx, first, broken)).WithPolling(500 * time.Millisecond).Should(HaveField("Progress", BeNumerically(">", 0)))
		at, err := tagOn(ctx, first, broken)()
		Expect(err).NotTo(HaveOccurred())
		Expect(at.Phase).To(Equal(appsv1beta1.ImagePhasePulling))
		Expect(fleet.Signal(runtimeProcess, syscall.SIGKILL)).To(Succeed())
		Eventually(ctx, runtimeUp).Should(Equal("0"))
		Eventually(ctx, tagOn(ctx, first, broken)).Should(And(HaveField("Phase", appsv1beta1.ImagePhasePulling), HaveField("Message", HavePrefix("waits: "))))
		repair(ctx)()
		Eventually(ctx, pulled(ctx, job)).Should(And(HaveField("Succeeded", int32(1)), HaveField("Failed", int32(0)), HaveField("CompletionTime", Not(BeNil()))))
		after, err := tagOn(ctx, first, broken)()
		Expect(err).NotTo(HaveOccurred())
		Expect(after).To(And(HaveField("Phase", appsv1beta1.ImagePhaseSucceeded), HaveField("Message", "")))
		Expect(after.StartTime.Equal(at.StartTime)).To(BeTrue(), "it is the same pull")
		Expect(fleet.HasImage(ctx, first, broken)).To(BeTrue())
		for uid, now := range records(ctx, set) {
			sameBut(before[uid], now)
		}
	}, SpecTimeout(8*time.Minute))
})
