//go:build integration

// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/testkit"
)

// spokeUser has the rights that are generated from the spoke's markers, and no other.
const spokeUser = "system:serviceaccount:flotilla-system:flotilla-spoke"

// asSpoke is the access of the spoke as it is shipped.
func asSpoke() *rest.Config {
	cfg := server.ConfigFor(pullAgent)
	cfg.QPS, cfg.Impersonate.UserName = -1, spokeUser
	return cfg
}

// grantSpoke gives the spoke its generated ClusterRole, and its Role for pull secrets in a namespace.
func grantSpoke(ctx context.Context, secrets string) {
	GinkgoHelper()
	raw, err := os.ReadFile(filepath.Join(testkit.Root(), "generated/manifests/rbac/spoke/role.yaml"))
	Expect(err).NotTo(HaveOccurred())
	subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: spokeUser}}
	for doc := range strings.SplitSeq(string(raw), "\n---\n") {
		role := &unstructured.Unstructured{}
		Expect(yaml.Unmarshal([]byte(doc), &role.Object)).To(Succeed())
		ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: role.GetKind(), Name: role.GetName()}
		switch role.GetNamespace() {
		case "":
			if client.IgnoreAlreadyExists(admin.Create(ctx, role)) == nil {
				binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: ref.Name}, RoleRef: ref, Subjects: subjects}
				Expect(client.IgnoreAlreadyExists(admin.Create(ctx, binding))).To(Succeed())
			}
		case appsv1beta1.KruiseDaemonConfigNamespace:
			role.SetNamespace(secrets)
			Expect(admin.Create(ctx, role)).To(Succeed())
			Expect(admin.Create(ctx, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: secrets, Name: ref.Name}, RoleRef: ref, Subjects: subjects})).To(Succeed())
		}
	}
}

// told returns "reason: note" of the events about an object.
func told(ctx context.Context, obj client.Object) func() []string {
	return func() []string {
		var list eventsv1.EventList
		Expect(admin.List(ctx, &list)).To(Succeed())
		var out []string
		for i := range list.Items {
			if e := &list.Items[i]; e.Regarding.Name == obj.GetName() && (e.Regarding.Namespace == obj.GetNamespace() || obj.GetNamespace() == "") {
				out = append(out, e.Reason+": "+e.Note)
			}
		}
		return out
	}
}
