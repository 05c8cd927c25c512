// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package setup_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/nodeagent/cri/crifake"
)

var _ = Describe("image puller", Label("integration"), func() {
	var (
		runtime     *crifake.Runtime
		dir, socket string
		secrets     = v1beta1.KruiseDaemonConfigNamespace
	)

	serve := func() {
		Expect(runtime.Serve(socket)).To(Succeed())
		DeferCleanup(runtime.Stop)
	}
	// want writes what the node should pull, as the spoke does.
	want := func(ctx context.Context, images map[string]v1beta1.ImageSpec) {
		var obj v1beta1.NodeImage
		Expect(cluster.Get(ctx, client.ObjectKey{Name: nodeName}, &obj)).To(Succeed())
		obj.Spec.Images = images
		Expect(cluster.Update(ctx, &obj)).To(Succeed())
	}
	status := func(ctx context.Context) func() v1beta1.NodeImageStatus {
		return func() v1beta1.NodeImageStatus {
			var obj v1beta1.NodeImage
			Expect(cluster.Get(ctx, client.ObjectKey{Name: nodeName}, &obj)).To(Succeed())
			return obj.Status
		}
	}
	phase := func(ctx context.Context, image, tag string) func() string {
		return func() string {
			for _, s := range status(ctx)().ImageStatuses[image].Tags {
				if s.Tag == tag {
					return strings.TrimSuffix(fmt.Sprintf("%s %d %s", s.Phase, s.Version, s.Message), " ")
				}
			}
			return ""
		}
	}

	BeforeEach(func(ctx context.Context) {
		dir = newRunDir()
		socket = filepath.Join(dir, "containerd.sock")
		runtime = crifake.New("containerd")
		node := &v1beta1.NodeImage{ObjectMeta: metav1.ObjectMeta{Name: nodeName}}
		Expect(cluster.Create(ctx, node)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { Expect(cluster.Delete(ctx, node)).To(Succeed()) })
	})

	It("pulls, tells how far it is, and writes nothing at rest", func(ctx context.Context) {
		serve()
		runtime.Images.Add("there:1")
		release := runtime.Images.Hold("slow:1")
		defer release()
		runtime.Images.Fail("missing:1", "missing:1: not found")
		digest := "sha256:" + strings.Repeat("a", 64)
		a := startAgent(dir)
		want(ctx, map[string]v1beta1.ImageSpec{
			"there": {Tags: []v1beta1.ImageTagSpec{tag("1", 0)}}, "slow": {Tags: []v1beta1.ImageTagSpec{tag("1", 3)}},
			"missing": {Tags: []v1beta1.ImageTagSpec{tag("1", 0)}}, "other": {Tags: []v1beta1.ImageTagSpec{tag(digest, 0)}},
		})
		Eventually(phase(ctx, "slow", "1")).Should(Equal("Pulling 3"))
		Eventually(phase(ctx, "there", "1")).Should(Equal("Succeeded 0"))
		Eventually(phase(ctx, "other", digest)).Should(Equal("Succeeded 0"))
		Eventually(phase(ctx, "missing", "1")).Should(Equal("Failed 0 missing:1: not found"))
		got := status(ctx)()
		Expect([]int32{got.Desired, got.Succeeded, got.Failed, got.Pulling, got.Waiting}).To(Equal([]int32{4, 2, 1, 1, 0}))
		Expect(got.ImageStatuses["other"].Tags[0].ImageID).To(HavePrefix("other@sha256:"))
		for _, p := range runtime.Images.Pulls() {
			Expect(p.Image).NotTo(Equal("there:1"), "IP-06: it is there")
			Expect(p.Annotations).To(HaveKeyWithValue("apps.kruise.io/pulling-image-by", "kruise-daemon"))
		}
		Eventually(eventsAbout(ctx, nodeName)).Should(ContainElements("PullImageSucceed", "PullImageFailed"))

		By("starting anew without pulling what is finished")
		a.kill()
		pulled := len(runtime.Images.Pulls())
		b := startAgent(dir)
		Eventually(func() int { return len(runtime.Images.Pulls()) }).Should(Equal(pulled + 1))
		Consistently(func() []string {
			var again []string
			for _, p := range runtime.Images.Pulls()[pulled:] {
				again = append(again, p.Image)
			}
			return again
		}, "2s").Should(Equal([]string{"slow:1"}))
		release()
		Eventually(phase(ctx, "slow", "1")).Should(Equal("Succeeded 3"))

		By("writing nothing at rest")
		writes := len(b.writes())
		Consistently(b.writes, "4s", "500ms").Should(HaveLen(writes))

		By("dropping the status of what nobody asks for, and pulling a new version")
		want(ctx, map[string]v1beta1.ImageSpec{"slow": {Tags: []v1beta1.ImageTagSpec{tag("1", 4)}}})
		Eventually(phase(ctx, "slow", "1")).Should(Equal("Succeeded 4"))
		Expect(status(ctx)().ImageStatuses).To(HaveLen(1))
	})

	It("tells how far a pull is as the store of the runtime says, with few writes", func(ctx context.Context) {
		store := crifake.NewContent()
		runtime.Content = store
		serve()
		release := runtime.Images.Hold("registry.example.com/team/web:1")
		defer release()
		a := startAgent(dir)
		want(ctx, map[string]v1beta1.ImageSpec{"registry.example.com/team/web": {Tags: []v1beta1.ImageTagSpec{tag("1", 0)}}})
		progress := func() int32 { return status(ctx)().ImageStatuses["registry.example.com/team/web"].Tags[0].Progress }
		Eventually(phase(ctx, "registry.example.com/team/web", "1")).Should(Equal("Pulling 0"))
		Expect(progress()).To(BeZero())
		writes := len(a.writes())

		store.AddManifest("registry.example.com", "team/web", map[string]int64{"base": 100, "top": 900})
		store.Add(crifake.Digest("base"), 100)
		began := time.Now()
		var seen []int32
		for done := int64(1); done < 900; done += 30 { // 24 points in ten seconds
			store.Ingest(crifake.Digest("top"), done, time.Now())
			if now := progress(); len(seen) == 0 || seen[len(seen)-1] != now {
				seen = append(seen, now)
			}
			Consistently(phase(ctx, "registry.example.com/team/web", "1"), "900ms", "300ms").Should(Equal("Pulling 0"))
		}
		Expect(len(seen)).To(BeNumerically(">=", 3), "%v", seen)
		Expect(seen[len(seen)-1]).To(And(BeNumerically(">", 40), BeNumerically("<", 100)))
		Expect(slices.IsSorted(seen)).To(BeTrue(), "%v", seen)
		Expect(len(a.writes()) - writes).To(BeNumerically("<=", int(time.Since(began)/(10*time.Second))+1))

		By("going on from there when the agent is killed")
		a.kill()
		b := startAgent(dir)
		Eventually(runtime.Images.Pulls).Should(HaveLen(2))
		Consistently(progress, "4s", "500ms").Should(BeNumerically(">=", seen[len(seen)-1]))

		By("being 100 at the end, and writing nothing more")
		release()
		Eventually(phase(ctx, "registry.example.com/team/web", "1")).Should(Equal("Succeeded 0"))
		Expect(progress()).To(BeEquivalentTo(100))
		writes = len(b.writes())
		Consistently(b.writes, "4s", "500ms").Should(HaveLen(writes))
	})

	It("goes on within 10 s after the runtime went away in the middle", func(ctx context.Context) {
		serve()
		release := runtime.Images.Hold("slow:1")
		startAgent(dir)
		one := tag("1", 0)
		one.PullPolicy.BackoffLimit = ptr.To[int32](0) // it costs no attempt
		want(ctx, map[string]v1beta1.ImageSpec{"slow": {Tags: []v1beta1.ImageTagSpec{one}}})
		Eventually(phase(ctx, "slow", "1")).Should(Equal("Pulling 0"))
		runtime.Stop()
		Eventually(phase(ctx, "slow", "1")).Should(HavePrefix("Pulling 0 waits: container runtime unavailable"))
		release()
		serve()
		Eventually(phase(ctx, "slow", "1"), "10s").Should(Equal("Succeeded 0"))
		Expect(runtime.Images.Pulls()).To(HaveLen(2))
	})

	It("is killed in the middle and goes on", func(ctx context.Context) {
		serve()
		release := runtime.Images.Hold("slow:1")
		defer release()
		a := startAgent(dir)
		want(ctx, map[string]v1beta1.ImageSpec{"slow": {Tags: []v1beta1.ImageTagSpec{tag("1", 0)}}})
		Eventually(phase(ctx, "slow", "1")).Should(Equal("Pulling 0"))
		began := status(ctx)().ImageStatuses["slow"].Tags[0].StartTime
		a.kill()
		startAgent(dir)
		Eventually(runtime.Images.Pulls).Should(HaveLen(2))
		release()
		Eventually(phase(ctx, "slow", "1")).Should(Equal("Succeeded 0"))
		Expect(status(ctx)().ImageStatuses["slow"].Tags[0].StartTime).To(Equal(began))
	})

	It("pulls with secrets of one namespace only (KD-05)", func(ctx context.Context) {
		serve()
		runtime.Images.Lock("registry.example.com/a:1", "good")
		runtime.Images.Lock("registry.example.com/b:1", "good")
		good := dockerSecret(ctx, secrets, "registry.example.com", "good")
		elsewhere := dockerSecret(ctx, "default", "registry.example.com", "good")
		bad := dockerSecret(ctx, secrets, "registry.example.com", "bad")
		startAgent(dir)
		once := tag("1", 0)
		once.PullPolicy.BackoffLimit = ptr.To[int32](0)
		want(ctx, map[string]v1beta1.ImageSpec{
			"registry.example.com/a": {Tags: []v1beta1.ImageTagSpec{once}, PullSecrets: []v1beta1.ReferenceObject{{Namespace: secrets, Name: "absent"}, bad, good}},
			"registry.example.com/b": {Tags: []v1beta1.ImageTagSpec{once}, PullSecrets: []v1beta1.ReferenceObject{elsewhere}},
		})
		Eventually(phase(ctx, "registry.example.com/a", "1")).Should(Equal("Succeeded 0"))
		Eventually(phase(ctx, "registry.example.com/b", "1")).Should(ContainSubstring("401 Unauthorized"))
		for _, p := range runtime.Images.Pulls() {
			if p.Image == "registry.example.com/b:1" {
				Expect(p.Password).To(BeEmpty())
			}
		}
	})

	It("stays small with 200 images", func(ctx context.Context) {
		serve()
		a := startAgent(dir)
		images := map[string]v1beta1.ImageSpec{}
		for i := range 200 {
			images[fmt.Sprintf("registry.example.com/team-%d/app", i)] = v1beta1.ImageSpec{Tags: []v1beta1.ImageTagSpec{tag("v1.2.3", 0)}}
		}
		want(ctx, images)
		Eventually(func() int32 { return status(ctx)().Succeeded }, "30s").Should(BeEquivalentTo(200))
		Expect(len(a.writes())).To(BeNumerically("<=", 5))
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", a.session.Command.Process.Pid))
		Expect(err).NotTo(HaveOccurred())
		_, rest, _ := strings.Cut(string(raw), "VmHWM:")
		kb, err := strconv.Atoi(strings.Fields(rest)[0])
		Expect(err).NotTo(HaveOccurred())
		AddReportEntry("most memory", fmt.Sprintf("%.1f MB", float64(kb)/1024))
		Expect(kb).To(BeNumerically("<", 60*1024))
	})
})

func tag(name string, version int64) v1beta1.ImageTagSpec {
	return v1beta1.ImageTagSpec{
		Tag: name, Version: version, CreatedAt: ptr.To(metav1.NewTime(time.Now())),
		PullPolicy: &v1beta1.ImageTagPullPolicy{BackoffLimit: ptr.To[int32](1), TimeoutSeconds: ptr.To[int32](60)},
	}
}

func dockerSecret(ctx context.Context, ns, host, password string) v1beta1.ReferenceObject {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, GenerateName: "key-"}, Type: corev1.SecretTypeDockerConfigJson,
		StringData: map[string]string{corev1.DockerConfigJsonKey: fmt.Sprintf(`{"auths":{%q:{"username":"u","password":%q}}}`, host, password)},
	}
	Expect(cluster.Create(ctx, secret)).To(Succeed())
	return v1beta1.ReferenceObject{Namespace: ns, Name: secret.Name}
}
