// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package forward

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"strings"
	"sync"
	"time"
)

// dialTimeout bounds the connection to a target.
const dialTimeout = 5 * time.Second

// Rule says that connections to Listen go on to Target; both are host:port.
type Rule struct{ Listen, Target string }

// ParseRule reads LISTEN=TARGET.
func ParseRule(s string) (Rule, error) {
	listen, target, ok := strings.Cut(s, "=")
	if !ok || listen == "" || target == "" {
		return Rule{}, fmt.Errorf("%q: want LISTEN=TARGET", s)
	}
	return Rule{Listen: listen, Target: target}, nil
}

// String is what ParseRule reads.
func (r Rule) String() string { return r.Listen + "=" + r.Target }

// Serve forwards by all rules until ctx ends. It fails when one of them cannot be listened on.
func Serve(ctx context.Context, rules []Rule, events *log.Logger) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	failed := make(chan error, len(rules))
	for _, r := range rules {
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", r.Listen)
		if err != nil {
			return err
		}
		context.AfterFunc(ctx, func() { _ = listener.Close() })
		events.Printf("forwards %s to %s", listener.Addr(), r.Target)
		go func() { failed <- accept(ctx, listener, r.Target, events) }()
	}
	select {
	case <-ctx.Done():
		return nil
	case err := <-failed:
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
}

func accept(ctx context.Context, listener net.Listener, target string, events *log.Logger) error {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return err
		}
		go func() {
			if err := pass(ctx, conn, target); err != nil {
				events.Printf("from %s to %s: %v", conn.RemoteAddr(), target, err)
			}
		}()
	}
}

// pass copies both ways until both ends have said all they have to say, or ctx ends.
func pass(ctx context.Context, client net.Conn, target string) error {
	defer client.Close()
	server, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "tcp", target)
	if err != nil {
		return err
	}
	defer server.Close()
	stop := context.AfterFunc(ctx, func() { _, _ = client.Close(), server.Close() })
	defer stop()
	var both sync.WaitGroup
	var up, down error
	both.Go(func() { up = oneWay(server, client) })
	both.Go(func() { down = oneWay(client, server) })
	both.Wait()
	if ctx.Err() != nil {
		return nil
	}
	return errors.Join(up, down)
}

// oneWay copies until the source ends, and tells the destination so. After an error both are closed, since nobody may
// wait for the rest of what is lost.
func oneWay(to, from net.Conn) error {
	if _, err := io.Copy(to, from); err != nil {
		_, _ = to.Close(), from.Close()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		return err
	}
	if half, ok := to.(*net.TCPConn); ok {
		_ = half.CloseWrite()
	}
	return nil
}
