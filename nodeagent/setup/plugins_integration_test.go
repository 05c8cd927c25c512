// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package setup_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/nodeagent/cri/crifake"
)

// The images are behind a registry that answers 401 to all but the key that the plugin gives.
var _ = Describe("credential providers of the node (IP-07)", Label("integration"), func() {
	const image, key = "cloud.example.com/team/app", "key-of-the-node"
	var (
		runtime *crifake.Runtime
		dir     string
		flags   []string
	)
	phase := func(ctx context.Context, tag string) func() string {
		return func() string {
			var obj v1beta1.NodeImage
			Expect(cluster.Get(ctx, client.ObjectKey{Name: nodeName}, &obj)).To(Succeed())
			for _, s := range obj.Status.ImageStatuses[image].Tags {
				if s.Tag == tag {
					return fmt.Sprintf("%s %s", s.Phase, s.Message)
				}
			}
			return ""
		}
	}
	want := func(ctx context.Context, tagName string, secrets ...v1beta1.ReferenceObject) {
		var obj v1beta1.NodeImage
		Expect(cluster.Get(ctx, client.ObjectKey{Name: nodeName}, &obj)).To(Succeed())
		once := tag(tagName, 0)
		once.PullPolicy.BackoffLimit = ptr.To[int32](0)
		obj.Spec.Images = map[string]v1beta1.ImageSpec{image: {Tags: []v1beta1.ImageTagSpec{once}, PullSecrets: secrets}}
		Expect(cluster.Update(ctx, &obj)).To(Succeed())
	}
	passwords := func() (out []string) {
		for _, p := range runtime.Images.Pulls() {
			out = append(out, p.Password)
		}
		return out
	}

	BeforeEach(func(ctx context.Context) {
		dir = newRunDir()
		runtime = serveRuntime(dir)
		for _, t := range []string{"1", "2", "3"} {
			runtime.Images.Lock(image+":"+t, key)
		}
		program := "#!/bin/sh\ncat >> " + dir + "/asked\n" +
			`echo '{"kind":"CredentialProviderResponse","apiVersion":"credentialprovider.kubelet.k8s.io/v1","cacheKeyType":"Registry","auth":{"cloud.example.com":{"username":"node","password":"` + key + `"}}}'` + "\n"
		Expect(os.WriteFile(filepath.Join(dir, "cloud"), []byte(program), 0o755)).To(Succeed())
		config := "apiVersion: kubelet.config.k8s.io/v1\nkind: CredentialProviderConfig\nproviders:\n" +
			"- {name: cloud, apiVersion: credentialprovider.kubelet.k8s.io/v1, matchImages: [\"*.example.com\"], defaultCacheDuration: 1h}\n"
		file := filepath.Join(dir, "providers.yaml")
		Expect(os.WriteFile(file, []byte(config), 0o644)).To(Succeed())
		flags = []string{"--plugin-config-file", file, "--plugin-bin-dir", dir}
		node := &v1beta1.NodeImage{ObjectMeta: metav1.ObjectMeta{Name: nodeName}}
		Expect(cluster.Create(ctx, node)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { Expect(cluster.Delete(ctx, node)).To(Succeed()) })
	})

	It("are asked once for a registry, and pull what is locked", func(ctx context.Context) {
		startAgent(dir, flags...)
		want(ctx, "1")
		Eventually(phase(ctx, "1")).Should(HavePrefix("Succeeded"))
		want(ctx, "2")
		Eventually(phase(ctx, "2")).Should(HavePrefix("Succeeded"))
		Expect(passwords()).To(Equal([]string{key, key}), "no pull without a key")
		asked, err := os.ReadFile(filepath.Join(dir, "asked"))
		Expect(err).NotTo(HaveOccurred())
		Expect(string(asked)).To(ContainSubstring(`"image":"` + image))
		Expect(strings.Count(string(asked), "CredentialProviderRequest")).To(Equal(1))
	})

	It("come after the keys of pull secrets", func(ctx context.Context) {
		startAgent(dir, flags...)
		want(ctx, "3", dockerSecret(ctx, v1beta1.KruiseDaemonConfigNamespace, "cloud.example.com", "stale"))
		Eventually(phase(ctx, "3")).Should(HavePrefix("Succeeded"))
		Expect(passwords()).To(Equal([]string{"stale", key}))
	})

	It("are needed: without them the registry refuses", func(ctx context.Context) {
		startAgent(dir, "--plugin-config-file", filepath.Join(dir, "absent"))
		want(ctx, "1")
		Eventually(phase(ctx, "1")).Should(SatisfyAll(HavePrefix("Failed"), ContainSubstring("401 Unauthorized")))
		Expect(passwords()).To(Equal([]string{""}))
		Expect(filepath.Join(dir, "asked")).NotTo(BeAnExistingFile())
	})
})
