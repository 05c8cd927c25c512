// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package spoke

import (
	"encoding/json"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/e2e/harness"
	"github.com/flotilla-sh/flotilla/internal/pods"
)

// inPlaceHook holds pods before their in-place update.
const inPlaceHook = "example.com/serving"

// hooked puts the hook on the set and on its pods.
func hooked(set *appsv1beta1.CloneSet) {
	set.Spec.Lifecycle = &appsv1beta1.Lifecycle{InPlaceUpdate: &appsv1beta1.LifecycleHook{LabelsHandler: map[string]string{inPlaceHook: "yes"}}}
	set.Spec.Template.Labels[inPlaceHook] = "yes"
}

func letGo(pod *corev1.Pod)     { delete(pod.Labels, inPlaceHook) }
func holdAgain(pod *corev1.Pod) { pod.Labels[inPlaceHook] = "yes" }

var _ = Describe("The pods of a CloneSet", Label("cloneset", "workloads"), func() {
	It("come one at a time where scaleStrategy.maxUnavailable and minReadySeconds say so", func(ctx SpecContext) {
		set := shop(ctx, 1, minReady(2), func(set *appsv1beta1.CloneSet) {
			set.Spec.ScaleStrategy.MaxUnavailable = ptr.To(intstr.FromInt32(1))
		})
		edit(ctx, set, harness.Replicas(3))
		waits(ctx, set, "ScaleUpLimited")
		settled(ctx, set)
		newest := podsOf(ctx, set)
		slices.SortFunc(newest, func(a, b corev1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
		apart(newest[1:], 2*time.Second)
	}, SpecTimeout(4*time.Minute))

	It("stay PreparingNormal until they have a node, and get one when the template is mended", func(ctx SpecContext) {
		set := begun(ctx, 2, func(set *appsv1beta1.CloneSet) {
			set.Spec.Template.Spec.NodeSelector = map[string]string{"example.com/nowhere": "true"}
			set.Spec.ProgressDeadlineSeconds = ptr.To(int32(3))
		})
		waits(ctx, set, "PodsNotScheduled", "Unschedulable")
		progress := func() string {
			for _, c := range status(ctx, set).Conditions {
				if c.Type == appsv1beta1.CloneSetConditionProgressing {
					return string(c.Status) + " " + c.Reason
				}
			}
			return ""
		}
		Eventually(ctx, progress).WithTimeout(soon).Should(Equal("False " + appsv1beta1.CloneSetProgressDeadlineExceeded))
		for _, pod := range podsOf(ctx, set) {
			Expect(pods.LifecycleState(&pod)).To(Equal(appsv1beta1.LifecycleStatePreparingNormal))
		}
		edit(ctx, set, func(set *appsv1beta1.CloneSet) { set.Spec.Template.Spec.NodeSelector = nil })
		settled(ctx, set)
		Eventually(ctx, progress).WithTimeout(soon).Should(Equal("True " + appsv1beta1.CloneSetAvailable))
		for _, pod := range podsOf(ctx, set) {
			Expect(pods.LifecycleState(&pod)).To(Equal(appsv1beta1.LifecycleStateNormal))
		}
	}, SpecTimeout(4*time.Minute))

	It("are replaced when they are named, or labelled, for deletion", func(ctx SpecContext) {
		set := shop(ctx, 3)
		old := podsOf(ctx, set)
		edit(ctx, set, func(set *appsv1beta1.CloneSet) { set.Spec.ScaleStrategy.PodsToDelete = []string{old[0].Name} })
		change(ctx, &old[1], func(pod *corev1.Pod) { pod.Labels[appsv1beta1.SpecifiedDeleteKey] = "true" })
		Eventually(ctx, func(g Gomega) {
			g.Expect(member.Settled(ctx, set)).To(Succeed())
			now := harness.ByUID(podsOf(ctx, set))
			g.Expect(now).To(And(HaveLen(3), Not(HaveKey(old[0].UID)), Not(HaveKey(old[1].UID)), HaveKey(old[2].UID)))
			g.Expect(member.Get(ctx, client.ObjectKeyFromObject(set), set)).To(Succeed())
			g.Expect(set.Spec.ScaleStrategy.PodsToDelete).To(BeEmpty(), "names that are gone are trimmed")
		}).WithTimeout(soon).Should(Succeed())
	}, SpecTimeout(4*time.Minute))

	It("go back to Normal without a restart when the update they prepare for is taken back", func(ctx SpecContext) {
		set := shop(ctx, 1, hooked)
		pod := thePod(ctx, set)
		edit(ctx, set, harness.Image("web", "web:v2"))
		lifecycleState(ctx, set, appsv1beta1.LifecycleStatePreparingUpdate)
		waits(ctx, set, "LifecycleHook", inPlaceHook)
		edit(ctx, set, harness.Image("web", "web:v1"))
		lifecycleState(ctx, set, appsv1beta1.LifecycleStateNormal)
		settled(ctx, set)
		Expect(thePod(ctx, set).UID).To(Equal(pod.UID))
		Expect(thePod(ctx, set).Status.ContainerStatuses[0].RestartCount).To(BeZero())
	}, SpecTimeout(4*time.Minute))

	It("are updated again out of Updated, where an image turned out bad", func(ctx SpecContext) {
		set := shop(ctx, 1, hooked, fake("crashing-images", "web:v2"))
		uid := thePod(ctx, set).UID
		edit(ctx, set, harness.Image("web", "web:v2"))
		lifecycleState(ctx, set, appsv1beta1.LifecycleStatePreparingUpdate)
		change(ctx, thePod(ctx, set), letGo)
		lifecycleState(ctx, set, appsv1beta1.LifecycleStateUpdated)

		edit(ctx, set, harness.Image("web", "web:v1"))
		lifecycleState(ctx, set, appsv1beta1.LifecycleStatePreparingUpdate)
		Expect(thePod(ctx, set).Labels).To(HaveKeyWithValue(inPlaceHook, "yes"), "the hook is put back")
		change(ctx, thePod(ctx, set), letGo)
		lifecycleState(ctx, set, appsv1beta1.LifecycleStateUpdated)
		change(ctx, thePod(ctx, set), holdAgain)
		settled(ctx, set)
		Expect(thePod(ctx, set).UID).To(Equal(uid))
		Expect(images(ctx, set)()).To(Equal("map[web:v1:1]"))
	}, SpecTimeout(4*time.Minute))

	It("may lose all their annotations in their grace period, and nobody else is held up", func(ctx SpecContext) {
		set := shop(ctx, 3, harness.MaxUnavailable("100%"), harness.Grace(5))
		spoke, err := fleet.PID(spokeProcess)
		Expect(err).NotTo(HaveOccurred())
		edit(ctx, set, harness.Image("web", "web:v2"))
		waits(ctx, set, "GracePeriod")
		robbed := podsOf(ctx, set)[0]
		Expect(robbed.Annotations).To(HaveKey(appsv1beta1.InPlaceUpdateGraceKey))
		Expect(member.Patch(ctx, &robbed, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":null}}`)))).To(Succeed())
		Eventually(ctx, images(ctx, set)).WithTimeout(soon).Should(Equal("map[web:v1:1 web:v2:2]"))
		for _, pod := range podsOf(ctx, set) {
			if pod.UID != robbed.UID {
				Expect(graceOf(&pod)).To(BeNumerically(">=", 5*time.Second), pod.Name)
			}
		}
		edit(ctx, set, harness.Image("web", "web:v3"))
		settled(ctx, set)
		Expect(images(ctx, set)()).To(Equal("map[web:v3:3]"))
		Expect(fleet.PID(spokeProcess)).To(Equal(spoke))
		Expect(fleet.Signal(spokeProcess, 0)).To(Succeed(), "the spoke that began it still runs")
	}, SpecTimeout(4*time.Minute))
})

// graceOf is how long the containers of an updated pod were left alone after its gate was closed.
func graceOf(pod *corev1.Pod) time.Duration {
	GinkgoHelper()
	var state struct {
		UpdateTimestamp        metav1.Time
		ContainerBatchesRecord []struct{ Timestamp metav1.Time }
	}
	Expect(json.Unmarshal([]byte(pod.Annotations[appsv1beta1.InPlaceUpdateStateKey]), &state)).To(Succeed())
	Expect(state.ContainerBatchesRecord).To(HaveLen(1))
	return state.ContainerBatchesRecord[0].Timestamp.Sub(state.UpdateTimestamp.Time)
}
