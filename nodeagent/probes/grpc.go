// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// check asks the health service of a pod at its IP, without TLS. SERVING is a success, all else a failure.
func check(ctx context.Context, p *corev1.GRPCAction, ip string, timeout time.Duration) outcome {
	where, err := address(ip, intstr.FromInt32(p.Port))
	if err != nil {
		return none("grpc: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	// Made here, so that a failure is told in the words of the other probes, and no second one is made.
	wire, err := dialer(timeout).DialContext(ctx, "tcp", where)
	if err != nil {
		return bad(why(err, timeout))
	}
	conn, err := grpc.NewClient("passthrough:///"+where, over(wire)...)
	if err != nil {
		return outcome{err: errors.Join(fmt.Errorf("grpc: %w", err), wire.Close())}
	}
	defer end(ctx, wire, conn)
	answer, err := health.NewHealthClient(conn).Check(ctx, &health.HealthCheckRequest{Service: ptr.Deref(p.Service, "")})
	switch said := status.Convert(err); {
	case said.Code() == codes.Unimplemented:
		return bad("the server has no health service (grpc.health.v1.Health)")
	case said.Code() == codes.DeadlineExceeded, err != nil && ctx.Err() != nil: // the server may say something else by then
		return bad(fmt.Sprintf("no answer within %s", timeout))
	case said.Code() == codes.Unavailable: // what more is said has the agent's own port in it: see why
		return bad("the server is unavailable, ends the connection, or speaks no gRPC without TLS")
	case err != nil:
		return bad(fmt.Sprintf("%s: %s", said.Code(), said.Message()))
	case answer.GetStatus() != health.HealthCheckResponse_SERVING:
		return bad(answer.GetStatus().String())
	default:
		return good(answer.GetStatus().String())
	}
}

// end ends a connection, whether its peer reads or not: gRPC waits for some seconds to say good-bye on a wire that is
// open. The answer is what counts, so that errors are of no interest.
func end(ctx context.Context, wire net.Conn, conn *grpc.ClientConn) {
	if tcp, ok := wire.(*net.TCPConn); ok && ctx.Err() != nil {
		_ = tcp.SetLinger(0) // the peer's time is over, see lingerShortly
	}
	_ = wire.Close()
	_ = conn.Close()
}

// over are the options of a client for one short question on a connection that is there.
func over(wire net.Conn) []grpc.DialOption {
	once := make(chan net.Conn, 1)
	once <- wire
	return []grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithUserAgent(userAgent),
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) {
			select {
			case conn := <-once:
				return conn, nil
			default:
				return nil, errors.New("the connection was closed")
			}
		}),
		grpc.WithDisableRetry(), grpc.WithDisableServiceConfig(),
		grpc.WithMaxHeaderListSize(maxBody), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxBody)),
		grpc.WithReadBufferSize(maxBody), grpc.WithWriteBufferSize(maxBody), grpc.WithStaticStreamWindowSize(maxHeader),
	}
}
