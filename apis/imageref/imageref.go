// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package imageref

import (
	"errors"
	"regexp"
	"strings"
)

// Reference is a name taken apart.
type Reference struct {
	// Name is the image in its short form: nginx, team/app, quay.io/team/app.
	Name string
	// Tag is the digest with its algorithm where there is one, else the tag, else latest.
	Tag string
}

// longestName is how many characters a repository's full name may have.
const longestName = 255

var (
	hostPattern = regexp.MustCompile(`^(?:(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])(?:\.(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9]))*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?$`)
	partPattern = regexp.MustCompile(`^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*$`)
	tagPattern  = regexp.MustCompile(`^\w[\w.-]{0,127}$`)
	idPattern   = regexp.MustCompile(`^[a-f0-9]{64}$`)
	hexPattern  = regexp.MustCompile(`^[a-f0-9]+$`)
)

// digestLengths are the algorithms and how many hexadecimal digits each has.
var digestLengths = map[string]int{"sha256": 64, "sha384": 96, "sha512": 128}

// Parse takes an image's name apart. Errors say what is wrong with it.
func Parse(image string) (Reference, error) {
	if idPattern.MatchString(image) {
		return Reference{}, errors.New("is an ID of an image, not a name")
	}
	rest, digest, hasDigest := strings.Cut(image, "@")
	if hasDigest {
		if err := checkDigest(digest); err != nil {
			return Reference{}, err
		}
	}
	tag := ""
	if colon := strings.LastIndex(rest, ":"); colon > strings.LastIndex(rest, "/") {
		if rest, tag = rest[:colon], rest[colon+1:]; !tagPattern.MatchString(tag) {
			return Reference{}, errors.New("has a tag that is not 1 to 128 letters, digits, '_', '.' and '-'")
		}
	}
	name, err := shortName(rest)
	switch {
	case err != nil:
		return Reference{}, err
	case hasDigest:
		return Reference{Name: name, Tag: digest}, nil
	case tag == "":
		return Reference{Name: name, Tag: "latest"}, nil
	default:
		return Reference{Name: name, Tag: tag}, nil
	}
}

func checkDigest(digest string) error {
	algorithm, digits, _ := strings.Cut(digest, ":")
	length, known := digestLengths[algorithm]
	if !known {
		return errors.New("has a digest whose algorithm is none of sha256, sha384, sha512")
	}
	if len(digits) != length || !hexPattern.MatchString(digits) {
		return errors.New("has a digest that is damaged")
	}
	return nil
}

// hostOf splits a name into registry and path; a first part that could be no host is none.
func hostOf(full string) (host, path string) {
	host, path, found := strings.Cut(full, "/")
	if !found || !strings.ContainsAny(host, ".:") && host != "localhost" && strings.ToLower(host) == host {
		return "docker.io", full
	}
	if host == "index.docker.io" {
		host = "docker.io"
	}
	return host, path
}

// shortName checks a name without tag and digest and leaves out what Docker adds.
func shortName(full string) (string, error) {
	host, path := hostOf(full)
	if !hostPattern.MatchString(host) {
		return "", errors.New("has a registry that is no host name")
	}
	if path != strings.ToLower(path) {
		return "", errors.New("must be in lower case")
	}
	for part := range strings.SplitSeq(path, "/") {
		if !partPattern.MatchString(part) {
			return "", errors.New("must be made of lower case letters and digits, joined by '.', '_', '-' and '/'")
		}
	}
	if len(host)+1+len(path) > longestName {
		return "", errors.New("must not be longer than 255 characters")
	}
	if host != "docker.io" {
		return host + "/" + path, nil
	}
	if rest, found := strings.CutPrefix(path, "library/"); found && !strings.Contains(rest, "/") {
		return rest, nil
	}
	return path, nil
}
