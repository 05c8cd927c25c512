// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package nodeagent

import (
	"archive/tar"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

const (
	// slowHost is how pods and jobs name the registry of the test.
	slowHost = "slow.example.test"
	// lockedPart of a repository's name needs the password.
	lockedPart, password = "locked", "open-sesame"
)

// slowRegistry is a registry that hands layers out as slowly as the test says, and can be away.
type slowRegistry struct {
	address string
	handler http.Handler
	server  *http.Server
	// bytesPerSecond bounds each answer with a layer; 0: no bound.
	bytesPerSecond atomic.Int64
}

// startRegistry starts one that the nodes of the first member find under slowHost, until the spec ends.
func startRegistry(ctx context.Context) *slowRegistry {
	GinkgoHelper()
	blobs := registry.NewDiskBlobHandler(GinkgoT().TempDir())
	r := &slowRegistry{handler: registry.New(registry.Logger(log.New(io.Discard, "", 0)), registry.WithBlobHandler(blobs))}
	r.up("127.0.0.1:0")
	DeferCleanup(r.down)
	hosts := fmt.Sprintf("server = \"http://%s\"\ncapabilities = [\"pull\", \"resolve\"]\n", r.address)
	for _, node := range []string{"member-1-node-1", "member-1-node-2"} {
		dir := filepath.Join(fleet.Dir(), "nodes", "nodes", node, "etc", "registries", slowHost)
		Expect(os.MkdirAll(dir, 0o755)).To(Succeed())
		Expect(os.WriteFile(filepath.Join(dir, "hosts.toml"), []byte(hosts), 0o644)).To(Succeed())
		DeferCleanup(os.RemoveAll, dir)
	}
	return r
}

func (r *slowRegistry) up(address string) {
	GinkgoHelper()
	listener, err := net.Listen("tcp", address)
	Expect(err).NotTo(HaveOccurred())
	r.address = listener.Addr().String()
	r.server = &http.Server{Handler: r, ReadHeaderTimeout: 10 * time.Second}
	go func(server *http.Server) { _ = server.Serve(listener) }(r.server)
}

func (r *slowRegistry) down() { _ = r.server.Close() }

func (r *slowRegistry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if _, key, _ := req.BasicAuth(); strings.Contains(req.URL.Path, "/"+lockedPart+"/") && key != password && req.Method == http.MethodGet {
		w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
		http.Error(w, "unauthorized", http.StatusUnauthorized)
		return
	}
	if strings.HasSuffix(req.Header.Get("Range"), "-") { // how a runtime resumes; the handler knows no range without an end
		req.Header.Del("Range")
	}
	if most := r.bytesPerSecond.Load(); most > 0 && req.Method == http.MethodGet && strings.Contains(req.URL.Path, "/blobs/") {
		w = &slowWriter{ResponseWriter: w, perSecond: most, done: req.Context().Done()}
	}
	r.handler.ServeHTTP(w, req)
}

type slowWriter struct {
	http.ResponseWriter
	perSecond int64
	done      <-chan struct{}
}

func (w *slowWriter) Write(p []byte) (int, error) {
	const piece = 64 << 10
	written := 0
	for len(p) > 0 {
		n := min(len(p), piece)
		m, err := w.ResponseWriter.Write(p[:n])
		if written += m; err != nil {
			return written, err
		}
		p = p[n:]
		select {
		case <-w.done:
			return written, context.Canceled
		case <-time.After(time.Duration(n) * time.Second / time.Duration(w.perSecond)):
		}
	}
	return written, nil
}

// push puts web:v2 under a name into the registry, made heavier by a layer of so many bytes that nothing can shrink.
func (r *slowRegistry) push(ctx context.Context, repository, tag string, size int64) string {
	GinkgoHelper()
	from, err := name.ParseReference(localRegistry()+"/web:v2", name.Insecure)
	Expect(err).NotTo(HaveOccurred())
	image, err := remote.Image(from, remote.WithContext(ctx))
	Expect(err).NotTo(HaveOccurred())
	file := filepath.Join(GinkgoT().TempDir(), "layer.tar")
	ballast(file, size)
	layer, err := tarball.LayerFromFile(file)
	Expect(err).NotTo(HaveOccurred())
	image, err = mutate.AppendLayers(image, layer)
	Expect(err).NotTo(HaveOccurred())
	to, err := name.ParseReference(r.address+"/"+repository+":"+tag, name.Insecure)
	Expect(err).NotTo(HaveOccurred())
	Expect(remote.Write(to, image, remote.WithContext(ctx))).To(Succeed())
	return slowHost + "/" + repository + ":" + tag
}

// ballast writes a layer with one file of random bytes.
func ballast(file string, size int64) {
	GinkgoHelper()
	out, err := os.Create(file)
	Expect(err).NotTo(HaveOccurred())
	w := tar.NewWriter(out)
	Expect(w.WriteHeader(&tar.Header{Name: "ballast", Mode: 0o644, Size: size, Format: tar.FormatPAX})).To(Succeed())
	_, err = io.CopyN(w, rand.Reader, size)
	Expect(err).NotTo(HaveOccurred())
	Expect(w.Close()).To(Succeed())
	Expect(out.Close()).To(Succeed())
}

// localRegistry is the address of the set's own registry.
func localRegistry() string {
	GinkgoHelper()
	raw, err := os.ReadFile(filepath.Join(fleet.Dir(), "nodes", "nodes", "member-1-node-1", "etc", "registries", "_default", "hosts.toml"))
	Expect(err).NotTo(HaveOccurred())
	_, rest, found := strings.Cut(string(raw), `server = "http://`)
	Expect(found).To(BeTrue())
	address, _, _ := strings.Cut(rest, `"`)
	return address
}
