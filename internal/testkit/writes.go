// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"time"
)

// Write is one request that could change something.
type Write struct {
	// Time the API server answered.
	Time time.Time
	// UserAgent, Verb, Resource (with /subresource), Namespace and Name of the request.
	UserAgent, Verb, Resource, Namespace, Name string
	// Code is the HTTP status of the answer.
	Code int
}

type auditEvent struct {
	UserAgent      string    `json:"userAgent"`
	Verb           string    `json:"verb"`
	StageTimestamp time.Time `json:"stageTimestamp"`
	ObjectRef      struct {
		Resource, Subresource, Namespace, Name string
	} `json:"objectRef"`
	ResponseStatus struct{ Code int } `json:"responseStatus"`
}

// Writes returns the requests since a moment whose user agent starts with the prefix, in order. Leases
// and events are left out: the one is a heartbeat, the other is for people.
func (s *Server) Writes(t TB, userAgentPrefix string, since time.Time) []Write {
	t.Helper()
	file, err := os.Open(s.audit)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		t.Fatalf("reading the audit log: %v", err)
	}
	defer file.Close()
	var out []Write
	scanner := bufio.NewScanner(file)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		var e auditEvent
		if json.Unmarshal(scanner.Bytes(), &e) != nil {
			continue // the last line may be half written
		}
		if w, ok := e.write(); ok && strings.HasPrefix(w.UserAgent, userAgentPrefix) && w.Time.After(since) {
			out = append(out, w)
		}
	}
	return out
}

func (e auditEvent) write() (Write, bool) {
	resource := e.ObjectRef.Resource
	if resource == "leases" || resource == "events" {
		return Write{}, false
	}
	if e.ObjectRef.Subresource != "" {
		resource += "/" + e.ObjectRef.Subresource
	}
	return Write{
		Time: e.StageTimestamp, UserAgent: e.UserAgent, Verb: e.Verb, Resource: resource,
		Namespace: e.ObjectRef.Namespace, Name: e.ObjectRef.Name, Code: e.ResponseStatus.Code,
	}, true
}
