// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/nodeagent/credentials"
)

// hanging answers no read of a Secret named slow until it is let go.
type hanging struct {
	client.Reader
	asked, free chan struct{}
}

func (h *hanging) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	if key.Name == "slow" {
		close(h.asked)
		<-h.free
	}
	*obj.(*corev1.Secret) = corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}, Type: corev1.SecretTypeDockerConfigJson,
		Data: map[string][]byte{corev1.DockerConfigJsonKey: []byte(`{"auths":{"registry.example":{"username":"u","password":"p"}}}`)},
	}
	return nil
}

// A pull whose secret the API server is slow to send holds up no other pull.
func TestSlowSecretHoldsUpNoOther(t *testing.T) {
	reader := &hanging{asked: make(chan struct{}), free: make(chan struct{})}
	plugins, err := credentials.LoadPlugins("", "", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	ring := &Keyring{Reader: reader, Namespace: "ns", Plugins: plugins, Now: time.Now}
	auths := func(name string) int {
		found, err := ring.For(t.Context(), "registry.example/web", []v1beta1.ReferenceObject{{Namespace: "ns", Name: name}})
		if err != nil {
			t.Error(err)
		}
		return len(found)
	}
	ended := make(chan int)
	go func() { ended <- auths("slow") }()
	<-reader.asked
	other := make(chan int, 1)
	go func() { other <- auths("quick") }()
	select {
	case n := <-other:
		if n != 1 {
			t.Errorf("%d credentials of the other secret", n)
		}
	case <-time.After(10 * time.Second):
		t.Error("the other pull waits")
	}
	close(reader.free)
	if n := <-ended; n != 1 {
		t.Errorf("%d credentials of the slow secret", n)
	}
}
