//go:build integration

// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"context"
	"maps"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

var _ = Describe("metrics of a CloneSet", func() {
	It("tell of its rollout, through a restart, and go with it", func() {
		ctx := context.Background()
		ns := newNamespace(ctx)
		run := startSpoke(Options{})
		DeferCleanup(func() { run.stop() })
		series := func() map[string]float64 {
			all := scrape(GinkgoTB(), metrics.Registry)
			maps.DeleteFunc(all, func(key string, _ float64) bool { return !strings.Contains(key, "{web,"+ns) })
			return all
		}
		of := func(name, more string) string { return name + "{web," + ns + more + "}" }

		set := newSet(ns, 3, appsv1beta1.InPlaceIfPossiblePodUpdateStrategyType)
		Expect(admin.Create(ctx, set)).To(Succeed())
		Eventually(status(ctx, set)).Should(haveCounts(3, 3, 3))
		begin := time.Now().Add(-time.Second)
		edit(ctx, set, func(s *appsv1beta1.CloneSet) {
			s.Spec.Template.Spec.Containers[0].Image = "web:2"
			s.Spec.UpdateStrategy.RollingUpdate.Partition = ptr.To(intstr.FromInt32(1))
		})
		reached := of("partition_reached_timestamp_seconds", "")
		Eventually(series).Should(SatisfyAll(
			HaveKeyWithValue(of("desired_replicas", ""), 3.), HaveKeyWithValue(of("ready_replicas", ""), 3.),
			HaveKeyWithValue(of("updated_replicas", ""), 2.), HaveKeyWithValue(of("updated_ready_replicas", ""), 2.),
			HaveKeyWithValue(of("pod_updates_total", ",InPlace"), 2.), HaveKeyWithValue(of("pod_updates_total", ",Recreate"), 0.),
			HaveKeyWithValue(of("in_place_update_duration_seconds", "")+" count", 2.),
			HaveKeyWithValue(of("waiting_since_timestamp_seconds", ",PartitionReached"), BeNumerically(">=", begin.Unix())),
			HaveKeyWithValue(reached, BeNumerically(">=", begin.Unix())),
		))

		before := series()
		run.stop()
		Eventually(series).Should(BeEmpty(), "a controller that does not act tells nothing")
		run = startSpoke(Options{})
		Eventually(series).Should(HaveKeyWithValue(reached, before[reached]))
		Expect(series()).To(HaveKeyWithValue(of("waiting_since_timestamp_seconds", ",PartitionReached"), before[of("waiting_since_timestamp_seconds", ",PartitionReached")]))

		edit(ctx, set, func(s *appsv1beta1.CloneSet) {
			s.Spec.Template.Spec.Containers[0].Command = []string{"other"}
			s.Spec.UpdateStrategy.RollingUpdate.Partition = nil
		})
		Eventually(series).Should(SatisfyAll(
			HaveKeyWithValue(of("updated_ready_replicas", ""), 3.), HaveKeyWithValue(of("pod_updates_total", ",Recreate"), 3.), Not(HaveKey(reached)),
		))
		Expect(admin.Delete(ctx, set)).To(Succeed())
		Eventually(series).Should(BeEmpty())
	})
})
