// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-sh/flotilla/nodeagent/cri"
)

func TestFor(t *testing.T) {
	for name, tc := range map[string]struct {
		repository string
		patterns   []string
		want       []string
	}{
		"host":                             {"quay.io/team/app", []string{"quay.io", "gcr.io"}, []string{"quay.io"}},
		"host with a scheme":               {"quay.io/team/app", []string{"https://quay.io"}, []string{"https://quay.io"}},
		"old path":                         {"quay.io/team/app", []string{"https://quay.io/v2/"}, []string{"https://quay.io/v2/"}},
		"Docker Hub, its old name":         {"nginx", []string{"https://index.docker.io/v1/"}, []string{"https://index.docker.io/v1/"}},
		"Docker Hub, its new name":         {"team/app", []string{"docker.io"}, []string{"docker.io"}},
		"Docker Hub is no other":           {"quay.io/app", []string{"https://index.docker.io/v1/"}, nil},
		"port":                             {"reg:5000/app", []string{"reg", "reg:5001", "reg:5000"}, []string{"reg:5000"}},
		"part of the path":                 {"quay.io/team/app", []string{"quay.io/tea", "quay.io/team", "quay.io/other"}, []string{"quay.io/team"}},
		"the most specific first":          {"quay.io/team/app", []string{"*.io", "quay.io", "quay.io/team", "quay.io/team/app"}, []string{"quay.io/team/app", "quay.io/team", "quay.io", "*.io"}},
		"a star is one part":               {"a.b.example.com/app", []string{"*.example.com", "*.*.example.com"}, []string{"*.*.example.com"}},
		"a star in a part":                 {"eu1.gcr.io/app", []string{"eu*.gcr.io", "us*.gcr.io"}, []string{"eu*.gcr.io"}},
		"localhost is a registry":          {"localhost/app", []string{"localhost"}, []string{"localhost"}},
		"a damaged pattern is none":        {"quay.io/app", []string{"[quay.io"}, nil},
		"equal credentials are tried once": {"quay.io/app", []string{"quay.io", "quay.io"}, []string{"quay.io"}},
	} {
		t.Run(name, func(t *testing.T) {
			var entries []Entry
			for _, p := range tc.patterns {
				entries = append(entries, Entry{Pattern: p, Auth: cri.Auth{Username: p}})
			}
			var got []string
			for _, a := range For(tc.repository, entries) {
				got = append(got, a.Username)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestOfSecret(t *testing.T) {
	both := base64.StdEncoding.EncodeToString([]byte("u:p:with colon"))
	for name, tc := range map[string]struct {
		kind  corev1.SecretType
		key   string
		data  string
		want  []Entry
		fails bool
	}{
		"json": {corev1.SecretTypeDockerConfigJson, ".dockerconfigjson", `{"auths":{"b.io":{"username":"u","password":"p"},"a.io":{"auth":"` + both + `"}}}`,
			[]Entry{{"a.io", cri.Auth{Username: "u", Password: "p:with colon"}}, {"b.io", cri.Auth{Username: "u", Password: "p"}}}, false},
		"old":            {corev1.SecretTypeDockercfg, ".dockercfg", `{"a.io":{"identitytoken":"t"}}`, []Entry{{"a.io", cri.Auth{IdentityToken: "t"}}}, false},
		"damaged":        {corev1.SecretTypeDockercfg, ".dockercfg", `hunter2`, nil, true},
		"empty":          {corev1.SecretTypeDockerConfigJson, "x", ``, nil, true},
		"of another use": {corev1.SecretTypeOpaque, ".dockerconfigjson", `{"auths":{"a.io":{}}}`, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := OfSecret(&corev1.Secret{Type: tc.kind, Data: map[string][]byte{tc.key: []byte(tc.data)}})
			if (err != nil) != tc.fails || err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("error %v", err)
			}
			if diff := cmp.Diff(tc.want, got); len(tc.want)+len(got) > 0 && diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The plugin is a shell script that counts its runs and answers by the image it was asked for.
func TestPlugins(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "config.yaml")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
	}
	write("cloud", `#!/bin/sh
request=$(cat)
echo run >> "$COUNT"
case $request in
*'"kind":"CredentialProviderRequest","apiVersion":"credentialprovider.kubelet.k8s.io/v1","image":"cloud.io/'*) ;;
*) echo "unexpected $request" >&2; exit 1;;
esac
echo '{"kind":"CredentialProviderResponse","apiVersion":"credentialprovider.kubelet.k8s.io/v1","cacheKeyType":"'$1'","auth":{"cloud.io":{"username":"u","password":"hunter2"}}}'
`)
	write("broken", "#!/bin/sh\necho hunter2; echo hunter2 >&2; exit 3\n")
	write("odd", "#!/bin/sh\necho hunter2\n")
	for name, tc := range map[string]struct {
		cacheKey string
		images   []string
		wait     time.Duration
		runs     int
	}{
		"asked once for a registry": {"Registry", []string{"cloud.io/a", "cloud.io/b"}, 0, 1},
		"asked for each image":      {"Image", []string{"cloud.io/a", "cloud.io/b", "cloud.io/a"}, 0, 2},
		"asked again later":         {"Global", []string{"cloud.io/a", "cloud.io/a"}, time.Hour, 2},
		"not asked for others":      {"Global", []string{"quay.io/a"}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			count := filepath.Join(t.TempDir(), "count")
			write("config.yaml", fmt.Sprintf(`
apiVersion: kubelet.config.k8s.io/v1
kind: CredentialProviderConfig
providers:
- {name: cloud, apiVersion: credentialprovider.kubelet.k8s.io/v1, matchImages: [cloud.io], defaultCacheDuration: 30m, args: [%s], env: [{name: COUNT, value: %s}]}
`, tc.cacheKey, count))
			now := time.Unix(0, 0)
			p, err := LoadPlugins(file, dir, func() time.Time { return now })
			if err != nil {
				t.Fatal(err)
			}
			for _, image := range tc.images {
				entries, err := p.Credentials(context.Background(), image)
				got := For(image, entries)
				if asked := strings.HasPrefix(image, "cloud.io"); err != nil || asked != (len(got) == 1 && got[0].Password == "hunter2") {
					t.Errorf("%s: %d credentials, %v", image, len(got), err)
				}
				now = now.Add(tc.wait)
			}
			raw, _ := os.ReadFile(count)
			if runs := strings.Count(string(raw), "run"); runs != tc.runs {
				t.Errorf("%d runs, want %d", runs, tc.runs)
			}
		})
	}
	t.Run("one that fails costs its own credential", func(t *testing.T) {
		write("config.yaml", `
apiVersion: kubelet.config.k8s.io/v1
kind: CredentialProviderConfig
providers:
- {name: broken, apiVersion: credentialprovider.kubelet.k8s.io/v1, matchImages: ["*.io"], defaultCacheDuration: 1m}
- {name: odd, apiVersion: credentialprovider.kubelet.k8s.io/v1, matchImages: ["*.io"], defaultCacheDuration: 1m}
- {name: absent, apiVersion: credentialprovider.kubelet.k8s.io/v1, matchImages: ["*.io"], defaultCacheDuration: 1m}
- {name: cloud, apiVersion: credentialprovider.kubelet.k8s.io/v1, matchImages: ["*.io"], defaultCacheDuration: 1m, args: [Image], env: [{name: COUNT, value: /dev/null}]}
`)
		p, err := LoadPlugins(file, dir, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.Credentials(context.Background(), "cloud.io/a")
		if len(got) != 1 || err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%d credentials, error %v", len(got), err)
		}
		for _, name := range []string{"broken", "odd", "absent"} {
			if !strings.Contains(err.Error(), "credential provider "+name) {
				t.Errorf("%s is not named in %v", name, err)
			}
		}
	})
}

func TestLoadPlugins(t *testing.T) {
	dir := t.TempDir()
	const head = "apiVersion: kubelet.config.k8s.io/v1\nkind: CredentialProviderConfig\nproviders:\n"
	for text, wants := range map[string]string{
		"kind: Pod": "CredentialProviderConfig",
		"{":         "credential providers",
		head + "- {name: ../sh, apiVersion: credentialprovider.kubelet.k8s.io/v1, matchImages: [a], defaultCacheDuration: 0s}": "must be that of a program",
		head + "- {name: a, apiVersion: credentialprovider.kubelet.k8s.io/v1, defaultCacheDuration: 0s}":                       "matchImages",
		head + "- {name: a, apiVersion: credentialprovider.kubelet.k8s.io/v1, matchImages: [a]}":                               "defaultCacheDuration",
		head + "- {name: a, apiVersion: v9, matchImages: [a], defaultCacheDuration: 0s}":                                       "apiVersion",
	} {
		file := filepath.Join(dir, "f")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := LoadPlugins(file, dir, time.Now)
		if err == nil || !strings.Contains(err.Error(), wants) {
			t.Errorf("%q: %v", text, err)
		}
	}
	p, err := LoadPlugins(filepath.Join(dir, "absent"), dir, time.Now)
	if got, askErr := p.Credentials(context.Background(), "a"); err != nil || askErr != nil || len(got) != 0 {
		t.Errorf("without a file: %v, %v, %v", got, err, askErr)
	}
}
