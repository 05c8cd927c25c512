// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cri

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// lost is a connection that does not hold.
func lost(t *testing.T) *Client {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///nobody", grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	return &Client{conn: conn}
}

// A runtime that answers and hangs up each time is not searched without a pause, and one that has held is at once.
func TestSearchesOfRuntimeThatHangsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewConnector(Finder{}, logr.Discard())
		var searches []time.Time
		c.find = func(context.Context) (*Client, error) {
			searches = append(searches, time.Now())
			return lost(t), nil
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_ = c.Start(ctx) // never fails
		if n := len(searches); n < 10 || n > 20 {
			t.Errorf("%d searches in a minute, want pauses of 0.2 s to 5 s between them", n)
		}
		if first := searches[1].Sub(searches[0]); first > time.Second {
			t.Errorf("the second search is after %s", first)
		}
		for i := range len(searches) - 1 {
			if pause := searches[i+1].Sub(searches[i]); pause > 6*time.Second {
				t.Errorf("search %d is after %s", i+1, pause)
			}
		}
	})
}
