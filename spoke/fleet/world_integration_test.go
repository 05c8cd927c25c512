// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package fleet

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/internal/conditions"
	"github.com/flotilla-sh/flotilla/internal/testkit"
)

type numbersBySubset = map[string]int32

var serial int

// world is one spec's part of both clusters: a namespace of its own.
type world struct {
	ctx  context.Context
	ns   string
	stop func()
}

func newWorld() *world {
	serial++
	return &world{ctx: context.Background(), ns: fmt.Sprintf("shop-%d", serial)}
}

// text puts an object into this spec's namespace.
func (w *world) text(s string) string {
	return strings.ReplaceAll(s, "namespace: shop", "namespace: "+w.ns)
}

func (w *world) slice(name, text string, split, partitions numbersBySubset) *fleetv1alpha1.FleetSlice {
	s := sliceWith(GinkgoTB(), w.text(text), split, partitions)
	s.UID, s.Generation, s.Name = "", 0, name+"."+w.ns
	s.Spec.Source.Namespace = w.ns
	return s
}

func (w *world) create(s *fleetv1alpha1.FleetSlice) *fleetv1alpha1.FleetSlice {
	GinkgoHelper()
	Expect(hubAdmin.Create(w.ctx, s)).To(Succeed())
	return s
}

// change updates a slice's spec.
func (w *world) change(s *fleetv1alpha1.FleetSlice, mutate func()) {
	GinkgoHelper()
	Eventually(func() error {
		if err := hubAdmin.Get(w.ctx, client.ObjectKeyFromObject(s), s); err != nil {
			return err
		}
		mutate()
		return hubAdmin.Update(w.ctx, s)
	}).Should(Succeed())
}

// numbers replaces split and partitions by those of another slice.
func (w *world) numbers(s *fleetv1alpha1.FleetSlice, text string, split, partitions numbersBySubset) {
	other := w.slice("x", text, split, partitions)
	s.Spec.Objects, s.Spec.Split, s.Spec.Partitions = other.Spec.Objects, other.Spec.Split, other.Spec.Partitions
}

func (w *world) status(s *fleetv1alpha1.FleetSlice) fleetv1alpha1.FleetSliceStatus {
	GinkgoHelper()
	var got fleetv1alpha1.FleetSlice
	Expect(hubAdmin.Get(w.ctx, client.ObjectKeyFromObject(s), &got)).To(Succeed())
	return got.Status
}

// applied waits for condition Applied of the newest generation.
func (w *world) applied(s *fleetv1alpha1.FleetSlice, reason string) string {
	GinkgoHelper()
	var message string
	Eventually(func() string {
		var got fleetv1alpha1.FleetSlice
		Expect(hubAdmin.Get(w.ctx, client.ObjectKeyFromObject(s), &got)).To(Succeed())
		c := conditions.Find(got.Status.Conditions, fleetv1alpha1.SliceConditionApplied)
		if c == nil || got.Status.ObservedGeneration != got.Generation {
			return "not observed"
		}
		message = c.Message
		return c.Reason
	}).Should(Equal(reason))
	return message
}

func (w *world) ud() *appsv1beta1.UnitedDeployment {
	var got appsv1beta1.UnitedDeployment
	if err := memberAdmin.Get(w.ctx, client.ObjectKey{Namespace: w.ns, Name: "web"}, &got); err != nil {
		return nil
	}
	return &got
}

// shape is the member's UnitedDeployment in short.
func (w *world) shape() string {
	ud := w.ud()
	if ud == nil {
		return "absent"
	}
	out := fmt.Sprintf("%d", ptr.Deref(ud.Spec.Replicas, -1))
	for _, s := range ud.Spec.Topology.Subsets {
		partition := int32(-1)
		if ud.Spec.UpdateStrategy.ManualUpdate != nil {
			if n, ok := ud.Spec.UpdateStrategy.ManualUpdate.Partitions[s.Name]; ok {
				partition = n
			}
		}
		replicas := -1
		if s.Replicas != nil {
			replicas = s.Replicas.IntValue()
		}
		out += fmt.Sprintf(" %s:%d/%d/%d", s.Name, replicas, partition, len(s.NodeSelectorTerm.MatchExpressions))
	}
	return out + " " + ud.Spec.Template.CloneSetTemplate.Spec.Template.Spec.Containers[0].Image
}

func (w *world) writes(since time.Time) []testkit.Write {
	return append(memberServer.Writes(GinkgoTB(), memberAgent, since), hubServer.Writes(GinkgoTB(), hubAgent, since)...)
}

// quiet waits for the last write and then watches that there is none.
func (w *world) quiet() {
	GinkgoHelper()
	var since time.Time
	Eventually(func() int {
		since = time.Now()
		time.Sleep(1200 * time.Millisecond)
		return len(w.writes(since))
	}).Should(BeZero())
	since = time.Now()
	Consistently(func() any { return w.writes(since) }, 6*time.Second, 500*time.Millisecond).Should(BeEmpty())
}

func replaced(what, by string) string { return strings.ReplaceAll(udText, what, by) }

// cloneSet makes a subset's workload.
func (w *world) cloneSet(ud *appsv1beta1.UnitedDeployment, subset string, replicas int32) *appsv1beta1.CloneSet {
	GinkgoHelper()
	template := ud.Spec.Template.CloneSetTemplate.Spec
	set := &appsv1beta1.CloneSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.ns, Name: "web-" + subset, Labels: map[string]string{appsv1beta1.SubsetNameLabel: subset},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(ud, unitedDeployment)},
		},
		Spec: appsv1beta1.CloneSetSpec{Replicas: &replicas, Selector: template.Selector, Template: template.Template},
	}
	Expect(memberAdmin.Create(w.ctx, set)).To(Succeed())
	return set
}

func (w *world) pod(set *appsv1beta1.CloneSet, revision string, ready bool) {
	GinkgoHelper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.ns, GenerateName: "p-", Labels: map[string]string{appsv1beta1.SubsetRevisionLabel: revision},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1beta1.SchemeGroupVersion.WithKind("CloneSet"))},
		},
		Spec: set.Spec.Template.Spec,
	}
	Expect(memberAdmin.Create(w.ctx, pod)).To(Succeed())
	change := unschedulable("no node")
	if ready {
		change = func(*corev1.Pod) {}
	}
	pod.Status = podAt(revision, ready, change).Status
	Expect(memberAdmin.Status().Update(w.ctx, pod)).To(Succeed())
}

// owners are the server-side appliers of an object's own fields.
func owners(obj client.Object) []string {
	var out []string
	for _, e := range obj.GetManagedFields() {
		if e.Operation == metav1.ManagedFieldsOperationApply && e.Subresource == "" {
			out = append(out, e.Manager)
		}
	}
	return out
}

func writeKubeconfig(file, server string) {
	GinkgoHelper()
	cfg := clientcmdapi.NewConfig()
	cfg.Clusters["hub"] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: hubAccess.CAData}
	cfg.AuthInfos["agent"] = &clientcmdapi.AuthInfo{ClientCertificateData: hubAccess.CertData, ClientKeyData: hubAccess.KeyData}
	cfg.Contexts["x"] = &clientcmdapi.Context{Cluster: "hub", AuthInfo: "agent"}
	cfg.CurrentContext = "x"
	Expect(clientcmd.WriteToFile(*cfg, file)).To(Succeed())
}
