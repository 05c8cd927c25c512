// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	log.SetFlags(log.LstdFlags | log.Lmicroseconds)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	s, err := parse(os.Args[1:], os.Getenv)
	if err != nil {
		log.Fatal(err)
	}
	if err := run(ctx, s); err != nil {
		log.Fatal(err)
	}
}

// run serves until ctx ends, then goes on for the stop delay and returns.
func run(ctx context.Context, s settings) error {
	if !wait(ctx, s.startDelay) {
		return nil
	}
	listener, err := net.Listen("tcp", s.listen)
	if err != nil {
		return err
	}
	server := newServer(s, time.Now())
	log.Printf("web %s listens on %s", s.version, listener.Addr())
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	log.Printf("web %s stops in %s", s.version, s.stopDelay)
	time.Sleep(s.stopDelay)
	if err := server.Close(); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// newServer makes a server that speaks HTTP/2, which gRPC needs, without TLS.
func newServer(s settings, started time.Time) *http.Server {
	server := &http.Server{Handler: newHandler(s, started), ReadHeaderTimeout: 10 * time.Second, Protocols: &http.Protocols{}}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	return server
}

// wait returns false when ctx ended before d had passed.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
