// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package ocm_test

import (
	"context"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	clusterv1beta2 "open-cluster-management.io/api/cluster/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/flotilla-sh/flotilla/hack/clusters/ocm"
	"github.com/flotilla-sh/flotilla/internal/testkit"
)

func TestStandIn(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(30 * time.Second)
	SetDefaultEventuallyPollingInterval(100 * time.Millisecond)
	log.SetLogger(GinkgoLogr)
	RunSpecs(t, "OCM stand-in")
}

// lease is the lease duration of the clusters under test; five of them are the grace.
const lease = time.Second

// cluster is an API server under test.
type cluster struct {
	server     *testkit.Server
	client     client.Client
	kubeconfig string
	// proxy stands between the stand-in and the API server.
	proxy *proxy
}

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, clusterv1.Install, clusterv1alpha1.Install, clusterv1beta1.Install, clusterv1beta2.Install,
	} {
		Expect(add(scheme)).To(Succeed())
	}
	return scheme
}

// startCluster starts an API server without any CRD.
func startCluster(name string) *cluster {
	t := GinkgoTB()
	c := &cluster{server: testkit.Start(t, t.TempDir())}
	var err error
	c.client, err = client.New(c.server.ConfigFor("test"), client.Options{Scheme: newScheme()})
	Expect(err).NotTo(HaveOccurred())
	c.proxy = startProxy(hostOf(c.server.Config))
	DeferCleanup(c.proxy.close)
	c.kubeconfig = filepath.Join(t.TempDir(), name+".kubeconfig")
	Expect(clientcmd.WriteToFile(kubeconfig(c.server.Config, c.proxy.address), c.kubeconfig)).To(Succeed())
	return c
}

func hostOf(cfg *rest.Config) string {
	if u, err := url.Parse(cfg.Host); err == nil && u.Host != "" {
		return u.Host
	}
	return cfg.Host
}

func kubeconfig(cfg *rest.Config, address string) clientcmdapi.Config {
	out := clientcmdapi.NewConfig()
	out.Clusters["c"] = &clientcmdapi.Cluster{Server: "https://" + address, CertificateAuthorityData: cfg.CAData}
	out.AuthInfos["u"] = &clientcmdapi.AuthInfo{ClientCertificateData: cfg.CertData, ClientKeyData: cfg.KeyData}
	out.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	out.CurrentContext = "x"
	return *out
}

// standIn runs the stand-in until its stop function is called, which waits for its end. The caller sees to it that
// it is called: a clean-up registered in a spec would end it with that spec.
func standIn(o ocm.Options) (stop func()) {
	o.LeaseDuration = lease
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- ocm.Run(ctx, o) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			Eventually(done).Should(Receive(Not(HaveOccurred())))
		})
	}
	return stop
}

// proxy forwards connections to an API server, unless it is cut.
type proxy struct {
	address, target string

	listener net.Listener
	mu       sync.Mutex
	isCut    bool
	open     map[net.Conn]bool
}

func startProxy(target string) *proxy {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	Expect(err).NotTo(HaveOccurred())
	p := &proxy{address: listener.Addr().String(), target: target, listener: listener, open: map[net.Conn]bool{}}
	go p.serve()
	return p
}

func (p *proxy) serve() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return
		}
		upstream, err := net.Dial("tcp", p.target)
		if err != nil || !p.keep(conn, upstream) {
			_ = conn.Close()
			continue
		}
		go pipe(conn, upstream)
		go pipe(upstream, conn)
	}
}

func pipe(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	_ = to.Close()
	_ = from.Close()
}

func (p *proxy) keep(pair ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range pair {
		p.open[c] = true
	}
	return !p.isCut
}

// cut ends all connections and lets no new one through; mend lets them through again.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.isCut = true
	for c := range p.open {
		_ = c.Close()
	}
	clear(p.open)
}

func (p *proxy) mend() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.isCut = false
}

func (p *proxy) close() {
	_ = p.listener.Close()
	p.cut()
}
