// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"cmp"
	"net"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/flotilla-sh/flotilla/nodeagent/cri"
)

// dockerHub is where images without a registry come from; its credentials bear one of several names.
const dockerHub = "docker.io"

// Entry is a credential and what it is for.
type Entry struct {
	// Pattern is a registry with a part of the path, each as far as given: registry.example.com:5000/team.
	Pattern string
	Auth    cri.Auth
}

// For returns the credentials that fit an image's repository (its name without tag and digest), the most specific
// first; equals keep their order.
func For(repository string, entries []Entry) []cri.Auth {
	host, rest := split(repository)
	var fit []Entry
	for _, e := range entries {
		if matches(e.Pattern, host, rest) {
			fit = append(fit, e)
		}
	}
	slices.SortStableFunc(fit, func(a, b Entry) int { return cmp.Compare(specific(b.Pattern), specific(a.Pattern)) })
	var out []cri.Auth
	for _, e := range fit {
		if !slices.Contains(out, e.Auth) {
			out = append(out, e.Auth)
		}
	}
	return out
}

// split takes a repository apart into its registry and path. A name without a registry is Docker Hub's.
func split(repository string) (host, rest string) {
	first, rest, found := strings.Cut(repository, "/")
	switch {
	case !found:
		return dockerHub, "library/" + repository
	case !strings.ContainsAny(first, ".:") && first != "localhost":
		return dockerHub, repository
	default:
		return hubName(first), rest
	}
}

func hubName(host string) string {
	if host == "index.docker.io" || host == "registry-1.docker.io" {
		return dockerHub
	}
	return host
}

// pattern is a Pattern taken apart: schemes and Docker's old version paths mean nothing.
func parsePattern(pattern string) (host, rest string) {
	if u, err := url.Parse(pattern); err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" {
		pattern = u.Host + u.Path
	}
	host, rest, _ = strings.Cut(pattern, "/")
	rest = strings.Trim(rest, "/")
	if rest == "v1" || rest == "v2" {
		rest = ""
	}
	return hubName(host), rest
}

func matches(pattern, host, rest string) bool {
	wantHost, wantRest := parsePattern(pattern)
	if !hostMatches(wantHost, host) {
		return false
	}
	return wantRest == "" || rest == wantRest || strings.HasPrefix(rest, wantRest+"/")
}

// hostMatches compares part by part, so that * stands for one part of a name or some of its letters.
func hostMatches(pattern, host string) bool {
	wantName, wantPort := hostPort(pattern)
	name, port := hostPort(host)
	want, got := strings.Split(wantName, "."), strings.Split(name, ".")
	if wantPort != port || len(want) != len(got) {
		return false
	}
	for i := range want {
		if ok, err := path.Match(want[i], got[i]); err != nil || !ok {
			return false
		}
	}
	return true
}

func hostPort(s string) (host, port string) {
	if host, port, err := net.SplitHostPort(s); err == nil {
		return host, port
	}
	return s, ""
}

// specific ranks patterns: longer ones first, * counts for nothing.
func specific(pattern string) int {
	host, rest := parsePattern(pattern)
	return len(strings.ReplaceAll(host, "*", "")) + 1000*len(rest)
}
