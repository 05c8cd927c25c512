// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package setup

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/internal/testkit"
)

// cluster names a slice's cluster and the content it carries; "" when there is no slice.
func (w *world) carried(ctx context.Context, slice string) func() []string {
	return func() []string {
		var out []string
		for _, c := range w.clusters {
			one := &fleetv1alpha1.FleetSlice{}
			err := admin.Get(ctx, client.ObjectKey{Namespace: c, Name: slice}, one)
			if err != nil && !apierrors.IsNotFound(err) {
				return []string{err.Error()}
			}
			text := ""
			if err == nil {
				text = string(one.Spec.Objects[0].Raw)
			}
			out = append(out, text)
		}
		return out
	}
}

func (w *world) configMap(name, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: name}, Data: map[string]string{"a": value}}
}

func withConfigMap(name string) func(*appsv1beta1.UnitedDeployment) {
	return func(ud *appsv1beta1.UnitedDeployment) {
		c := &ud.Spec.Template.CloneSetTemplate.Spec.Template.Spec.Containers[0]
		c.EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}}}
	}
}

// told waits until an event about an object says something.
func (w *world) told(ctx context.Context, name, reason, note string) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		var list eventsv1.EventList
		g.Expect(admin.List(ctx, &list, client.InNamespace(w.ns))).To(Succeed())
		var notes []string
		for _, e := range list.Items {
			if e.Regarding.Name == name && e.Reason == reason {
				notes = append(notes, e.Note)
			}
		}
		g.Expect(notes).To(ContainElement(ContainSubstring(note)))
	}).Should(Succeed())
}

var _ = Describe("What pods need", func() {
	holding := func(texts ...string) OmegaMatcher {
		var list []any
		for _, text := range texts {
			if text == "" {
				list = append(list, BeEmpty())
				continue
			}
			list = append(list, ContainSubstring(text))
		}
		return HaveExactElements(list...)
	}

	It("goes to the clusters with them, once for all who need it, and stays with the last", func(ctx SpecContext) {
		w := newWorld(ctx, 2)
		name := "configmap." + w.ns + ".settings"
		Expect(admin.Create(ctx, w.configMap("settings", "one"))).To(Succeed())
		Expect(admin.Create(ctx, w.configMap("unneeded", "two"))).To(Succeed())
		web := w.united(4)
		withConfigMap("settings")(web)
		Expect(admin.Create(ctx, web)).To(Succeed())
		Expect(admin.Create(ctx, w.placed())).To(Succeed())
		Eventually(ctx, w.carried(ctx, name)).Should(holding(`{"a":"one"}`, `{"a":"one"}`))
		Expect(w.carried(ctx, "configmap."+w.ns+".unneeded")()).To(holding("", ""))

		By("a second workload, in one of the clusters")
		job := w.united(1)
		job.Name = "job"
		withConfigMap("settings")(job)
		Expect(admin.Create(ctx, job)).To(Succeed())
		second := w.placed(func(s *fleetv1alpha1.FleetPlacementSpec) {
			s.TargetRef.Name, s.ClusterNames, s.DeletionPolicy = "job", w.clusters[:1], fleetv1alpha1.DeletionOrphan
		})
		second.Name = "job"
		Expect(admin.Create(ctx, second)).To(Succeed())
		policies := func() []fleetv1alpha1.DeletionPolicy {
			var out []fleetv1alpha1.DeletionPolicy
			for _, c := range w.clusters {
				one := &fleetv1alpha1.FleetSlice{}
				Expect(admin.Get(ctx, client.ObjectKey{Namespace: c, Name: name}, one)).To(Succeed())
				out = append(out, one.Spec.DeletionPolicy)
			}
			return out
		}
		Eventually(ctx, policies).Should(HaveExactElements(fleetv1alpha1.DeletionOrphan, fleetv1alpha1.DeletionCascade))

		By("the content changes")
		changed := w.configMap("settings", "three")
		Expect(admin.Update(ctx, changed)).To(Succeed())
		Eventually(ctx, w.carried(ctx, name)).Should(holding(`{"a":"three"}`, `{"a":"three"}`))

		By("one workload no longer needs it")
		w.change(ctx, func(ud *appsv1beta1.UnitedDeployment) {
			ud.Spec.Template.CloneSetTemplate.Spec.Template.Spec.Containers[0].EnvFrom = nil
		})
		Eventually(ctx, w.carried(ctx, name)).Should(holding(`{"a":"three"}`, ""))

		By("the hub's own goes: the one that is needed stays, and that is told")
		Expect(admin.Delete(ctx, changed)).To(Succeed())
		w.told(ctx, "job", "NeedMissing", "ConfigMap "+w.ns+"/settings is needed by pods and is not on the hub")
		Expect(w.carried(ctx, name)()).To(holding(`{"a":"three"}`, ""))

		By("the last one goes")
		Expect(admin.Delete(ctx, second)).To(Succeed())
		Eventually(ctx, w.carried(ctx, name)).Should(holding("", ""))
	})

	It("is left to a placement that names it", func(ctx SpecContext) {
		w := newWorld(ctx, 2)
		name := "configmap." + w.ns + ".settings"
		Expect(admin.Create(ctx, w.configMap("settings", "one"))).To(Succeed())
		web := w.united(4)
		withConfigMap("settings")(web)
		Expect(admin.Create(ctx, web)).To(Succeed())
		Expect(admin.Create(ctx, w.placed())).To(Succeed())
		Eventually(ctx, w.carried(ctx, name)).Should(holding("one", "one"))
		own := w.placed(func(s *fleetv1alpha1.FleetPlacementSpec) {
			s.TargetRef = fleetv1alpha1.TargetReference{APIVersion: "v1", Kind: "ConfigMap", Name: "settings"}
			s.ClusterNames, s.Division.Mode = w.clusters[1:], fleetv1alpha1.DivisionDuplicated
		})
		own.Name = "settings"
		Expect(admin.Create(ctx, own)).To(Succeed())
		Eventually(ctx, w.carried(ctx, name)).Should(holding("", "one"))
		Expect(admin.Delete(ctx, own)).To(Succeed())
		Eventually(ctx, w.carried(ctx, name)).Should(holding("one", "one"))
	})

	It("waits for the right to read Secrets, and says so", func(ctx SpecContext) {
		w := newWorld(ctx, 1)
		name := "secret." + w.ns + ".keys"
		Expect(admin.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "keys"}, StringData: map[string]string{"k": "v"}})).To(Succeed())
		web := w.united(2)
		web.Spec.Template.CloneSetTemplate.Spec.Template.Spec.Volumes = []corev1.Volume{
			{Name: "s", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "keys"}}},
		}
		Expect(admin.Create(ctx, web)).To(Succeed())
		Expect(admin.Create(ctx, w.placed())).To(Succeed())
		w.told(ctx, "web", "NeedNotSent", "apply kustomize/following")
		Expect(w.carried(ctx, name)()).To(holding(""))
		data, err := os.ReadFile(filepath.Join(testkit.Root(), "kustomize/following/hub/role.yaml"))
		Expect(err).NotTo(HaveOccurred())
		role := &rbacv1.ClusterRole{}
		Expect(yaml.Unmarshal([]byte(strings.Split(string(data), "\n---\n")[0]), role)).To(Succeed())
		Expect(admin.Create(ctx, role)).To(Succeed())
		bindHub(ctx, role.Name)
		DeferCleanup(func(ctx SpecContext) { // other tests begin without the right
			Expect(admin.Delete(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: role.Name}})).To(Succeed())
			Expect(admin.Delete(ctx, role)).To(Succeed())
		})
		Eventually(ctx, w.carried(ctx, name)).WithTimeout(time.Minute).Should(holding(`"k":"dg=="`))
	})
})
