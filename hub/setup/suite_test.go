// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package setup

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/flotilla-sh/flotilla/internal/testkit"
	"github.com/flotilla-sh/flotilla/internal/webhookserver"
)

// hubAgent is the user agent of the hub under test: its writes are counted.
const hubAgent = "flotilla-hub"

// staleAfter and dropGrace are short, so that staleness and a drop can be waited for.
const (
	staleAfter = 4 * time.Second
	dropGrace  = 4 * time.Second
)

var (
	server *testkit.Server
	admin  client.Client
	hub    *process
	// hubConfig is a user's with the hub's own role and no other right.
	hubConfig *rest.Config
)

func TestHub(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(20 * time.Second)
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	EnforceDefaultTimeoutsWhenUsingContexts()
	RunSpecs(t, "hub")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	ctrl.SetLogger(zap.New(zap.WriteTo(GinkgoWriter), zap.UseDevMode(true)))
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "open-cluster-management.io/api").Output()
	Expect(err).NotTo(HaveOccurred())
	ocm := strings.TrimSpace(string(out))
	server = testkit.Start(GinkgoT(), "generated/manifests/crd", filepath.Join(ocm, "cluster/v1"), filepath.Join(ocm, "cluster/v1beta1"))
	admin, err = client.New(server.ConfigFor("admin"), client.Options{Scheme: Scheme()})
	Expect(err).NotTo(HaveOccurred())
	ensureNamespace(ctx, "flotilla-system")
	grantHub(ctx)
	hub = startHub()
	DeferCleanup(func() { hub.stop() })
}, NodeTimeout(2*time.Minute))

// grantHub binds a user to the role that is generated for the hub, and to one more kind.
func grantHub(ctx context.Context) {
	GinkgoHelper()
	hubConfig = server.UserFor(GinkgoT(), hubAgent)
	hubConfig.UserAgent = hubAgent
	data, err := os.ReadFile(filepath.Join(testkit.Root(), "generated/manifests/rbac/hub/role.yaml"))
	Expect(err).NotTo(HaveOccurred())
	for _, document := range strings.Split(string(data), "\n---\n") {
		role := &unstructured.Unstructured{}
		Expect(yaml.Unmarshal([]byte(document), &role.Object)).To(Succeed())
		Expect(admin.Create(ctx, role)).To(Succeed())
	}
	more := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "hub-places-configmaps"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "list", "watch", "patch"}},
	}}
	Expect(admin.Create(ctx, more)).To(Succeed())
	bindHub(ctx, hubAgent)
	bindHub(ctx, more.Name)
	Expect(admin.Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: "flotilla-system", Name: hubAgent}, Subjects: hubSubjects(),
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: hubAgent},
	})).To(Succeed())
}

func hubSubjects() []rbacv1.Subject {
	return []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: hubAgent}}
}

// bindHub gives the hub's user a ClusterRole.
func bindHub(ctx context.Context, role string) {
	GinkgoHelper()
	Expect(admin.Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role}, Subjects: hubSubjects(),
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
	})).To(Succeed())
}

// process is a hub that runs in this process and can be stopped like one that is killed: its caches and
// memory are gone.
type process struct {
	cancel context.CancelFunc
	done   chan struct{}
}

func startHub() *process {
	GinkgoHelper()
	hooks := webhookserver.NewOptions(hubAgent, "flotilla-system")
	mgr, err := manager.New(hubConfig, manager.Options{
		Scheme:                  Scheme(),
		Cache:                   cache.Options{DefaultTransform: cache.TransformStripManagedFields(), ByObject: ByObject(hooks)},
		Client:                  client.Options{Cache: &client.CacheOptions{Unstructured: true, EnableReadYourWritesConsistency: ptr.To(true)}},
		Metrics:                 metricsserver.Options{BindAddress: "0"},
		Controller:              config.Controller{SkipNameValidation: ptr.To(true)},
		GracefulShutdownTimeout: ptr.To(time.Duration(0)),
	})
	Expect(err).NotTo(HaveOccurred())
	opts := NewOptions()
	opts.Namespace, opts.StaleAfter, opts.DropGrace = "flotilla-system", staleAfter, dropGrace
	Expect(AddControllers(mgr, opts)).To(Succeed())
	ctx, cancel := context.WithCancel(context.Background())
	p := &process{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		_ = mgr.Start(ctx) // a stop in the middle of a pass may be an error
	}()
	return p
}

func (p *process) stop() {
	p.cancel()
	<-p.done
}
