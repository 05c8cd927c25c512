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

// Writes returns the requests to this server since a moment whose user agent starts with the prefix.
func (s *Server) Writes(t TB, userAgentPrefix string, since time.Time) []Write {
	t.Helper()
	out, err := ReadWrites(s.audit, userAgentPrefix, since)
	if err != nil {
		t.Fatalf("reading the audit log: %v", err)
	}
	return out
}

// ReadWrites reads an API server's audit log and returns the requests since a moment whose user agent
// starts with the prefix, in order. Leases and events are left out: the one is a heartbeat, the other
// is for people. A log that does not exist holds none.
func ReadWrites(auditLog, userAgentPrefix string, since time.Time) ([]Write, error) {
	file, err := os.Open(auditLog)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
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
	return out, scanner.Err()
}

func (e auditEvent) write() (Write, bool) {
	resource := e.ObjectRef.Resource
	switch e.Verb {
	case "create", "update", "patch", "delete", "deletecollection":
	default:
		return Write{}, false
	}
	if resource == "leases" || resource == "events" || resource == "tokenreviews" || resource == "subjectaccessreviews" {
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
