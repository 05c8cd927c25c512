// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// grpcServer serves until the test ends, and returns its port.
func grpcServer(t *testing.T, serve func(*grpc.Server), options ...grpc.ServerOption) int32 {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(options...)
	serve(server)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return portAt(t, listener)
}

func portAt(t *testing.T, listener net.Listener) int32 {
	t.Helper()
	addr, ok := listener.Addr().(*net.TCPAddr)
	if !ok {
		t.Fatal(listener.Addr())
	}
	return int32(addr.Port)
}

// ask probes a port with a second's time.
func ask(t *testing.T, port int32, service *string) outcome {
	t.Helper()
	at := &target{probe: corev1.Probe{TimeoutSeconds: 1}, view: view{ip: "127.0.0.1"}}
	at.probe.GRPC = &corev1.GRPCAction{Port: port, Service: service}
	if at.kind() != "grpc" {
		t.Errorf("its kind is %s", at.kind())
	}
	return handlers{}.run(t.Context(), at)
}

func TestGRPC(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://192.0.2.1:1") // is not asked
	var agent atomic.Value
	seen := grpc.UnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		fields, _ := metadata.FromIncomingContext(ctx)
		agent.Store(strings.Join(fields.Get("user-agent"), ""))
		switch asked, _ := req.(*healthv1.HealthCheckRequest); asked.GetService() {
		case "slow":
			<-ctx.Done()
			return nil, ctx.Err()
		case "broken":
			return nil, status.Error(codes.Internal, "out of order")
		case "long":
			return nil, status.Error(codes.Internal, strings.Repeat("ä", 1200))
		case "endless":
			return nil, status.Error(codes.Internal, strings.Repeat("a", 100<<10))
		}
		return handle(ctx, req)
	})
	port := grpcServer(t, func(s *grpc.Server) {
		all := health.NewServer()
		all.SetServingStatus("up", healthv1.HealthCheckResponse_SERVING)
		all.SetServingStatus("down", healthv1.HealthCheckResponse_NOT_SERVING)
		all.SetServingStatus("odd", healthv1.HealthCheckResponse_UNKNOWN)
		healthv1.RegisterHealthServer(s, all)
	}, seen)
	for name, tc := range map[string]struct {
		service *string
		want    outcome
	}{
		"the server":         {nil, good("SERVING")},
		"the server, by ''":  {ptr.To(""), good("SERVING")},
		"a service":          {ptr.To("up"), good("SERVING")},
		"one that is down":   {ptr.To("down"), bad("NOT_SERVING")},
		"one in between":     {ptr.To("odd"), bad("UNKNOWN")},
		"one that is not":    {ptr.To("other"), bad("NotFound: unknown service")},
		"one that is slow":   {ptr.To("slow"), bad("no answer within 1s")},
		"one that is broken": {ptr.To("broken"), bad("Internal: out of order")},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ask(t, port, tc.service); got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
	if by, _ := agent.Load().(string); !strings.HasPrefix(by, "kube-probe ") {
		t.Errorf("the user agent is %q", by)
	}
	if got := ask(t, port, ptr.To("long")).observed("c1"); got.sight != failed || len(got.message) > maxMessage || len(got.message) < maxMessage-8 {
		t.Errorf("%v with a message of %d bytes", got.sight, len(got.message))
	}
	if got := ask(t, port, ptr.To("endless")); got.ok || got.err != nil || len(got.message) > maxBody {
		t.Errorf("%v with a message of %d bytes: %v", got.ok, len(got.message), got.err)
	}
}

// What speaks no gRPC, or no health protocol, fails, in words that are the same every time.
func TestGRPCWithoutHealth(t *testing.T) {
	const useless = "the server is unavailable, ends the connection, or speaks no gRPC without TLS"
	handler, _ := site(t)
	plain := httptest.NewServer(handler)
	defer plain.Close()
	secure := httptest.NewUnstartedServer(handler)
	secure.EnableHTTP2 = true
	secure.StartTLS()
	defer secure.Close()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections in, and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	rude, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rude.Close() }()
	go func() {
		for {
			conn, err := rude.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 1))
			_ = conn.(*net.TCPConn).SetLinger(0) // so that it is reset
			_ = conn.Close()
		}
	}()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := portAt(t, closed)
	_ = closed.Close()
	for name, tc := range map[string]struct {
		port int32
		says string
	}{
		"no health service": {grpcServer(t, func(*grpc.Server) {}), "the server has no health service (grpc.health.v1.Health)"},
		"TLS":               {grpcServer(t, func(*grpc.Server) {}, grpc.Creds(credentials.NewServerTLSFromCert(&secure.TLS.Certificates[0]))), useless},
		"HTTP":              {portAt(t, plain.Listener), useless},
		"HTTPS":             {portAt(t, secure.Listener), useless},
		"silence":           {portAt(t, silent), "no answer within 1s"},
		"a reset":           {portAt(t, rude), useless},
		"nobody":            {nobody, fmt.Sprintf("dial tcp 127.0.0.1:%d: connect: connection refused", nobody)},
	} {
		t.Run(name, func(t *testing.T) {
			begun := time.Now()
			if got := ask(t, tc.port, nil); got != bad(tc.says) {
				t.Errorf("got %+v", got)
			}
			if took := time.Since(begun); took > 3*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
	for _, port := range []int32{0, 65536} {
		if got := ask(t, port, nil); got.err == nil {
			t.Errorf("port %d: %+v, want an error: that is no result", port, got)
		}
	}
}

// A peer that makes the agent write, and reads nothing, holds a place no longer than the time-out says.
func TestGRPCThatIsNotRead(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	settings := []byte{0, 0, 0, 4, 0, 0, 0, 0, 0}
	ping := []byte{0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8}
	flood := bytes.Repeat(append(settings, ping...), 1000) // each is to be answered
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				for err == nil {
					_, err = conn.Write(flood)
				}
			}()
		}
	}()
	for range 5 {
		began := time.Now()
		got := check(t.Context(), &corev1.GRPCAction{Port: portAt(t, listener)}, "127.0.0.1", 300*time.Millisecond)
		if took := time.Since(began); took > 2*time.Second || got.ok || got.err != nil {
			t.Errorf("%+v after %s", got, took)
		}
	}
}
