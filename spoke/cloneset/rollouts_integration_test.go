//go:build integration

// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/conditions"
	"github.com/flotilla-sh/flotilla/internal/testkit"
)

var _ = Describe("rollouts by API alone", func() {
	var (
		ctx context.Context
		ns  string
	)
	BeforeEach(func() {
		ctx = context.Background()
		ns = newNamespace(ctx)
		run := startSpoke(Options{})
		DeferCleanup(func() { run.stop() })
	})

	It("go as docs/rollouts.md says, command by command", func() {
		run := commandsOf(ns, "docs/rollouts.md")
		set := newSet(ns, 10, appsv1beta1.InPlaceIfPossiblePodUpdateStrategyType)
		Expect(admin.Create(ctx, set)).To(Succeed())
		Eventually(status(ctx, set)).Should(haveCounts(10, 10, 10))
		before := listPods(ctx, ns)

		run("canary")
		Eventually(status(ctx, set)).Should(haveCounts(10, 2, 2))
		Expect(run("done")).To(Equal("true"))
		Eventually(func() string { return run("waiting") }).Should(Equal("partition 8 keeps 8 pods at the old revision"))
		Expect(run("go on")).To(ContainSubstring(status(ctx, set)().UpdateRevision))
		Eventually(status(ctx, set)).Should(haveCounts(10, 5, 5))
		run("pause")
		Eventually(func() string { return run("waiting") }).Should(HavePrefix("updateStrategy.rollingUpdate.paused is true"))
		run("resume")
		Eventually(func() string { return run("waiting") }).Should(HavePrefix("partition 5 keeps"))
		Expect(run("deadline")).To(BeEmpty(), "there is none")

		history := strings.Split(run("history"), "\n")
		Expect(history).To(HaveLen(2))
		first, second := strings.Fields(history[0]), strings.Fields(history[1])
		Expect(first).To(HaveExactElements("1", status(ctx, set)().CurrentRevision, "web:1"))
		Expect(second).To(HaveExactElements("2", status(ctx, set)().UpdateRevision, "web:2"))

		run("undo")
		Eventually(status(ctx, set)).Should(haveCounts(10, 10, 10))
		Expect(images(listPods(ctx, ns))).To(Equal(map[string]int{"web:1": 10}))
		Expect(uids(listPods(ctx, ns))).To(ConsistOf(uids(before)), "in place")
		Expect(historyOf(ctx, ns)()).To(Equal(map[string]int64{first[1]: 3, second[1]: 2}), "no new revision, the old one is the newest")
		Eventually(func() string { return run("waiting") }).Should(BeEmpty())
	})

	// back writes the template of an old revision into the set, in one of the ways there are.
	for name, back := range map[string]func(set *appsv1beta1.CloneSet, revision *appsv1.ControllerRevision) error{
		"a strategic merge of the revision's data, made by the client": func(set *appsv1beta1.CloneSet, revision *appsv1.ControllerRevision) error {
			raw, err := json.Marshal(set)
			if err != nil {
				return err
			}
			merged, err := strategicpatch.StrategicMergePatch(raw, revision.Data.Raw, &appsv1beta1.CloneSet{})
			if err != nil {
				return err
			}
			after := &appsv1beta1.CloneSet{}
			if err := json.Unmarshal(merged, after); err != nil {
				return err
			}
			return admin.Update(context.Background(), after)
		},
		"a JSON patch that replaces the template with the revision's, as it is": func(set *appsv1beta1.CloneSet, revision *appsv1.ControllerRevision) error {
			var data struct {
				Spec struct{ Template json.RawMessage }
			}
			if err := json.Unmarshal(revision.Data.Raw, &data); err != nil {
				return err
			}
			body := fmt.Sprintf(`[{"op":"replace","path":"/spec/template","value":%s}]`, data.Spec.Template)
			return admin.Patch(context.Background(), set, client.RawPatch(types.JSONPatchType, []byte(body)))
		},
	} {
		It("go back in place by "+name, func() {
			set := newSet(ns, 3, appsv1beta1.InPlaceIfPossiblePodUpdateStrategyType)
			Expect(admin.Create(ctx, set)).To(Succeed())
			Eventually(status(ctx, set)).Should(haveCounts(3, 3, 3))
			before, old := listPods(ctx, ns), status(ctx, set)().UpdateRevision
			edit(ctx, set, func(s *appsv1beta1.CloneSet) {
				s.Spec.Template.Spec.Containers[0].Image = "web:2"
				s.Spec.Template.Annotations = map[string]string{"added": "by the second"}
			})
			Eventually(status(ctx, set)).Should(haveCounts(3, 3, 3))
			Expect(listPods(ctx, ns)).To(HaveEach(HaveField("Annotations", HaveKey("added"))))

			var revision appsv1.ControllerRevision
			Expect(admin.Get(ctx, client.ObjectKey{Namespace: ns, Name: old}, &revision)).To(Succeed())
			Eventually(func() error {
				Expect(admin.Get(ctx, client.ObjectKeyFromObject(set), set)).To(Succeed())
				return back(set, &revision)
			}).Should(Succeed())
			Eventually(status(ctx, set)).Should(SatisfyAll(haveCounts(3, 3, 3), HaveField("UpdateRevision", old)))
			pods := listPods(ctx, ns)
			Expect(uids(pods)).To(ConsistOf(uids(before)))
			Expect(images(pods)).To(Equal(map[string]int{"web:1": 3}))
			Expect(pods).To(HaveEach(HaveField("Annotations", Not(HaveKey("added")))))
			Expect(historyOf(ctx, ns)()).To(SatisfyAll(HaveLen(2), HaveKeyWithValue(old, BeNumerically("==", 3))))
		})
	}

	It("wake up by themselves when minReadySeconds have passed, one pod after the other (CS-31)", func() {
		set := newSet(ns, 2, appsv1beta1.InPlaceIfPossiblePodUpdateStrategyType)
		one := intstr.FromInt32(1)
		set.Spec.MinReadySeconds, set.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable = 2, &one
		Expect(admin.Create(ctx, set)).To(Succeed())
		Eventually(status(ctx, set)).Should(HaveField("Conditions", ContainElement(SatisfyAll(
			HaveField("Reason", "MinReadySeconds"), HaveField("Message", MatchRegexp(`web-\w+.*until \d{4}-`))))))
		Eventually(status(ctx, set)).Should(haveCounts(2, 2, 2))
		edit(ctx, set, func(s *appsv1beta1.CloneSet) { s.Spec.Template.Spec.Containers[0].Image = "web:2" })
		start := time.Now()
		Eventually(status(ctx, set)).Should(haveCounts(2, 2, 2))
		Expect(time.Since(start)).To(BeNumerically(">=", 3*time.Second), "two pods, 2 s each, by times in whole seconds")
		Expect(status(ctx, set)().Conditions).To(BeEmpty())
	})

	It("exceed their deadline and say so until they are through", func() {
		set := newSet(ns, 2, appsv1beta1.InPlaceIfPossiblePodUpdateStrategyType)
		deadline := int32(2)
		set.Spec.ProgressDeadlineSeconds = &deadline
		set.Spec.Lifecycle = &appsv1beta1.Lifecycle{PreNormal: &appsv1beta1.LifecycleHook{FinalizersHandler: []string{"example.com/normal"}}}
		Expect(admin.Create(ctx, set)).To(Succeed())
		progressing := func() *appsv1beta1.Condition {
			return conditions.FindCompat(status(ctx, set)().Conditions, appsv1beta1.CloneSetConditionProgressing)
		}
		Eventually(progressing).Should(HaveField("Reason", appsv1beta1.CloneSetProgressDeadlineExceeded))
		Expect(status(ctx, set)()).To(SatisfyAll(HaveField("ReadyReplicas", int32(2)), HaveField("AvailableReplicas", int32(0))))
		for _, pod := range listPods(ctx, ns) {
			before := pod.DeepCopy()
			pod.Finalizers = []string{"example.com/normal"}
			Expect(admin.Patch(ctx, &pod, client.MergeFrom(before))).To(Succeed())
		}
		Eventually(progressing).Should(HaveField("Reason", appsv1beta1.CloneSetAvailable))
	})
})

// commandsOf reads the commands of a page, each block under its name, and returns what runs one of them in a namespace
// and gives what it prints.
func commandsOf(ns, page string) func(name string) string {
	GinkgoHelper()
	text, err := os.ReadFile(filepath.Join(testkit.Root(), page))
	Expect(err).NotTo(HaveOccurred())
	blocks := map[string]string{}
	for _, found := range regexp.MustCompile("(?s)<!-- run: ([a-z ]+) -->\n```sh\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		blocks[found[1]] = found[2]
	}
	_, err = exec.LookPath("jq")
	Expect(err).NotTo(HaveOccurred(), "install jq (apt-get install jq): the page's commands need it")
	dir := GinkgoTB().TempDir()
	script := fmt.Sprintf("#!/bin/sh\nexec '%s' --kubeconfig '%s' --namespace %s \"$@\"\n", testkit.Program("kubectl"), server.Kubeconfig(GinkgoTB()), ns)
	Expect(os.WriteFile(filepath.Join(dir, "kubectl"), []byte(script), 0o700)).To(Succeed()) //nolint:gosec // a program
	return func(name string) string {
		GinkgoHelper()
		Expect(blocks).To(HaveKey(name))
		cmd := exec.Command("sh", "-e", "-c", blocks[name]) //nolint:gosec // from our own page
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		Expect(err).NotTo(HaveOccurred(), "%s: %s", name, out)
		return strings.TrimSpace(string(out))
	}
}
