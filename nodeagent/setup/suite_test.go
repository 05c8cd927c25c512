// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package setup_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/testkit"
	"github.com/flotilla-sh/flotilla/nodeagent/cri/crifake"
)

const nodeName = "node-1"

var (
	server     *testkit.Server
	cluster    client.Client
	binary     string
	kubeconfig string // of a user with the agent's generated role and no other right
)

func TestNodeAgent(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "nodeagent")
}

var _ = BeforeSuite(func(ctx context.Context) {
	SetDefaultEventuallyTimeout(15 * time.Second)
	server = testkit.Start(GinkgoTB())
	var err error
	scheme := runtime.NewScheme()
	Expect(clientgoscheme.AddToScheme(scheme)).To(Succeed())
	Expect(v1beta1.AddToScheme(scheme)).To(Succeed())
	Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
	cluster, err = client.New(server.ConfigFor("test"), client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	kubeconfig = writeKubeconfig("flotilla-nodeagent")
	grantRole(ctx, "flotilla-nodeagent")

	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName}}
	Expect(cluster.Create(ctx, node)).To(Succeed())
	node.Status.NodeInfo.ContainerRuntimeVersion = "containerd://2"
	Expect(cluster.Status().Update(ctx, node)).To(Succeed())
	binary, err = gexec.Build("github.com/flotilla-sh/flotilla/nodeagent", "-buildvcs=false")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(gexec.CleanupBuildArtifacts)
})

// writeKubeconfig writes a kubeconfig that acts as the user, and returns its path.
func writeKubeconfig(user string) string {
	cfg := server.Config
	file := clientcmdapi.NewConfig()
	file.Clusters["c"] = &clientcmdapi.Cluster{Server: cfg.Host, CertificateAuthorityData: cfg.CAData}
	file.AuthInfos["u"] = &clientcmdapi.AuthInfo{ClientCertificateData: cfg.CertData, ClientKeyData: cfg.KeyData, Impersonate: user}
	file.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	file.CurrentContext = "x"
	path := filepath.Join(GinkgoT().TempDir(), "kubeconfig")
	Expect(clientcmd.WriteToFile(*file, path)).To(Succeed())
	return path
}

// grantRole gives the user the roles that are generated from the agent's markers.
func grantRole(ctx context.Context, user string) {
	raw, err := os.ReadFile(filepath.Join(testkit.Root(), "generated/manifests/rbac/nodeagent/role.yaml"))
	Expect(err).NotTo(HaveOccurred())
	Expect(cluster.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: v1beta1.KruiseDaemonConfigNamespace}})).To(Succeed())
	subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}}
	for doc := range strings.SplitSeq(string(raw), "\n---\n") {
		role := &unstructured.Unstructured{}
		Expect(yaml.Unmarshal([]byte(doc), &role.Object)).To(Succeed())
		meta := metav1.ObjectMeta{Namespace: role.GetNamespace(), Name: role.GetName()}
		ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: role.GetKind(), Name: role.GetName()}
		Expect(cluster.Create(ctx, role)).To(Succeed())
		if meta.Namespace == "" {
			Expect(cluster.Create(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects})).To(Succeed())
		} else {
			Expect(cluster.Create(ctx, &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects})).To(Succeed())
		}
	}
}

// agent is a running flotilla-nodeagent.
type agent struct {
	session *gexec.Session
	addr    string
	started time.Time
}

// newRunDir makes a folder for sockets, short enough for their paths, until the spec ends.
func newRunDir() string {
	dir, err := os.MkdirTemp("", "run")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(os.RemoveAll, dir)
	return dir
}

// serveRuntime serves a containerd that is none in such a folder until the spec ends.
func serveRuntime(dir string) *crifake.Runtime {
	runtime := crifake.New("containerd")
	Expect(runtime.Serve(filepath.Join(dir, "containerd.sock"))).To(Succeed())
	DeferCleanup(func() { runtime.Stop() })
	return runtime
}

// startAgent runs the agent with runDir as the host's /run until the spec ends.
func startAgent(runDir string, flags ...string) *agent {
	a := &agent{addr: freeAddress(), started: time.Now()}
	flags = append(flags, "--kubeconfig", kubeconfig, "--node-name", nodeName, "--host-run-dir", runDir, "--metrics-addr", a.addr, "--zap-log-level", "debug")
	cmd := exec.Command(binary, flags...)
	var err error
	a.session, err = gexec.Start(cmd, GinkgoWriter, GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(a.kill)
	return a
}

func (a *agent) kill() {
	a.session.Kill().Wait()
}

// get returns the status and the body of one of the agent's pages, 0 while it does not serve.
func (a *agent) get(path string) (int, string) {
	resp, err := http.Get("http://" + a.addr + path)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	Expect(err).NotTo(HaveOccurred())
	return resp.StatusCode, string(body)
}

// writes are the agent's requests that write anything but events, since it was started.
func (a *agent) writes() []testkit.Write {
	return server.Writes(GinkgoTB(), "flotilla-nodeagent", a.started)
}

func freeAddress() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// Pods

// newPod creates a pod of a CloneSet on a node, with these containers. The owner does not exist, which nothing
// here minds.
func newPod(ctx context.Context, ns, name, node string, containers ...corev1.Container) *corev1.Pod {
	yes := true
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: ns, Name: name, Labels: map[string]string{"version": "v1"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps.kruise.io/v1beta1", Kind: "CloneSet", Name: "web", UID: "0", Controller: &yes}},
		},
		Spec: corev1.PodSpec{NodeName: node, Containers: containers},
	}
	Expect(cluster.Create(ctx, pod)).To(Succeed())
	return pod
}

func container(name string, env ...corev1.EnvVar) corev1.Container {
	return corev1.Container{Name: name, Image: "sample:v1", Env: env}
}

// setStatus plays the kubelet.
func setStatus(ctx context.Context, pod *corev1.Pod, change func(*corev1.PodStatus)) {
	base := client.MergeFrom(pod.DeepCopy())
	change(&pod.Status)
	version := pod.ResourceVersion
	Expect(cluster.Status().Patch(ctx, pod, base)).To(Succeed())
	Expect(pod.ResourceVersion).NotTo(Equal(version), "the change must be one")
}

func setStatuses(ctx context.Context, pod *corev1.Pod, statuses ...corev1.ContainerStatus) {
	setStatus(ctx, pod, func(s *corev1.PodStatus) {
		s.Phase = corev1.PodRunning
		s.ContainerStatuses = statuses
	})
}

func beginUpdate(s *corev1.PodStatus) {
	s.Conditions = append(s.Conditions, corev1.PodCondition{Type: "InPlaceUpdateReady", Status: corev1.ConditionFalse})
}

func running(name, id string, restarts int32, started time.Time) corev1.ContainerStatus {
	return corev1.ContainerStatus{
		Name: name, ContainerID: "containerd://" + id, RestartCount: restarts, Image: "sample:v1",
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(started)}},
	}
}

func waiting(name string) corev1.ContainerStatus {
	return corev1.ContainerStatus{
		Name: name, Image: "sample:v1",
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}},
	}
}

// reportOf reads the report of a pod, "" when there is none.
func reportOf(ctx context.Context, pod *corev1.Pod) func() string {
	return func() string {
		var now corev1.Pod
		Expect(cluster.Get(ctx, client.ObjectKeyFromObject(pod), &now)).To(Succeed())
		return now.Annotations["apps.kruise.io/runtime-containers-meta"]
	}
}

func entry(name, id string, restarts int, plain, env uint64) string {
	return fmt.Sprintf(`{"name":%q,"containerID":"containerd://%s","restartCount":%d,"hashes":{"plainHash":%d,"extractedEnvFromMetadataHash":%d}}`,
		name, id, restarts, plain, env)
}

func report(entries ...string) string {
	return `{"containers":[` + strings.Join(entries, ",") + `]}`
}
