// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fakenodes

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"
)

//go:embed stages
var stageFiles embed.FS

// fileRE is a reference to another stage file in a string.
var fileRE = regexp.MustCompile(`@[a-z-]+\.(gotpl|jq)`)

// stages returns the documents of all stage files, with references to other files resolved.
func stages() ([]byte, error) {
	var out bytes.Buffer
	for _, name := range []string{"nodes.yaml", "pods.yaml"} {
		raw, err := fs.ReadFile(stageFiles, "stages/"+name)
		if err != nil {
			return nil, err
		}
		for doc := range strings.SplitSeq(string(raw), "\n---\n") {
			resolved, err := resolveDocument([]byte(doc))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			fmt.Fprintf(&out, "---\n%s", resolved)
		}
	}
	return out.Bytes(), nil
}

func resolveDocument(doc []byte) ([]byte, error) {
	var stage map[string]any
	if err := yaml.UnmarshalStrict(doc, &stage); err != nil {
		return nil, err
	}
	resolved, err := resolve(stage)
	if err != nil {
		return nil, err
	}
	return yaml.Marshal(resolved)
}

// resolve replaces references in every string of the value.
func resolve(value any) (any, error) {
	var err error
	switch v := value.(type) {
	case string:
		return resolveString(v)
	case []any:
		for i := range v {
			if v[i], err = resolve(v[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for k := range v {
			if v[k], err = resolve(v[k]); err != nil {
				return nil, err
			}
		}
	}
	return value, nil
}

func resolveString(s string) (string, error) {
	var err error
	s = fileRE.ReplaceAllStringFunc(s, func(ref string) string {
		raw, e := fs.ReadFile(stageFiles, "stages/"+ref[1:])
		if e != nil {
			err = e
		}
		return strings.TrimSpace(string(raw))
	})
	return s, err
}
