// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeletconfig "k8s.io/kubelet/config/v1"
	providerv1 "k8s.io/kubelet/pkg/apis/credentialprovider/v1"
)

const (
	requestKind  = "CredentialProviderRequest"
	responseKind = "CredentialProviderResponse"
)

// apiVersions are those of requests and answers; what we use of them is the same in all.
var apiVersions = []string{
	"credentialprovider.kubelet.k8s.io/v1",
	"credentialprovider.kubelet.k8s.io/v1beta1",
	"credentialprovider.kubelet.k8s.io/v1alpha1",
}

// runner returns what runs a plugin: the request goes to its standard input, the answer comes from its output.
func runner(binDir string) func(context.Context, kubeletconfig.CredentialProvider, string) (providerv1.CredentialProviderResponse, error) {
	return func(ctx context.Context, p kubeletconfig.CredentialProvider, image string) (providerv1.CredentialProviderResponse, error) {
		var response providerv1.CredentialProviderResponse
		request, err := json.Marshal(providerv1.CredentialProviderRequest{
			TypeMeta: metav1.TypeMeta{APIVersion: p.APIVersion, Kind: requestKind}, Image: image,
		})
		if err != nil {
			return response, err
		}
		cmd := exec.CommandContext(ctx, filepath.Join(binDir, p.Name), p.Args...) //nolint:gosec // the administrator of the node names the program
		cmd.Env = os.Environ()
		for _, e := range p.Env {
			cmd.Env = append(cmd.Env, e.Name+"="+e.Value)
		}
		cmd.Stdin = bytes.NewReader(request)
		cmd.WaitDelay = time.Second
		out, err := cmd.Output()
		if err != nil {
			return response, fmt.Errorf("credential provider %s: %w", p.Name, err) // its output may hold secrets
		}
		if json.Unmarshal(out, &response) != nil || response.Kind != responseKind || response.APIVersion != p.APIVersion {
			return providerv1.CredentialProviderResponse{}, fmt.Errorf("credential provider %s: the answer is no %s of %s", p.Name, responseKind, p.APIVersion)
		}
		return response, nil
	}
}
