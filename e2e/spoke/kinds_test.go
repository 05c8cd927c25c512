// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package spoke

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-sh/flotilla/e2e/harness"
	"github.com/flotilla-sh/flotilla/internal/testkit"
)

// kind is a kind as its users know it.
type kind struct {
	group, plural string
	// short is what it is called in short.
	short string
	// versions are served; the last is stored.
	versions []string
	// change is a merge patch of the spec that is good in each version, value what it says at path.
	change string
	path   []string
	value  any
	// scales: it has the scale subresource.
	scales bool
}

var both, old = []string{"v1alpha1", "v1beta1"}, []string{"v1alpha1"}

// kinds are all there are, each with a change that its users may make.
var kinds = []kind{
	{"apps.kruise.io", "advancedcronjobs", "acj", both, `{"paused":true}`, []string{"paused"}, true, false},
	{"apps.kruise.io", "broadcastjobs", "bcj", both, `{"paused":true}`, []string{"paused"}, true, false},
	{"apps.kruise.io", "clonesets", "clone", both, `{"minReadySeconds":1}`, []string{"minReadySeconds"}, int64(1), true},
	{"apps.kruise.io", "configmapsets", "", old, `{"data":{"app.conf":"k=w"}}`, []string{"data", "app.conf"}, "k=w", false},
	{"apps.kruise.io", "containerrecreaterequests", "crr", both, "", nil, nil, false},
	{"apps.kruise.io", "daemonsets", "ads", both, `{"minReadySeconds":1}`, []string{"minReadySeconds"}, int64(1), false},
	{"apps.kruise.io", "ephemeraljobs", "ejob", old, `{"paused":true}`, []string{"paused"}, true, false},
	{"apps.kruise.io", "imagelistpulljobs", "", both, `{"completionPolicy":{"ttlSecondsAfterFinished":900}}`, []string{"completionPolicy", "ttlSecondsAfterFinished"}, int64(900), false},
	{"apps.kruise.io", "imagepulljobs", "", both, `{"completionPolicy":{"ttlSecondsAfterFinished":900}}`, []string{"completionPolicy", "ttlSecondsAfterFinished"}, int64(900), false},
	{"apps.kruise.io", "nodeimages", "", both, `{"images":{"nginx":{"tags":[{"tag":"1.27","pullPolicy":{"ttlSecondsAfterFinished":9}}]}}}`, nil, nil, false},
	{"apps.kruise.io", "nodepodprobes", "", old, `{"podProbes":[{"name":"p","namespace":"n","uid":"u","IP":"192.0.2.1"}]}`, nil, nil, false},
	{"apps.kruise.io", "persistentpodstates", "", both, `{"persistentPodAnnotations":[{"key":"a"}]}`, nil, nil, false},
	{"apps.kruise.io", "podprobemarkers", "", old, `{"probes":[{"name":"Idle","containerName":"other","probe":{"exec":{"command":["true"]}},"podConditionType":"game.io/idle"}]}`, nil, nil, false},
	{"apps.kruise.io", "resourcedistributions", "distributor", both, `{"targets":{"includedNamespaces":{"list":[{"name":"default"}]}}}`, nil, nil, false},
	{"apps.kruise.io", "sidecarsets", "", both, `{"updateStrategy":{"partition":1}}`, []string{"updateStrategy", "partition"}, int64(1), false},
	{"apps.kruise.io", "statefulsets", "asts", both, `{"updateStrategy":{"rollingUpdate":{"partition":1}}}`, []string{"updateStrategy", "rollingUpdate", "partition"}, int64(1), true},
	{"apps.kruise.io", "uniteddeployments", "ud", both, `{"revisionHistoryLimit":3}`, []string{"revisionHistoryLimit"}, int64(3), true},
	{"apps.kruise.io", "workloadspreads", "ws", both, `{"scheduleStrategy":{"type":"Adaptive"}}`, []string{"scheduleStrategy", "type"}, "Adaptive", false},
	{"policy.kruise.io", "podunavailablebudgets", "pub", both, `{"maxUnavailable":2}`, []string{"maxUnavailable"}, int64(2), false},
	{"rollouts.kruise.io", "batchreleases", "", both, `{"releasePlan":{"batches":[{"canaryReplicas":1}]}}`, nil, nil, false},
	{"rollouts.kruise.io", "rollouthistories", "", old, `{"rollout":{"rolloutID":"2","name":"web"}}`, []string{"rollout", "rolloutID"}, "2", false},
	{"rollouts.kruise.io", "rollouts", "", both, `{"disabled":true}`, []string{"disabled"}, true, false},
	{"rollouts.kruise.io", "trafficroutings", "", old, `{"strategy":{"weight":30}}`, []string{"strategy", "weight"}, int64(30), false},
}

// in names the kind in a version, as kubectl takes it.
func (k kind) in(version string) string { return k.plural + "." + version + "." + k.group }

var _ = Describe("Every kind", Label("kinds"), func() {
	for _, k := range kinds {
		It("is created, read in each version, changed, scaled and deleted: "+k.plural, Label(strings.TrimSuffix(k.plural, "s")), func(ctx SpecContext) {
			ns := namespace(ctx)
			if k.plural == "containerrecreaterequests" {
				running(ctx, ns, "pod-1")
			}
			if k.plural == "nodepodprobes" {
				node(ctx, ns) // without it, there is nothing for the object to be about
			}
			for _, version := range k.versions {
				k.lives(ctx, ns, version)
			}
		}, SpecTimeout(3*time.Minute))
	}

	It("is in the table above", func(ctx SpecContext) {
		out, err := member.Kubectl(ctx, "", "get", "crd", "-o", "name")
		Expect(err).NotTo(HaveOccurred())
		var want, got []string
		for _, k := range kinds {
			want = append(want, "customresourcedefinition.apiextensions.k8s.io/"+k.plural+"."+k.group)
		}
		for _, crd := range strings.Fields(out) {
			if strings.HasSuffix(crd, ".kruise.io") {
				got = append(got, crd)
			}
		}
		Expect(got).To(ConsistOf(want))
	}, SpecTimeout(time.Minute))
})

// node makes a node that no kubelet serves, until the test ends.
func node(ctx context.Context, name string) {
	GinkgoHelper()
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	Expect(member.Create(ctx, n)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(client.IgnoreNotFound(member.Delete(ctx, n))).To(Succeed()) })
}

// lives takes one object through its life in one version.
func (k kind) lives(ctx context.Context, ns, version string) {
	GinkgoHelper()
	sent := k.minimal(ns, version)
	text, err := json.Marshal(sent)
	Expect(err).NotTo(HaveOccurred())
	k.run(ctx, ns, string(text), "create", "-f", "-")
	k.holds(ctx, sent, func(obj *unstructured.Unstructured) {
		for field := range sent.Object["spec"].(map[string]any) {
			if obj.GetAPIVersion() == sent.GetAPIVersion() {
				Expect(obj.Object["spec"]).To(HaveKey(field))
			}
		}
	})
	k.tells(ctx, ns, sent.GetName(), version)

	patch := `{"metadata":{"labels":{"changed":"` + version + `"}}`
	if k.change != "" {
		patch += `,"spec":` + k.change
	}
	k.run(ctx, ns, "", "patch", k.in(version), sent.GetName(), "--type=merge", "-p", patch+"}")
	k.holds(ctx, sent, func(obj *unstructured.Unstructured) {
		Expect(obj.GetLabels()).To(HaveKeyWithValue("changed", version), obj.GetAPIVersion())
		if k.path != nil {
			got, _, err := unstructured.NestedFieldNoCopy(obj.Object, append([]string{"spec"}, k.path...)...)
			Expect(err).NotTo(HaveOccurred())
			Expect(got).To(Equal(k.value), "%v in %s", k.path, obj.GetAPIVersion())
		}
	})
	if k.scales {
		k.isScaled(ctx, sent)
	}
	k.run(ctx, ns, "", "delete", k.in(version), sent.GetName(), "--timeout=60s")
	Expect(apierrors.IsNotFound(member.Get(ctx, client.ObjectKeyFromObject(sent), sent.DeepCopy()))).To(BeTrue(), "it is gone")
}

// tells wants kubectl to explain the kind in a version, to list it with its columns, and to know its short name.
func (k kind) tells(ctx context.Context, ns, name, version string) {
	GinkgoHelper()
	crd := struct {
		Spec struct {
			Versions []struct {
				Name                     string
				AdditionalPrinterColumns []struct {
					Name     string
					Priority int
				}
			}
		}
	}{}
	Expect(json.Unmarshal([]byte(k.run(ctx, ns, "", "get", "crd", k.plural+"."+k.group, "-o", "json")), &crd)).To(Succeed())
	header, _, _ := strings.Cut(k.run(ctx, ns, "", "get", k.in(version), name), "\n")
	for _, v := range crd.Spec.Versions {
		for _, column := range v.AdditionalPrinterColumns {
			if v.Name == version && column.Priority == 0 {
				Expect(header).To(ContainSubstring(strings.ToUpper(column.Name)))
			}
		}
	}
	// The API server publishes the schema of a kind some time after it serves the kind.
	Eventually(ctx, func() (string, error) {
		return member.Kubectl(ctx, "", "explain", k.plural+".spec", "--api-version", k.group+"/"+version)
	}).Should(And(ContainSubstring("VERSION:    "+version), MatchRegexp(`DESCRIPTION:\n +[^\s<]+`)))
	if k.short != "" {
		Expect(k.run(ctx, ns, "", "get", k.short, "-o", "name")).To(ContainSubstring("/" + name))
	}
}

// isScaled scales as kubectl does, then as old clients do, who write a scale without a resourceVersion.
func (k kind) isScaled(ctx context.Context, sent *unstructured.Unstructured) {
	GinkgoHelper()
	version := sent.GroupVersionKind().Version
	k.run(ctx, sent.GetNamespace(), "", "scale", k.in(version), sent.GetName(), "--replicas=2")
	k.hasReplicas(ctx, sent, 2)
	body := fmt.Sprintf(`{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":%q,"namespace":%q},"spec":{"replicas":3}}`, sent.GetName(), sent.GetNamespace())
	path := "/apis/" + sent.GetAPIVersion() + "/namespaces/" + sent.GetNamespace() + "/" + k.plural + "/" + sent.GetName() + "/scale"
	_, err := kubernetes.NewForConfigOrDie(member.Config).RESTClient().Put().AbsPath(path).
		SetHeader("Content-Type", "application/json").Body([]byte(body)).DoRaw(ctx)
	Expect(err).NotTo(HaveOccurred())
	k.hasReplicas(ctx, sent, 3)
}

func (k kind) hasReplicas(ctx context.Context, sent *unstructured.Unstructured, want int64) {
	GinkgoHelper()
	k.holds(ctx, sent, func(obj *unstructured.Unstructured) {
		got, _, err := unstructured.NestedInt64(obj.Object, "spec", "replicas")
		Expect(err).NotTo(HaveOccurred())
		Expect(got).To(Equal(want), obj.GetAPIVersion())
	})
}

// holds reads an object in each version and checks it.
func (k kind) holds(ctx context.Context, sent *unstructured.Unstructured, check func(*unstructured.Unstructured)) {
	GinkgoHelper()
	for _, version := range k.versions {
		obj := &unstructured.Unstructured{}
		obj.SetAPIVersion(k.group + "/" + version)
		obj.SetKind(sent.GetKind())
		Expect(member.Get(ctx, client.ObjectKeyFromObject(sent), obj)).To(Succeed(), "reading it in %s", version)
		check(obj)
	}
}

// run runs kubectl in a namespace.
func (k kind) run(ctx context.Context, ns, stdin string, args ...string) string {
	GinkgoHelper()
	out, err := member.Kubectl(ctx, stdin, append([]string{"-n", ns}, args...)...)
	Expect(err).NotTo(HaveOccurred())
	return out
}

// minimal is the least that users write of a kind in a version. An object without a namespace is named after it.
func (k kind) minimal(ns, version string) *unstructured.Unstructured {
	GinkgoHelper()
	data, err := os.ReadFile(filepath.Join(testkit.Root(), "hack", "manifests", "testdata", "objects", k.plural+".yaml"))
	Expect(err).NotTo(HaveOccurred())
	for _, document := range strings.Split(string(data), "\n---\n") {
		obj := &unstructured.Unstructured{}
		Expect(yaml.Unmarshal([]byte(document), &obj.Object)).To(Succeed())
		if obj.GetName() != "minimal-"+version {
			continue
		}
		if k.plural == "nodeimages" {
			obj.SetLabels(map[string]string{"apps.kruise.io/fake-nodeimage": "true"}) // without a node, and its labels
		}
		if obj.GetNamespace() == "" {
			obj.SetName(ns)
		} else {
			obj.SetNamespace(ns)
		}
		delete(obj.Object, "status")
		return obj
	}
	Fail("no minimal object of " + k.in(version))
	return nil
}

// running makes a pod with one container, app, that runs.
func running(ctx context.Context, ns, name string) {
	GinkgoHelper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Labels: map[string]string{"app": "web"}},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: new(int64),
			Containers:                    []corev1.Container{{Name: "app", Image: "web:v1"}},
		},
	}
	Expect(member.Create(ctx, pod)).To(Succeed())
	Eventually(ctx, func() (int, error) {
		pods, err := member.Pods(ctx, ns, "web")
		return harness.CountReady(pods, "web:v1"), err
	}).Should(Equal(1))
}
