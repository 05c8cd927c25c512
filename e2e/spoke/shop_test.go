// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package spoke

import (
	"context"
	"fmt"
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

// soon bounds one step of a few pods on a busy machine.
const soon = time.Minute

// shop makes a CloneSet of web servers at web:v1, updated in place unless a change says otherwise, and waits until all run.
func shop(ctx context.Context, replicas int32, changes ...harness.Change) *appsv1beta1.CloneSet {
	GinkgoHelper()
	set := begun(ctx, replicas, changes...)
	settled(ctx, set)
	return set
}

// begun makes the set and waits for nothing.
func begun(ctx context.Context, replicas int32, changes ...harness.Change) *appsv1beta1.CloneSet {
	GinkgoHelper()
	set := &appsv1beta1.CloneSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace(ctx), Name: "web"},
		Spec: appsv1beta1.CloneSetSpec{
			Replicas: ptr.To(replicas), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}, Annotations: map[string]string{}},
				Spec: corev1.PodSpec{
					TerminationGracePeriodSeconds: ptr.To(int64(1)), Containers: []corev1.Container{{Name: "web", Image: "web:v1"}},
				},
			},
			UpdateStrategy: appsv1beta1.CloneSetUpdateStrategy{RollingUpdate: &appsv1beta1.RollingUpdateCloneSetStrategy{
				PodUpdatePolicy: appsv1beta1.InPlaceIfPossiblePodUpdateStrategyType,
			}},
		},
	}
	for _, f := range changes {
		f(set)
	}
	Expect(member.Create(ctx, set)).To(Succeed())
	return set
}

// fake asks the simulated nodes for something, as docs/local-clusters.md lists it.
func fake(key, value string) harness.Change {
	return func(set *appsv1beta1.CloneSet) { set.Spec.Template.Annotations["fake.flotilla.sh/"+key] = value }
}

// recreate replaces pods to update them.
func recreate(set *appsv1beta1.CloneSet) {
	set.Spec.UpdateStrategy.RollingUpdate.PodUpdatePolicy = appsv1beta1.RecreatePodUpdateStrategyType
}

func minReady(seconds int32) harness.Change {
	return func(set *appsv1beta1.CloneSet) { set.Spec.MinReadySeconds = seconds }
}

func edit(ctx context.Context, set *appsv1beta1.CloneSet, changes ...harness.Change) {
	GinkgoHelper()
	Expect(member.Edit(ctx, set, changes...)).To(Succeed())
}

func settled(ctx context.Context, set *appsv1beta1.CloneSet) {
	GinkgoHelper()
	Eventually(ctx, func() error { return member.Settled(ctx, set) }).WithTimeout(soon).Should(Succeed())
}

func waits(ctx context.Context, set *appsv1beta1.CloneSet, reason string, says ...string) {
	GinkgoHelper()
	Eventually(ctx, func() error { return member.Waits(ctx, set, reason, says...) }).WithTimeout(soon).Should(Succeed())
}

// status is what the set says of itself, once it speaks of the last change.
func status(ctx context.Context, set *appsv1beta1.CloneSet) appsv1beta1.CloneSetStatus {
	GinkgoHelper()
	var got *appsv1beta1.CloneSet
	Eventually(ctx, func() (err error) {
		got, err = member.Current(ctx, set)
		return err
	}).WithTimeout(soon).Should(Succeed())
	return got.Status
}

func podsOf(ctx context.Context, set *appsv1beta1.CloneSet) []corev1.Pod {
	GinkgoHelper()
	list, err := member.Pods(ctx, set.Namespace, "web")
	Expect(err).NotTo(HaveOccurred())
	return list
}

// thePod is the one pod of a set of one.
func thePod(ctx context.Context, set *appsv1beta1.CloneSet) *corev1.Pod {
	GinkgoHelper()
	list := podsOf(ctx, set)
	Expect(list).To(HaveLen(1))
	return &list[0]
}

// images counts the pods of a set that are not being deleted, by image.
func images(ctx context.Context, set *appsv1beta1.CloneSet) func() string {
	return func() string {
		GinkgoHelper()
		count := map[string]int{}
		for _, pod := range podsOf(ctx, set) {
			count[pod.Spec.Containers[0].Image]++
		}
		return fmt.Sprint(count)
	}
}

// stays wants the images of the pods to be these, and to stay so.
func stays(ctx context.Context, set *appsv1beta1.CloneSet, want string) {
	GinkgoHelper()
	Eventually(ctx, images(ctx, set)).WithTimeout(soon).Should(Equal(want))
	Consistently(ctx, images(ctx, set)).WithTimeout(1500 * time.Millisecond).Should(Equal(want))
}

// lifecycleState waits for the lifecycle state of the one pod.
func lifecycleState(ctx context.Context, set *appsv1beta1.CloneSet, want appsv1beta1.LifecycleStateType) {
	GinkgoHelper()
	Eventually(ctx, func() appsv1beta1.LifecycleStateType { return pods.LifecycleState(thePod(ctx, set)) }).WithTimeout(soon).Should(Equal(want))
}

// change writes to a pod as others do.
func change(ctx context.Context, pod *corev1.Pod, f func(*corev1.Pod)) {
	GinkgoHelper()
	before := pod.DeepCopy()
	f(pod)
	Expect(member.Patch(ctx, pod, client.MergeFrom(before))).To(Succeed())
}
