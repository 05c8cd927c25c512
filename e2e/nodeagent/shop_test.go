// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package nodeagent

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/e2e/harness"
	"github.com/flotilla-sh/flotilla/internal/pods"
)

// soon bounds one step of a few pods on a busy machine.
const soon = 90 * time.Second

// shop makes a CloneSet in the first member: web servers at web:v1, a sleeper beside each, updated in place, all at once
// unless a change says otherwise. It waits until all of it runs.
func shop(ctx context.Context, replicas int32, changes ...harness.Change) *appsv1beta1.CloneSet {
	GinkgoHelper()
	set := &appsv1beta1.CloneSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: memberNamespace(ctx), Name: "web"},
		Spec: appsv1beta1.CloneSetSpec{
			Replicas: ptr.To(replicas), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
				Spec: corev1.PodSpec{
					TerminationGracePeriodSeconds: ptr.To(int64(5)),
					Containers: []corev1.Container{
						{Name: "web", Image: "web:v1", ReadinessProbe: probe(8080)}, {Name: "beside", Image: "sleeper:v1"},
					},
				},
			},
			UpdateStrategy: appsv1beta1.CloneSetUpdateStrategy{RollingUpdate: &appsv1beta1.RollingUpdateCloneSetStrategy{
				PodUpdatePolicy: appsv1beta1.InPlaceIfPossiblePodUpdateStrategyType, MaxUnavailable: ptr.To(intstr.FromString("100%")),
			}},
		},
	}
	for _, f := range changes {
		f(set)
	}
	Expect(member.Create(ctx, set)).To(Succeed())
	settled(ctx, set)
	return set
}

func probe(port int32) *corev1.Probe {
	return &corev1.Probe{
		PeriodSeconds: 1, FailureThreshold: 1,
		ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/readyz", Port: intstr.FromInt32(port)}},
	}
}

// edit makes changes to a set that exists, in one write.
func edit(ctx context.Context, set *appsv1beta1.CloneSet, changes ...harness.Change) {
	GinkgoHelper()
	Expect(member.Edit(ctx, set, changes...)).To(Succeed())
}

// settled waits until every pod is available, as many as the partition allows are updated, and nothing is under way.
func settled(ctx context.Context, set *appsv1beta1.CloneSet) {
	GinkgoHelper()
	Eventually(ctx, func() error { return member.Settled(ctx, set) }).WithTimeout(soon).Should(Succeed())
}

// waits waits until condition Waiting has the reason and says all of this.
func waits(ctx context.Context, set *appsv1beta1.CloneSet, reason string, says ...string) {
	GinkgoHelper()
	Eventually(ctx, func() error { return member.Waits(ctx, set, reason, says...) }).WithTimeout(soon).Should(Succeed())
}

// podsOf lists the pods of a set that are not being deleted.
func podsOf(ctx context.Context, set *appsv1beta1.CloneSet) []corev1.Pod {
	GinkgoHelper()
	list, err := member.Pods(ctx, set.Namespace, "web")
	Expect(err).NotTo(HaveOccurred())
	return list
}

// records reads all pods of a set from API and CRI, once the node agents report what runs.
func records(ctx context.Context, set *appsv1beta1.CloneSet) map[types.UID]record {
	GinkgoHelper()
	out := map[types.UID]record{}
	Eventually(ctx, func(g Gomega) {
		clear(out)
		list, err := member.Pods(ctx, set.Namespace, "web")
		g.Expect(err).NotTo(HaveOccurred())
		for i := range list {
			out[list[i].UID] = recordOf(ctx, g, &list[i])
		}
	}).WithTimeout(soon).Should(Succeed())
	return out
}

// sameBut wants a pod to be the one it was, in which just these containers have started anew, each once.
func sameBut(then, now record, restarted ...string) {
	GinkgoHelper()
	Expect([]string{now.node, now.ip}).To(Equal([]string{then.node, then.ip}))
	var anew []string
	for name, id := range now.running {
		if id == then.running[name] {
			Expect(now.attempts[name]).To(Equal(then.attempts[name]), name)
			Expect(now.restarts[name]).To(Equal(then.restarts[name]), name)
			continue
		}
		anew = append(anew, name)
		Expect(now.attempts[name]).To(Equal(then.attempts[name]+1), name)
		Expect(now.restarts[name]).To(Equal(then.restarts[name]+1), name)
	}
	Expect(anew).To(ConsistOf(restarted))
}

// direct reaches pods without any proxy.
var direct = &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

// version asks the pod's web server, from the host, which version it is.
func version(ctx context.Context, pod *corev1.Pod) (string, error) {
	return ask(ctx, http.MethodGet, pod, "/version", "")
}

// ask sends a request to the first port that the pod's first container is probed at.
func ask(ctx context.Context, method string, pod *corev1.Pod, path, body string) (string, error) {
	port := pod.Spec.Containers[0].ReadinessProbe.HTTPGet.Port.IntValue()
	url := fmt.Sprintf("http://%s:%d%s", pod.Status.PodIP, port, path)
	request, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	response, err := direct.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	return strings.TrimSpace(string(answer)), err
}

// versions asks every pod of a set and counts the answers.
func versions(ctx context.Context, set *appsv1beta1.CloneSet) map[string]int {
	GinkgoHelper()
	out := map[string]int{}
	for _, pod := range podsOf(ctx, set) {
		answer, err := version(ctx, &pod)
		Expect(err).NotTo(HaveOccurred(), pod.Name)
		out[answer]++
	}
	return out
}

// status of a container of a pod, as the kubelet reports it.
func status(pod *corev1.Pod, container string) corev1.ContainerStatus {
	for _, s := range pod.Status.ContainerStatuses {
		if s.Name == container {
			return s
		}
	}
	return corev1.ContainerStatus{}
}

// states counts the pods of a set in each lifecycle state.
func states(ctx context.Context, set *appsv1beta1.CloneSet) func() map[appsv1beta1.LifecycleStateType]int {
	return func() map[appsv1beta1.LifecycleStateType]int {
		GinkgoHelper()
		out := map[appsv1beta1.LifecycleStateType]int{}
		for _, pod := range podsOf(ctx, set) {
			out[pods.LifecycleState(&pod)]++
		}
		return out
	}
}
