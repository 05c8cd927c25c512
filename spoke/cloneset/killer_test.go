//go:build integration

// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"context"
	"crypto/tls"
	"fmt"
	"math/rand"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// moment is when a kill comes.
type moment string

// The moments. Those at a write are exact, for the killer stands between the spoke and the API server.
const (
	never      moment = ""
	anywhere   moment = "at a time of its own"
	unasked    moment = "before the API server got the request"
	unanswered moment = "before the spoke got the answer"
	answered   moment = "after the answer"
)

// killer runs the spoke's own program against the API server by way of itself, kills it (SIGKILL) at random moments
// and starts it again. Between the kills it counts what is written.
type killer struct {
	program, kubeconfig string
	webhookPort         int
	proxy               *httputil.ReverseProxy
	log                 *os.File

	mu sync.Mutex
	r  *rand.Rand
	// due is how many kills are still to come, done tells those that were.
	due  int
	done []string
	// next is when the next one is: at this many writes from now, where it is at a write.
	next  moment
	after int
	cmd   *exec.Cmd
	// life counts the starts; killed says that the present life was ended by us.
	life   int
	killed bool
	ending bool
	faults []string
	writes []string
	ended  chan struct{}
}

// startKiller starts a spoke that will be killed so many times, until the spec ends.
func startKiller(program string, r *rand.Rand, kills int) *killer {
	GinkgoHelper()
	k := &killer{program: program, r: r, due: kills, webhookPort: freePort(), ended: make(chan struct{})}
	var err error
	k.log, err = os.Create(filepath.Join(GinkgoT().TempDir(), "spoke.log"))
	Expect(err).NotTo(HaveOccurred())
	k.kubeconfig = k.stand(server.ConfigFor(""))
	k.mu.Lock()
	defer k.mu.Unlock()
	Expect(k.start()).To(Succeed())
	DeferCleanup(k.end)
	return k
}

// stand opens the way to the API server and returns a kubeconfig that leads there.
func (k *killer) stand(cfg *rest.Config) string {
	GinkgoHelper()
	target, err := url.Parse(cfg.Host)
	Expect(err).NotTo(HaveOccurred())
	tlsConfig, err := rest.TLSConfigFor(cfg)
	Expect(err).NotTo(HaveOccurred())
	k.proxy = &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     &http.Transport{TLSClientConfig: tlsConfig, ForceAttemptHTTP2: true},
		FlushInterval: -1,
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	tlsConfig.MinVersion = tls.VersionTLS12
	front := httptest.NewServer(k)
	DeferCleanup(func() {
		front.CloseClientConnections()
		front.Close()
	})
	file := clientcmdapi.NewConfig()
	file.Clusters["c"] = &clientcmdapi.Cluster{Server: front.URL}
	file.Contexts["x"] = &clientcmdapi.Context{Cluster: "c"}
	file.CurrentContext = "x"
	path := filepath.Join(GinkgoT().TempDir(), "kubeconfig")
	Expect(clientcmd.WriteToFile(*file, path)).To(Succeed())
	return path
}

func freePort() int {
	GinkgoHelper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}

// start begins a life of the spoke. Leader election is off: a killed spoke's Lease would have to run out first.
func (k *killer) start() error {
	k.cmd = exec.Command(k.program, "--kubeconfig", k.kubeconfig, "--metrics-addr", "0", "--health-probe-addr", "0",
		"--webhook-host", "127.0.0.1", "--webhook-port", strconv.Itoa(k.webhookPort), "--enable-leader-election=false")
	k.cmd.Stdout, k.cmd.Stderr = k.log, k.log
	if err := k.cmd.Start(); err != nil {
		return err
	}
	k.life++
	k.killed = false
	k.draw()
	go k.await(k.cmd)
	return nil
}

// draw chooses the next kill: mostly at one of the next writes, else at any time from the start of the process on.
func (k *killer) draw() {
	const soon, latest = 10, 1500 // writes, milliseconds
	if k.due == 0 {
		k.next = never
		return
	}
	k.next = []moment{unasked, unanswered, answered, answered, anywhere}[k.r.Intn(5)]
	k.after = 1 + k.r.Intn(soon)
	if k.next == anywhere {
		life := k.life
		time.AfterFunc(time.Duration(k.r.Intn(latest))*time.Millisecond, func() { k.kill(life, "") })
	}
}

// await starts the next life when one is over.
func (k *killer) await(cmd *exec.Cmd) {
	_ = cmd.Wait() // killed is what it should be
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.ending:
		close(k.ended)
		return
	case !k.killed:
		k.faults = append(k.faults, fmt.Sprintf("the spoke ended by itself: %s", cmd.ProcessState))
	}
	if err := k.start(); err != nil {
		k.faults = append(k.faults, err.Error())
	}
}

// kill ends a life, unless it is over.
func (k *killer) kill(life int, at string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if life != k.life || k.killed || k.ending {
		return
	}
	k.killed = true
	k.due--
	k.done = append(k.done, strings.TrimSpace(string(k.next)+" "+at))
	k.next = never
	_ = k.cmd.Process.Kill()
}

// again kills the spoke at once, beyond those that were due, and waits for its next life.
func (k *killer) again() {
	GinkgoHelper()
	k.mu.Lock()
	life := k.life
	k.killed = true
	_ = k.cmd.Process.Kill()
	k.mu.Unlock()
	Eventually(func() int {
		k.mu.Lock()
		defer k.mu.Unlock()
		return k.life
	}).Should(BeNumerically(">", life))
}

func (k *killer) end() {
	k.mu.Lock()
	k.ending = true
	_ = k.cmd.Process.Kill()
	k.mu.Unlock()
	<-k.ended
	if CurrentSpecReport().Failed() {
		text, _ := os.ReadFile(k.log.Name())
		AddReportEntry("the spoke's log", string(text[max(0, len(text)-20_000):]))
	}
	_ = k.log.Close()
}

// ServeHTTP hands a request on, if the spoke lives to see it.
func (k *killer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text := asWrite(r)
	if text == "" {
		k.proxy.ServeHTTP(w, r)
		return
	}
	when, life := k.count(text)
	switch when {
	case unasked:
		k.kill(life, text)
		panic(http.ErrAbortHandler)
	case unanswered:
		// The request must be carried out, though nobody waits for it any more.
		k.proxy.ServeHTTP(httptest.NewRecorder(), r.WithContext(context.WithoutCancel(r.Context())))
		k.kill(life, text)
		panic(http.ErrAbortHandler)
	case answered:
		k.proxy.ServeHTTP(w, r)
		_ = http.NewResponseController(w).Flush()
		k.mu.Lock()
		pause := time.Duration(k.r.Intn(3000)) * time.Microsecond
		k.mu.Unlock()
		time.AfterFunc(pause, func() { k.kill(life, text) })
	case never, anywhere:
		k.proxy.ServeHTTP(w, r)
	}
}

// count takes note of a write and says whether the kill is due at it.
func (k *killer) count(text string) (moment, int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.writes = append(k.writes, text)
	if k.next == never || k.next == anywhere || k.killed {
		return never, k.life
	}
	if k.after--; k.after != 0 {
		return never, k.life
	}
	return k.next, k.life
}

// asWrite names a request that writes something but a heartbeat or an event, which is for people; empty for any other.
func asWrite(r *http.Request) string {
	if r.Method == http.MethodGet {
		return ""
	}
	for _, other := range []string{"/leases", "/events", "reviews"} {
		if strings.Contains(r.URL.Path, other) {
			return ""
		}
	}
	return r.Method + " " + r.URL.Path
}

// rest is how many kills are still to come.
func (k *killer) rest() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.due
}

// takeWrites returns the writes since it was called before.
// story tells how many kills there were, and what went wrong with the program itself.
func (k *killer) story() (kills int, faults []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.done), slices.Clone(k.faults)
}

func (k *killer) takeWrites() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	out := k.writes
	k.writes = nil
	return out
}
