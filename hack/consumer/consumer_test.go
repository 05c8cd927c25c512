// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package consumer

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	policyv1beta1 "github.com/flotilla-sh/flotilla/apis/policy/v1beta1"
	rolloutsv1beta1 "github.com/flotilla-sh/flotilla/apis/rollouts/v1beta1"
	"github.com/flotilla-sh/flotilla/generated/clientset/versioned/fake"
)

func TestClientsAreOfUse(t *testing.T) {
	if _, err := Connect(&rest.Config{Host: "localhost"}); err != nil {
		t.Fatal(err)
	}
	meta := metav1.ObjectMeta{Namespace: "default", Name: "a"}
	// The simple one: what is generated carries no schemas, without which the other cannot apply.
	clients := fake.NewSimpleClientset(&appsv1beta1.SidecarSet{ObjectMeta: metav1.ObjectMeta{Name: "logs"}})
	if err := Protect(t.Context(), clients, &policyv1beta1.PodUnavailableBudget{ObjectMeta: meta}, &rolloutsv1beta1.Rollout{ObjectMeta: meta}); err != nil {
		t.Error(err)
	}
	if names, err := Names(Watch(t.Context(), clients)); err != nil || !slices.Equal(names, []string{"logs"}) {
		t.Errorf("%v, %v", names, err)
	}
}
