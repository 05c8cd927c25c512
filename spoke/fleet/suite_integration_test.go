// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package fleet

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/yaml"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/internal/bootstrap"
	"github.com/flotilla-sh/flotilla/internal/ownership"
	"github.com/flotilla-sh/flotilla/internal/testkit"
	"github.com/flotilla-sh/flotilla/spoke/workload"
)

const (
	// memberAgent and hubAgent are the user agents of the agent under test in either cluster.
	memberAgent, hubAgent = "fleet-under-test", "fleet-under-test-hub"
	// clusterName is this member's name on the hub.
	clusterName = "member-1"
)

var (
	hubServer, memberServer *testkit.Server
	hubAdmin, memberAdmin   client.Client
	// hubAccess has the rights an add-on's user has on the hub.
	hubAccess *rest.Config
	// memberAccess has the rights the spoke has in its cluster, and to place ConfigMaps.
	memberAccess *rest.Config
)

func TestIntegration(t *testing.T) {
	RegisterFailHandler(Fail)
	log.SetLogger(zap.New(zap.WriteTo(GinkgoWriter), zap.UseDevMode(true)))
	hubServer, memberServer = testkit.Start(t), testkit.Start(t)
	var err error
	if hubAdmin, err = client.New(hubServer.ConfigFor("admin"), client.Options{Scheme: testScheme()}); err != nil {
		t.Fatal(err)
	}
	if memberAdmin, err = client.New(memberServer.ConfigFor("admin"), client.Options{Scheme: testScheme()}); err != nil {
		t.Fatal(err)
	}
	hubAccess = hubServer.UserFor(t, "flotilla-agent", "member-1-agents")
	hubAccess.UserAgent = hubAgent
	for _, obj := range hubRights(t) {
		if err := hubAdmin.Create(context.Background(), obj); err != nil {
			t.Fatal(err)
		}
	}
	memberAccess = memberServer.UserFor(t, "flotilla-spoke", "spokes")
	memberAccess.UserAgent, memberAccess.QPS, memberAccess.Burst = memberAgent, 1000, 2000
	for _, obj := range memberRights(t) {
		if err := memberAdmin.Create(context.Background(), obj); err != nil {
			t.Fatal(err)
		}
	}
	SetDefaultEventuallyTimeout(20 * time.Second)
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	RunSpecs(t, "Fleet agent")
}

// hubRights are all the rights the agent has on the hub: those of the manifest that users apply.
func hubRights(t *testing.T) []client.Object {
	text, err := os.ReadFile(filepath.Join(testkit.Root(), "kustomize/hub/agent.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	role := &rbacv1.ClusterRole{}
	if err := yaml.UnmarshalStrict(text, role); err != nil {
		t.Fatal(err)
	}
	return []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: clusterName}},
		role,
		&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: clusterName, Name: "flotilla"},
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "Group", Name: "member-1-agents"}}},
	}
}

// memberRights are the rights of the manifest, and those that users add to place ConfigMaps.
func memberRights(t *testing.T) []client.Object {
	text, err := os.ReadFile(filepath.Join(testkit.Root(), "generated/manifests/rbac/spoke/role.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	all, docs := &rbacv1.ClusterRole{}, bytes.Split(text, []byte("\n---\n"))
	if err := yaml.UnmarshalStrict(docs[0], all); err != nil || len(docs) < 2 {
		t.Fatalf("%d roles, want a ClusterRole and then those of namespaces: %v", len(docs), err)
	}
	spokes := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "Group", Name: "spokes"}}
	out := append(placingRights("configmaps"), all, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: all.Name}, Subjects: spokes,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: all.Name}})
	for _, doc := range docs[1:] {
		own := &rbacv1.Role{}
		if err := yaml.UnmarshalStrict(doc, own); err != nil {
			t.Fatal(err)
		}
		out = append(out, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: own.Namespace}}, own,
			&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: own.Namespace, Name: own.Name}, Subjects: spokes,
				RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: own.Name}})
	}
	return out
}

// placingRights are those that users add so that another kind can be placed.
func placingRights(resource string) []client.Object {
	name := "place-" + resource
	return []client.Object{
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{""}, Resources: []string{resource}, Verbs: []string{"get", "list", "watch", "create", "patch", "delete"},
		}}},
		&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "Group", Name: "spokes"}},
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}},
	}
}

func testScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, appsv1beta1.AddToScheme, fleetv1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			panic(err)
		}
	}
	return scheme
}

// start runs the agent until the returned function is called, which waits for its end.
func start(change ...func(*Options)) (stop func()) {
	GinkgoHelper()
	ctx, cancel := context.WithCancel(context.Background())
	base := bootstrap.NewOptions(memberAgent)
	base.LeaderElect, base.MetricsAddr, base.HealthAddr = false, "0", "0"
	mgr, err := base.Manager(rest.CopyConfig(memberAccess), testScheme(), nil, nil)
	Expect(err).NotTo(HaveOccurred())
	Expect(mgr.GetFieldIndexer().IndexField(ctx, &corev1.Pod{}, ownership.ControllerUIDIndex, ownership.IndexByController)).To(Succeed())
	Expect(workload.AddIndexes(ctx, mgr.GetFieldIndexer())).To(Succeed())
	opts := Options{
		ClusterName: clusterName, HubConfig: hubAccess, Namespace: "flotilla-system", SkipNameValidation: true,
		HeartbeatInterval: time.Second, SweepInterval: 500 * time.Millisecond, SweepPatience: 2 * time.Second,
	}
	for _, f := range change {
		f(&opts)
	}
	Expect(Add(mgr, opts)).To(Succeed())
	done := make(chan struct{})
	go func() {
		defer GinkgoRecover()
		defer close(done)
		Expect(mgr.Start(ctx)).To(Succeed())
	}()
	return func() {
		cancel()
		<-done
	}
}
