// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package resourcedistribution_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/testkit"
	"github.com/flotilla-sh/flotilla/spoke/resourcedistribution"
)

const (
	// userAgent is that of the controller under test, account whose rights it has.
	userAgent = "distribution-under-test"
	account   = "system:serviceaccount:flotilla-system:flotilla-spoke"
)

var (
	server *testkit.Server
	admin  client.Client
	logs   transcript
)

// transcript is all that was logged.
type transcript struct {
	mu   sync.Mutex
	text strings.Builder
}

func (t *transcript) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.Write(p)
}

func logged() string {
	logs.mu.Lock()
	defer logs.mu.Unlock()
	return logs.text.String()
}

func TestIntegration(t *testing.T) {
	RegisterFailHandler(Fail)
	log.SetLogger(zap.New(zap.WriteTo(io.MultiWriter(GinkgoWriter, &logs)), zap.UseDevMode(true)))
	SetDefaultEventuallyTimeout(20 * time.Second)
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	RunSpecs(t, "ResourceDistributions")
}

var _ = BeforeSuite(func() {
	server = testkit.Start(GinkgoTB())
	server.StartControllers(GinkgoTB(), "namespace-controller", "garbage-collector-controller")
	scheme := runtime.NewScheme()
	Expect(clientgoscheme.AddToScheme(scheme)).To(Succeed())
	Expect(v1beta1.AddToScheme(scheme)).To(Succeed())
	var err error
	admin, err = client.New(server.ConfigFor("admin"), client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	grant("generated/manifests/rbac/spoke/role.yaml")

	start()
	DeferCleanup(func() { stop() })
})

// stop ends the controller that runs.
var stop func()

// start runs the controller, with its own rights, until stop.
func start() {
	GinkgoHelper()
	cfg := server.ConfigFor(userAgent)
	cfg.Impersonate.UserName = account
	mgr, err := ctrl.NewManager(cfg, manager.Options{
		Scheme:     admin.Scheme(),
		Cache:      cache.Options{DefaultTransform: cache.TransformStripManagedFields()},
		Client:     client.Options{Cache: &client.CacheOptions{EnableReadYourWritesConsistency: ptr.To(true)}},
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: ptr.To(true), MaxConcurrentReconciles: 3},
	})
	Expect(err).NotTo(HaveOccurred())
	Expect(resourcedistribution.Add(context.Background(), mgr)).To(Succeed())
	run, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer GinkgoRecover()
		defer close(done)
		Expect(mgr.Start(run)).To(Succeed())
	}()
	stop = func() { cancel(); <-done }
}

// grant gives the account the cluster roles of a file, which it may have.
func grant(file string) {
	GinkgoHelper()
	raw, err := os.ReadFile(filepath.Join(testkit.Root(), file))
	Expect(err).NotTo(HaveOccurred())
	subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: account}}
	for doc := range strings.SplitSeq(string(raw), "\n---\n") {
		role := &rbacv1.ClusterRole{}
		Expect(yaml.Unmarshal([]byte(doc), role)).To(Succeed())
		if role.Kind != "ClusterRole" {
			continue
		}
		if err := admin.Create(context.Background(), role); apierrors.IsAlreadyExists(err) {
			continue
		}
		Expect(admin.Create(context.Background(), &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: role.Name}, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		})).To(Succeed())
	}
}

// refuse has the API server refuse new Secrets in namespaces labelled refuses=secrets, and quote them.
func refuse(ctx context.Context) {
	GinkgoHelper()
	const name = "quoting"
	policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: admissionv1.ValidatingAdmissionPolicySpec{
		FailurePolicy: ptr.To(admissionv1.Fail),
		MatchConstraints: &admissionv1.MatchResources{
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"refuses": "secrets"}},
			ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
				Operations: []admissionv1.OperationType{admissionv1.Create},
				Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"secrets"}},
			}}},
		},
		Validations: []admissionv1.Validation{{Expression: "false", MessageExpression: `"no: " + string(object.data["k"])`}},
	}}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
		PolicyName: name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
	}}
	for _, obj := range []client.Object{policy, binding} {
		Expect(admin.Create(ctx, obj)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { Expect(admin.Delete(ctx, obj)).To(Succeed()) })
	}
	ns := newNamespace(ctx, "probe", map[string]string{"refuses": "secrets"})
	Eventually(func() error {
		return admin.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, GenerateName: "probe-"}, StringData: map[string]string{"k": "probe"}})
	}).Should(MatchError(ContainSubstring("no: ")))
}

// notes are "reason note" of the events about a ResourceDistribution.
func notes(ctx context.Context, rd *v1beta1.ResourceDistribution) func() []string {
	return func() []string {
		list := &eventsv1.EventList{}
		Expect(admin.List(ctx, list)).To(Succeed())
		var out []string
		for i := range list.Items {
			if list.Items[i].Regarding.UID == rd.UID {
				out = append(out, list.Items[i].Reason+" "+list.Items[i].Note)
			}
		}
		return out
	}
}

// writes are the controller's requests that write since a moment: what is done to what, counted.
func writes(since time.Time) []string {
	counts := map[string]int{}
	for _, w := range server.Writes(GinkgoTB(), userAgent, since) {
		counts[w.Verb+" "+w.Resource]++
	}
	out := []string{}
	for what, n := range counts {
		out = append(out, fmt.Sprintf("%d %s", n, what))
	}
	slices.Sort(out)
	return out
}

// newNamespace makes a namespace that goes with the spec.
func newNamespace(ctx context.Context, prefix string, labels map[string]string) string {
	GinkgoHelper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix + "-", Labels: labels}}
	Expect(admin.Create(ctx, ns)).To(Succeed())
	DeferCleanup(func(ctx context.Context) { Expect(client.IgnoreNotFound(admin.Delete(ctx, ns))).To(Succeed()) })
	return ns.Name
}

// distribute makes a ResourceDistribution that goes with the spec.
func distribute(ctx context.Context, resource string, targets v1beta1.ResourceDistributionTargets) *v1beta1.ResourceDistribution {
	GinkgoHelper()
	rd := &v1beta1.ResourceDistribution{ObjectMeta: metav1.ObjectMeta{GenerateName: "rd-"}, Spec: v1beta1.ResourceDistributionSpec{
		Resource: runtime.RawExtension{Raw: []byte(resource)}, Targets: targets,
	}}
	Expect(admin.Create(ctx, rd)).To(Succeed())
	DeferCleanup(func(ctx context.Context) { Expect(client.IgnoreNotFound(admin.Delete(ctx, rd))).To(Succeed()) })
	return rd
}

// edit changes the spec.
func edit(ctx context.Context, rd *v1beta1.ResourceDistribution, change func(*v1beta1.ResourceDistributionSpec)) {
	GinkgoHelper()
	Expect(admin.Get(ctx, client.ObjectKeyFromObject(rd), rd)).To(Succeed())
	base := client.MergeFrom(rd.DeepCopy())
	change(&rd.Spec)
	Expect(admin.Patch(ctx, rd, base)).To(Succeed())
}

func listOf(names ...string) v1beta1.ResourceDistributionTargetNamespaces {
	out := v1beta1.ResourceDistributionTargetNamespaces{}
	for _, name := range names {
		out.List = append(out.List, v1beta1.ResourceDistributionNamespace{Name: name})
	}
	return out
}

// data is what a ConfigMap holds, as key=value; nothing when it is not there.
func data(ctx context.Context, namespace, name string) func() string {
	return func() string {
		cm := &corev1.ConfigMap{}
		err := admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, cm)
		if apierrors.IsNotFound(err) {
			return ""
		}
		Expect(err).NotTo(HaveOccurred())
		var words []string
		for k, v := range cm.Data {
			words = append(words, k+"="+v)
		}
		slices.Sort(words)
		return strings.Join(words, ",")
	}
}

// status is what is said of the present spec: desired/succeeded/failed and each condition that holds, with its namespaces.
func status(ctx context.Context, rd *v1beta1.ResourceDistribution) func() string {
	return func() string {
		now := &v1beta1.ResourceDistribution{}
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(rd), now)).To(Succeed())
		if now.Status.ObservedGeneration != now.Generation {
			return "stale"
		}
		out := fmt.Sprintf("%d/%d/%d", now.Status.Desired, now.Status.Succeeded, now.Status.Failed)
		for _, c := range now.Status.Conditions {
			if c.Status == corev1.ConditionTrue {
				out += fmt.Sprintf(" %s%v", c.Type, c.FailedNamespaces)
			}
		}
		return out
	}
}
