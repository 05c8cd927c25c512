//go:build integration

// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/features"
	"github.com/flotilla-sh/flotilla/internal/testkit"
)

const pullAgent = "flotilla-spoke-pull"

var (
	server *testkit.Server
	admin  client.WithWatch
)

func TestPulling(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(30 * time.Second)
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	RunSpecs(t, "pulling images ahead on a real API server")
}

var _ = BeforeSuite(func(ctx context.Context) {
	ctrl.SetLogger(zap.New(zap.WriteTo(GinkgoWriter), zap.UseDevMode(true)))
	Expect(features.Gate.SetFromMap(map[string]bool{string(features.ImagePullJobGate): true})).To(Succeed())
	server = testkit.Start(GinkgoTB())
	cfg := server.ConfigFor("admin")
	cfg.QPS = -1
	var err error
	admin, err = client.NewWithWatch(cfg, client.Options{Scheme: Scheme()})
	Expect(err).NotTo(HaveOccurred())
	for _, name := range []string{appsv1beta1.KruiseDaemonConfigNamespace} {
		Expect(admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})).To(Succeed())
	}
	grantSpoke(ctx, appsv1beta1.KruiseDaemonConfigNamespace)
})

// startPulling runs the controllers, and more of them, in a manager of their own until the spec ends or stop is called.
func startPulling(o Options, more ...func(manager.Manager) error) (stop func()) {
	mgr, err := ctrl.NewManager(asSpoke(), manager.Options{
		Scheme:     Scheme(),
		Cache:      cache.Options{DefaultTransform: cache.TransformStripManagedFields()},
		Client:     client.Options{Cache: &client.CacheOptions{EnableReadYourWritesConsistency: ptr.To(true)}},
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: ptr.To(true), MaxConcurrentReconciles: 3},
	})
	Expect(err).NotTo(HaveOccurred())
	Expect(addPulling(mgr, o)).To(Succeed())
	for _, add := range more {
		Expect(add(mgr)).To(Succeed())
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer GinkgoRecover()
		defer close(done)
		Expect(mgr.Start(ctx)).To(Succeed())
	}()
	stop = sync.OnceFunc(func() { cancel(); <-done })
	DeferCleanup(stop)
	return stop
}

func writesSince(since time.Time) []testkit.Write { return server.Writes(GinkgoTB(), pullAgent, since) }

// agents play the node agents: what a NodeImage asks for is pulled after a while. Images called broken fail, and nodes
// labelled silent do nothing.
type agents struct {
	pace time.Duration

	mu   sync.Mutex
	busy map[string]map[string]bool
	most map[string]int
}

func startAgents(pace time.Duration) *agents {
	a := &agents{pace: pace, busy: map[string]map[string]bool{}, most: map[string]int{}}
	ctx, cancel := context.WithCancel(context.Background())
	events, err := admin.Watch(ctx, &appsv1beta1.NodeImageList{})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(cancel)
	go func() {
		for e := range events.ResultChan() {
			if node, ok := e.Object.(*appsv1beta1.NodeImage); ok && node.Labels["silent"] == "" {
				a.see(ctx, node)
			}
		}
	}()
	return a
}

func (a *agents) see(ctx context.Context, node *appsv1beta1.NodeImage) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for image, spec := range node.Spec.Images {
		for _, tag := range spec.Tags {
			status := node.TagStatus(image, tag.Tag, tag.Version)
			if status != nil && status.CompletionTime != nil {
				delete(a.busy[image], node.Name)
				continue
			}
			if a.busy[image] == nil {
				a.busy[image] = map[string]bool{}
			}
			if !a.busy[image][node.Name] {
				a.busy[image][node.Name] = true
				go a.pull(ctx, node.Name, image, tag)
			}
			a.most[image] = max(a.most[image], len(a.busy[image]))
		}
	}
}

func (a *agents) pull(ctx context.Context, node, image string, tag appsv1beta1.ImageTagSpec) {
	time.Sleep(a.pace/2 + rand.N(a.pace)) //nolint:gosec // a node that takes a while
	for ctx.Err() == nil {
		var obj appsv1beta1.NodeImage
		if admin.Get(ctx, client.ObjectKey{Name: node}, &obj) != nil {
			return
		}
		old := obj.DeepCopy()
		entry := appsv1beta1.ImageTagStatus{Tag: tag.Tag, Version: tag.Version, Phase: "Succeeded", Progress: 100, CompletionTime: ptr.To(metav1.Now()), ImageID: image + "@sha256:1"}
		if image == "broken" {
			entry.Phase, entry.Message, entry.ImageID = "Failed", "no such image", ""
		}
		tags := []appsv1beta1.ImageTagStatus{entry}
		for _, s := range obj.Status.ImageStatuses[image].Tags {
			if s.Tag != tag.Tag {
				tags = append(tags, s)
			}
		}
		if obj.Status.ImageStatuses == nil {
			obj.Status.ImageStatuses = map[string]appsv1beta1.ImageStatus{}
		}
		obj.Status.ImageStatuses[image] = appsv1beta1.ImageStatus{Tags: tags}
		if admin.Status().Patch(ctx, &obj, client.MergeFromWithOptions(old, client.MergeFromWithOptimisticLock{})) == nil {
			return
		}
	}
}

func (a *agents) mostAtOnce(image string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.most[image]
}

// newNodes makes nodes that have been ready for long, and waits for their NodeImages.
func newNodes(ctx context.Context, prefix string, count int, labels map[string]string) []string {
	var names []string
	for i := range count {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%03d", prefix, i), Labels: labels}}
		Expect(admin.Create(ctx, node)).To(Succeed())
		setReady(ctx, node, time.Now().Add(-time.Hour))
		names = append(names, node.Name)
	}
	DeferCleanup(func(ctx context.Context) {
		for _, name := range names {
			Expect(client.IgnoreNotFound(admin.Delete(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}))).To(Succeed())
			_ = admin.Delete(ctx, &appsv1beta1.NodeImage{ObjectMeta: metav1.ObjectMeta{Name: name}})
		}
	})
	Eventually(func() int {
		var list appsv1beta1.NodeImageList
		Expect(admin.List(ctx, &list, client.MatchingLabels(labels))).To(Succeed())
		return len(list.Items)
	}, "60s").Should(BeNumerically(">=", count))
	return names
}

func setReady(ctx context.Context, node *corev1.Node, since time.Time) {
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(since)}}
	Expect(admin.Status().Update(ctx, node)).To(Succeed())
}

func newPullNamespace(ctx context.Context) string {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "t-"}}
	Expect(admin.Create(ctx, ns)).To(Succeed())
	DeferCleanup(func(ctx context.Context) {
		Expect(admin.DeleteAllOf(ctx, &appsv1beta1.ImageListPullJob{}, client.InNamespace(ns.Name))).To(Succeed())
		Eventually(func() int { // there is no garbage collector here
			Expect(admin.DeleteAllOf(ctx, &appsv1beta1.ImagePullJob{}, client.InNamespace(ns.Name))).To(Succeed())
			var list appsv1beta1.ImagePullJobList
			Expect(admin.List(ctx, &list, client.InNamespace(ns.Name))).To(Succeed())
			return len(list.Items)
		}).Should(BeZero())
	})
	return ns.Name
}
