// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package setup_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

var _ = Describe("--max-workers-for-pull-image", Label("integration"), func() {
	It("bounds how many images a node pulls at once, and all get their turn", func(ctx context.Context) {
		dir := newRunDir()
		runtime := serveRuntime(dir)
		node := &v1beta1.NodeImage{ObjectMeta: metav1.ObjectMeta{Name: nodeName}}
		node.Spec.Images = map[string]v1beta1.ImageSpec{}
		var release []func()
		for i := range 5 {
			image := fmt.Sprint("bounded/", i)
			node.Spec.Images[image] = v1beta1.ImageSpec{Tags: []v1beta1.ImageTagSpec{tag("1", 0)}}
			release = append(release, runtime.Images.Hold(image+":1"))
		}
		startAgent(dir, "--max-workers-for-pull-image", "2")
		Expect(cluster.Create(ctx, node)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { Expect(cluster.Delete(ctx, node)).To(Succeed()) })
		pulls := func() int { return len(runtime.Images.Pulls()) }
		Eventually(pulls).Should(Equal(2))
		Consistently(pulls, "2s").Should(Equal(2))
		for _, done := range release {
			done()
		}
		Eventually(func() int32 {
			Expect(cluster.Get(ctx, client.ObjectKeyFromObject(node), node)).To(Succeed())
			return node.Status.Succeeded
		}).Should(BeEquivalentTo(5))
		Expect(runtime.Images.Most()).To(Equal(2))
	})
})
