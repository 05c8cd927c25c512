// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package preserve

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	stdjson "encoding/json"
	"errors"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/util/json"
)

const (
	// longText is from how many bytes on a record is compressed.
	longText = 4 << 10
	// mostText is the most bytes of a record.
	mostText = 128 << 10
	// mostAnnotations is the most bytes that all annotations of an object may have, names and values together; the
	// API server refuses more.
	mostAnnotations = 256 << 10
	// mostPlain bounds a record that is unpacked, whoever wrote it. Objects have 1.5 MiB at most.
	mostPlain = 8 << 20
	// packed marks a record that is compressed.
	packed = "gzip:"
)

// ErrTooMuch says that an object came back from a version that could not say all of it, and that what was
// missing had no room in an annotation.
var ErrTooMuch = errors.New("this object cannot be written in this version, which lacks too many of its fields: write it in the storage version")

// record is what is kept: the parts of the object that would come back, and the same parts of the original.
type record struct {
	Base    map[string]any `json:"base,omitempty"`
	Full    map[string]any `json:"full,omitempty"`
	TooMuch bool           `json:"tooMuch,omitempty"`
}

func encode(kept record) (string, error) {
	plain, err := stdjson.Marshal(kept)
	if err != nil {
		return "", err
	}
	if len(plain) < longText {
		return string(plain), nil
	}
	var out bytes.Buffer
	writer := gzip.NewWriter(&out)
	if _, err := writer.Write(plain); err != nil {
		return "", err
	}
	if err := writer.Close(); err != nil {
		return "", err
	}
	text := packed + base64.StdEncoding.EncodeToString(out.Bytes())
	if len(text) > mostText {
		return encode(record{TooMuch: true})
	}
	return text, nil
}

// fitting returns the annotations with a record under a key, if there is room: else with the word that there was too
// much, else without either. An object must be readable in any case.
func fitting(annotations map[string]string, key, text string) (map[string]string, error) {
	room := mostAnnotations - len(key)
	for name, value := range annotations {
		room -= len(name) + len(value)
	}
	if len(text) > room {
		var err error
		if text, err = encode(record{TooMuch: true}); err != nil || len(text) > room {
			return annotations, err
		}
	}
	return With(annotations, key, text), nil
}

// decode returns nil for a text that is no record.
func decode(text string) (*record, error) {
	plain := []byte(text)
	if coded, found := strings.CutPrefix(text, packed); found {
		reader, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(coded)))
		if err != nil {
			return nil, nil
		}
		if plain, err = io.ReadAll(io.LimitReader(reader, mostPlain)); err != nil {
			return nil, nil
		}
	}
	var raw map[string]any
	if json.Unmarshal(plain, &raw) != nil {
		return nil, nil
	}
	if raw["tooMuch"] == true {
		return nil, ErrTooMuch
	}
	base, _ := raw["base"].(map[string]any)
	full, _ := raw["full"].(map[string]any)
	return &record{Base: base, Full: full}, nil
}
