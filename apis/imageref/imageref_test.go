// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package imageref

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	sha := "sha256:" + strings.Repeat("a", 64)
	cases := map[string]struct{ name, tag, fails string }{
		"nginx":                             {name: "nginx", tag: "latest"},
		"nginx:1.25":                        {name: "nginx", tag: "1.25"},
		"docker.io/library/nginx":           {name: "nginx", tag: "latest"},
		"index.docker.io/library/nginx:1":   {name: "nginx", tag: "1"},
		"library/nginx":                     {name: "nginx", tag: "latest"},
		"docker.io/team/app":                {name: "team/app", tag: "latest"},
		"library/a/b":                       {name: "library/a/b", tag: "latest"},
		"quay.io/org/app":                   {name: "quay.io/org/app", tag: "latest"},
		"localhost/app":                     {name: "localhost/app", tag: "latest"},
		"localhost:5000/app:v1":             {name: "localhost:5000/app", tag: "v1"},
		"[::1]:5000/app":                    {name: "[::1]:5000/app", tag: "latest"},
		"Registry/app":                      {name: "Registry/app", tag: "latest"},
		"nginx@" + sha:                      {name: "nginx", tag: sha},
		"nginx:1@" + sha:                    {name: "nginx", tag: sha},
		"a__b/c-d.e":                        {name: "a__b/c-d.e", tag: "latest"},
		"":                                  {fails: "lower case letters"},
		"Nginx":                             {fails: "lower case"},
		"quay.io/Org/app":                   {fails: "lower case"},
		"nginx:":                            {fails: "tag"},
		"nginx:a b":                         {fails: "tag"},
		"nginx:" + strings.Repeat("a", 129): {fails: "tag"},
		"ngi nx":                            {fails: "joined by"},
		"-nginx":                            {fails: "joined by"},
		"a//b":                              {fails: "joined by"},
		"a..b/c":                            {fails: "host name"},
		"nginx@sha256:abc":                  {fails: "damaged"},
		"nginx@md5:abc":                     {fails: "algorithm"},
		"nginx@":                            {fails: "algorithm"},
		strings.Repeat("a", 64):             {fails: "ID of an image"},
		strings.Repeat("b", 250):            {fails: "255"},
		"https://quay.io/app":               {fails: ""},
	}
	for image, c := range cases {
		got, err := Parse(image)
		if image == "https://quay.io/app" {
			if err == nil {
				t.Errorf("%s: want an error", image)
			}
			continue
		}
		if c.fails != "" {
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%q: got %v, want an error with %q", image, err, c.fails)
			}
			continue
		}
		if err != nil || got.Name != c.name || got.Tag != c.tag {
			t.Errorf("%q: got %+v, %v; want %s and %s", image, got, err, c.name, c.tag)
		}
	}
}
