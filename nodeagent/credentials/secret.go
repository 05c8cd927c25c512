// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-sh/flotilla/nodeagent/cri"
)

type dockerEntry struct {
	Username      string `json:"username"`
	Password      string `json:"password"`
	Auth          string `json:"auth"`
	IdentityToken string `json:"identitytoken"`
	RegistryToken string `json:"registrytoken"`
}

// OfSecret returns the credentials in a pull secret, of either type, in the order of their patterns. A Secret of
// another type has none. The error says that the content cannot be read, and nothing of it.
func OfSecret(secret *corev1.Secret) ([]Entry, error) {
	entries := map[string]dockerEntry{}
	var err error
	switch secret.Type {
	case corev1.SecretTypeDockerConfigJson:
		var file struct {
			Auths map[string]dockerEntry `json:"auths"`
		}
		err = json.Unmarshal(secret.Data[corev1.DockerConfigJsonKey], &file)
		entries = file.Auths
	case corev1.SecretTypeDockercfg:
		err = json.Unmarshal(secret.Data[corev1.DockerConfigKey], &entries)
	default:
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("secret %s/%s holds no Docker configuration", secret.Namespace, secret.Name)
	}
	out := make([]Entry, 0, len(entries))
	for _, pattern := range slices.Sorted(maps.Keys(entries)) {
		out = append(out, Entry{Pattern: pattern, Auth: entries[pattern].auth()})
	}
	return out, nil
}

// auth prefers the words auth holds, as Docker does.
func (e dockerEntry) auth() cri.Auth {
	out := cri.Auth{Username: e.Username, Password: e.Password, IdentityToken: e.IdentityToken, RegistryToken: e.RegistryToken}
	if raw, err := base64.StdEncoding.DecodeString(e.Auth); err == nil {
		if user, password, ok := strings.Cut(strings.TrimRight(string(raw), "\x00"), ":"); ok {
			out.Username, out.Password = user, password
		}
	}
	return out
}
