// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package realnodes_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
)

// webPod is a pod of the sample web server, ready after half a second, and of a sleeper.
func webPod(name, node string) *corev1.Pod {
	probe := &corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{
		HTTPGet: &corev1.HTTPGetAction{Path: "/readyz", Port: intstr.FromInt32(8080)},
	}}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec: corev1.PodSpec{
			NodeName: node,
			Containers: []corev1.Container{
				{Name: "web", Image: "web:v1", Args: []string{"--ready-delay=500ms"}, ReadinessProbe: probe},
				{Name: "side", Image: "flotilla.local/sleeper:v1"},
			},
		},
	}
}

// ready creates the pod unless it is there, and returns it once it is Ready.
func ready(ctx context.Context, client kubernetes.Interface, pod *corev1.Pod, timeout time.Duration) *corev1.Pod {
	GinkgoHelper()
	if pod.UID == "" {
		_, err := client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
	}
	var out *corev1.Pod
	Eventually(func(g Gomega) {
		var err error
		out, err = client.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(out.Status.Conditions).To(ContainElement(And(HaveField("Type", corev1.PodReady), HaveField("Status", corev1.ConditionTrue))))
	}, timeout, "100ms").Should(Succeed())
	return out
}

// get asks the pod's web server from the host, and returns what went wrong where something did.
func get(pod *corev1.Pod, path string) string {
	response, err := (&http.Client{Timeout: time.Second}).Get("http://" + pod.Status.PodIP + ":8080" + path)
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err.Error()
	}
	return string(body)
}

// execute runs the command in the pod's container side.
func execute(ctx context.Context, config *rest.Config, client kubernetes.Interface, pod string, command ...string) (string, error) {
	request := client.CoreV1().RESTClient().Post().Resource("pods").Namespace("default").Name(pod).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Container: "side", Command: command, Stdout: true, Stderr: true}, scheme.ParameterCodec)
	executor, err := remotecommand.NewWebSocketExecutor(config, http.MethodGet, request.URL().String())
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	err = executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: &out, Stderr: GinkgoWriter})
	return out.String(), err
}
