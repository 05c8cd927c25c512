// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/flotilla-sh/flotilla/nodeagent/cri"
	"github.com/flotilla-sh/flotilla/nodeagent/cri/crifake"
)

// site answers as the paths say, and keeps the last request.
func site(t *testing.T) (http.Handler, *http.Request) {
	t.Helper()
	last := &http.Request{}
	mux := http.NewServeMux()
	mux.HandleFunc("/status/{code}", func(w http.ResponseWriter, req *http.Request) {
		*last = *req
		var code int
		_, _ = fmt.Sscan(req.PathValue("code"), &code)
		w.WriteHeader(code)
		_, _ = fmt.Fprint(w, "body")
	})
	mux.HandleFunc("/away", func(w http.ResponseWriter, req *http.Request) {
		http.Redirect(w, req, "http://192.0.2.1/elsewhere", http.StatusFound)
	})
	mux.HandleFunc("/within", func(w http.ResponseWriter, req *http.Request) {
		http.Redirect(w, req, "/status/500", http.StatusFound)
	})
	mux.HandleFunc("/loop", func(w http.ResponseWriter, req *http.Request) { http.Redirect(w, req, "/loop", http.StatusFound) })
	mux.HandleFunc("/slow", func(_ http.ResponseWriter, req *http.Request) { <-req.Context().Done() })
	mux.HandleFunc("/header", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X", strings.Repeat("x", maxHeader)) })
	mux.HandleFunc("/long", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, strings.Repeat("ä", 20000)) })
	return mux, last
}

func portOf(t *testing.T, server *httptest.Server) intstr.IntOrString {
	t.Helper()
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return intstr.Parse(port)
}

func TestHTTP(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://192.0.2.1:1") // is not asked
	handler, _ := site(t)
	plain := httptest.NewServer(handler)
	defer plain.Close()
	secure := httptest.NewTLSServer(handler)
	defer secure.Close()
	http2, https := portOf(t, plain), portOf(t, secure)
	for name, tc := range map[string]struct {
		action  corev1.HTTPGetAction
		ok      bool
		message string
	}{
		"200":                    {corev1.HTTPGetAction{Path: "/status/200", Port: http2, Scheme: "HTTP"}, true, "body"},
		"lower case, no slash":   {corev1.HTTPGetAction{Path: "status/200?q=1", Port: http2, Scheme: "http"}, true, "body"},
		"no scheme":              {corev1.HTTPGetAction{Path: "/status/399", Port: http2}, true, "body"},
		"400":                    {corev1.HTTPGetAction{Path: "/status/400", Port: http2}, false, "the answer has HTTP status 400"},
		"503":                    {corev1.HTTPGetAction{Path: "/status/503", Port: http2}, false, "the answer has HTTP status 503"},
		"unknown certificate":    {corev1.HTTPGetAction{Path: "/status/200", Port: https, Scheme: "HTTPS"}, true, "body"},
		"redirect to a stranger": {corev1.HTTPGetAction{Path: "/away", Port: http2}, true, "<a href=\"http://192.0.2.1/elsewhere\">Found</a>.\n\n"},
		"redirect within":        {corev1.HTTPGetAction{Path: "/within", Port: http2}, false, "the answer has HTTP status 500"},
		"redirects for ever":     {corev1.HTTPGetAction{Path: "/loop", Port: http2}, false, `Get "/loop": stopped after 10 redirects`},
		"a header without end": {
			corev1.HTTPGetAction{Path: "/header", Port: http2}, false,
			fmt.Sprintf(`Get "http://127.0.0.1:%s/header": net/http: HTTP/1.x transport connection broken: net/http: server response headers exceeded 65536 bytes; aborted`, http2.String()),
		},
		"no answer":            {corev1.HTTPGetAction{Path: "/slow", Port: http2}, false, "no answer within 1s"},
		"a path with a host":   {corev1.HTTPGetAction{Path: "//192.0.2.1/status/200", Port: http2}, true, "body"},
		"a path that is a URL": {corev1.HTTPGetAction{Path: "http://user:pw@192.0.2.1/status/200", Port: http2}, true, "body"},
	} {
		t.Run(name, func(t *testing.T) {
			got := get(t.Context(), &tc.action, "127.0.0.1", time.Second)
			if got.err != nil || got.ok != tc.ok || got.message != tc.message {
				t.Errorf("got %+v", got)
			}
		})
	}
	t.Run("long", func(t *testing.T) {
		got := get(t.Context(), &corev1.HTTPGetAction{Path: "/long", Port: http2}, "127.0.0.1", time.Second).observed("c1")
		if got.sight != succeeded || len(got.message) > maxMessage || len(got.message) < maxMessage-8 {
			t.Errorf("%s with a message of %d bytes", got.sight, len(got.message))
		}
	})
	t.Run("nobody listens", func(t *testing.T) {
		port := http2
		plain.Close()
		got := get(t.Context(), &corev1.HTTPGetAction{Path: "/", Port: port}, "127.0.0.1", time.Second)
		want := fmt.Sprintf("dial tcp 127.0.0.1:%s: connect: connection refused", port.String())
		if got.ok || got.err != nil || got.message != want {
			t.Errorf("got %+v, want message %q", got, want)
		}
	})
	t.Run("a name for a port", func(t *testing.T) {
		if got := get(t.Context(), &corev1.HTTPGetAction{Path: "/", Port: intstr.FromString("web")}, "127.0.0.1", time.Second); got.err == nil {
			t.Errorf("got %+v, want an error: that is no result", got)
		}
	})
}

func TestHTTPHeaders(t *testing.T) {
	handler, last := site(t)
	server := httptest.NewServer(handler)
	defer server.Close()
	for name, tc := range map[string]struct {
		headers                []corev1.HTTPHeader
		agent, accept, host, x string
		noAccept               bool
	}{
		"none":     {nil, "kube-probe", "*/*", server.Listener.Addr().String(), "", false},
		"named":    {[]corev1.HTTPHeader{{Name: "user-agent", Value: "me"}, {Name: "accept", Value: "text/plain"}, {Name: "Host", Value: "example.com"}, {Name: "X", Value: "1"}}, "me", "text/plain", "example.com", "1", false},
		"left out": {[]corev1.HTTPHeader{{Name: "User-Agent", Value: ""}, {Name: "Accept", Value: ""}}, "", "", server.Listener.Addr().String(), "", true},
	} {
		t.Run(name, func(t *testing.T) {
			got := get(t.Context(), &corev1.HTTPGetAction{Path: "/status/200", Port: portOf(t, server), HTTPHeaders: tc.headers}, "127.0.0.1", time.Second)
			if !got.ok {
				t.Fatalf("got %+v", got)
			}
			_, accepts := last.Header["Accept"]
			if last.UserAgent() != tc.agent || last.Header.Get("Accept") != tc.accept || accepts == tc.noAccept || last.Host != tc.host || last.Header.Get("X") != tc.x {
				t.Errorf("asked %s with %v", last.Host, last.Header)
			}
		})
	}
}

func TestTCP(t *testing.T) {
	listener, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skip("no IPv6 here")
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	if got := connect(t.Context(), intstr.Parse(port), "::1", time.Second); !got.ok || got.err != nil {
		t.Errorf("somebody listens: %+v", got)
	}
	_ = listener.Close()
	if got := connect(t.Context(), intstr.Parse(port), "::1", time.Second); got.ok || got.err != nil || !strings.HasSuffix(got.message, "connection refused") {
		t.Errorf("nobody listens: %+v", got)
	}
	for _, port := range []intstr.IntOrString{intstr.FromInt32(0), intstr.FromInt32(65536), intstr.FromString("web")} {
		if got := connect(t.Context(), port, "::1", time.Second); got.err == nil {
			t.Errorf("port %s: %+v, want an error: that is no result", port.String(), got)
		}
	}
}

// Words in which the agent's own port stood would differ at every probe, and each would be written.
func TestFailuresReadAlike(t *testing.T) {
	local := func(port int) net.Addr { return &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: port} }
	first := why(&net.OpError{Op: "read", Net: "tcp", Source: local(1), Addr: local(80), Err: errors.New("reset")}, time.Second)
	second := why(&net.OpError{Op: "read", Net: "tcp", Source: local(2), Addr: local(80), Err: errors.New("reset")}, time.Second)
	if first != second || !strings.Contains(first, "10.0.0.1:80: reset") {
		t.Errorf("%q, then %q", first, second)
	}
}

func fakeRuntime(t *testing.T) (*cri.Client, *crifake.Runtime) {
	t.Helper()
	dir, err := os.MkdirTemp("", "cri")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	runtime := crifake.New("containerd")
	if err := runtime.Serve(filepath.Join(dir, "c.sock")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(runtime.Stop)
	client, err := cri.Dial(t.Context(), "unix://"+filepath.Join(dir, "c.sock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client, runtime
}

func TestExec(t *testing.T) {
	client, runtime := fakeRuntime(t)
	h := handlers{runtime: func() (Runtime, error) { return client, nil }}
	ours := runtime.Run(crifake.Container{PodNamespace: "ns", PodName: "web", PodUID: "u", Name: "main", Exec: func(_ context.Context, cmd []string) (crifake.Answer, error) {
		switch cmd[0] {
		case "good":
			return crifake.Answer{Stdout: "out", Stderr: "err"}, nil
		case "bad":
			return crifake.Answer{Stdout: "out", Stderr: "err", ExitCode: 3}, nil
		case "slow":
			return crifake.Answer{}, crifake.TimedOut
		case "talkative":
			return crifake.Answer{Stdout: strings.Repeat("x", maxOutput)}, nil
		default:
			return crifake.Answer{}, errors.New("executable file not found in $PATH")
		}
	}})
	foreign := runtime.Run(crifake.Container{PodNamespace: "ns", PodName: "other", PodUID: "o", Name: "main", Exec: func(context.Context, []string) (crifake.Answer, error) {
		t.Error("a command ran in another pod")
		return crifake.Answer{}, nil
	}})
	for name, tc := range map[string]struct {
		id, command string
		want        outcome
		err         string
	}{
		"good":              {ours, "good", good("out"), ""},
		"bad":               {ours, "bad", bad("err"), ""},
		"slow":              {ours, "slow", bad("the command did not end within 2s"), ""},
		"talkative":         {ours, "talkative", outcome{}, "output too large: more than 65536 bytes"},
		"missing":           {ours, "missing", outcome{}, "executable file not found"},
		"another pod's":     {foreign, "good", outcome{}, "is not main of pod ns/web"},
		"PM-02 gone by now": {"gone", "good", outcome{}, "not known to the container runtime"},
	} {
		t.Run(name, func(t *testing.T) {
			at := &target{
				key: marked, pod: types.NamespacedName{Namespace: "ns", Name: "web"},
				probe: corev1.Probe{TimeoutSeconds: 2, ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{tc.command}}}},
				view:  view{instance: "containerd://" + tc.id},
			}
			got := h.run(t.Context(), at)
			if tc.err != "" {
				if got.err == nil || !strings.Contains(got.err.Error(), tc.err) {
					t.Errorf("got %+v, want an error with %q", got, tc.err)
				}
			} else if got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
	runtime.Stop()
	at := &target{key: marked, probe: corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"good"}}}}, view: view{instance: "containerd://" + ours}}
	if got := h.run(t.Context(), at); got.err == nil || got.observed("c1") != (observation{sight: early, instance: "c1"}) {
		t.Errorf("without a runtime: %+v, want an error: that is no result", got)
	}
	if got := h.run(t.Context(), &target{}); got.err == nil {
		t.Errorf("without a handler: %+v", got)
	}
}
