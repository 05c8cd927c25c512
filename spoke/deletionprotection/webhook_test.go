// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package deletionprotection

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/flotilla-sh/flotilla/internal/protectionlog"
	"github.com/flotilla-sh/flotilla/internal/testkit"
)

// asked is a question about a deletion of what is in namespace shop and called web.
func asked(object string, change ...func(*admission.Request)) admission.Request {
	out := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		UID: "u", Operation: admissionv1.Delete, UserInfo: authenticationv1.UserInfo{Username: "joe"},
	}}
	out.OldObject.Raw = []byte(object)
	for _, c := range change {
		c(&out)
	}
	return out
}

func labelled(value, rest string) string {
	return fmt.Sprintf(`{"metadata":{"namespace":"shop","name":"web","labels":{"policy.kruise.io/delete-protection":%q}}%s}`, value, rest)
}

const refused = "forbidden by ResourcesProtectionDeletion for policy.kruise.io/delete-protection="

// TestRows plays all rows: each kind and value, with something there and without.
func TestRows(t *testing.T) {
	one, many := `,"spec":{"replicas":1}`, `,"spec":{"replicas":7}`
	none := `,"spec":{"replicas":0}`
	crd := `,"spec":{"group":"example.com","names":{"plural":"widgets"},"versions":[{"name":"v1","served":true,"storage":true}]}`
	type row struct{ value, spec, want string }
	workload := []row{
		{always, none, refused + "Always"}, {always, many, refused + "Always"},
		{cascading, one, refused + "Cascading: 1 replica"}, {cascading, many, refused + "Cascading: 7 replicas"},
		{cascading, none, ""}, {cascading, "", ""}, {"Never", many, ""}, {"", many, ""},
	}
	front := []row{{always, "", refused + "Always"}, {cascading, "", ""}, {"x", "", ""}}
	rows := map[string][]row{
		"/validate-namespace":                {{always, "", refused + "Always"}, {cascading, "", refused + "Cascading: 2 active pods"}, {"x", "", ""}},
		"/validate-customresourcedefinition": {{always, crd, refused + "Always"}, {cascading, crd, refused + "Cascading: 2 custom resources"}, {"x", crd, ""}},
		"/validate-service":                  front, "/validate-ingress": front,
		"/validate-apps-deployment": workload, "/validate-apps-replicaset": workload, "/validate-apps-statefulset": workload,
		"/validate-deletion-apps-kruise-io-cloneset": workload, "/validate-deletion-apps-kruise-io-statefulset": workload,
		"/validate-deletion-apps-kruise-io-uniteddeployment": workload,
	}
	for _, kind := range kinds {
		if rows[kind.path] == nil {
			t.Errorf("nothing is tested of %s", kind.path)
		}
		reads := []string{}
		h := &handler{protected: kind, cluster: cluster{metadata: shelf{pages: [][]bool{{false, false}}, asked: &reads}, definitions: true}}
		for _, r := range rows[kind.path] {
			says(t, kind.path, h.Handle(t.Context(), asked(labelled(r.value, r.spec))), r.want)
		}
	}
}

// says wants a refusal with that message, or none.
func says(t *testing.T, what string, got admission.Response, want string) {
	t.Helper()
	switch {
	case want == "" && !got.Allowed:
		t.Errorf("%s is refused: %s", what, got.Result.Message)
	case want != "" && (got.Allowed || got.Result.Message != want || got.Result.Code != http.StatusForbidden):
		t.Errorf("%s: allowed %v, %d %q, want %q", what, got.Allowed, got.Result.Code, got.Result.Message, want)
	}
}

// TestWhatPasses: there is nothing to ask about, or nothing to protect.
func TestWhatPasses(t *testing.T) {
	h := &handler{protected: kinds[2]}
	for name, req := range map[string]admission.Request{
		"no old object":  asked(""),
		"a subresource":  asked(labelled(always, ""), func(r *admission.Request) { r.SubResource = "status" }),
		"an update":      asked(labelled(always, ""), func(r *admission.Request) { r.Operation = admissionv1.Update }),
		"no labels":      asked(`{"metadata":{"name":"web"}}`),
		"deleted before": asked(`{"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z","labels":{"policy.kruise.io/delete-protection":"Always"}}}`),
	} {
		if got := h.Handle(t.Context(), req); !got.Allowed {
			t.Errorf("%s: %s", name, got.Result.Message)
		}
	}
	if got := h.Handle(t.Context(), asked(`{`)); got.Allowed || got.Result.Code != http.StatusBadRequest {
		t.Errorf("what cannot be read: %+v", got)
	}
}

// TestRefusalsAreRecorded in the metrics and in the log, but not those of dry runs, nor those of services.
func TestRefusalsAreRecorded(t *testing.T) {
	for _, r := range []*refusals{namespaces, definitions, workloads} {
		r.Reset()
	}
	folder := t.TempDir()
	log, err := protectionlog.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range kinds {
		object := labelled(always, "")
		if kind.cascade == content || kind.cascade == instances {
			object = `{"metadata":{"name":"web","labels":{"policy.kruise.io/delete-protection":"Always"}}}`
		}
		h := &handler{protected: kind, log: log}
		h.Handle(t.Context(), asked(object))
		h.Handle(t.Context(), asked(object, func(r *admission.Request) { r.DryRun = ptr.To(true) }))
	}
	for _, tc := range []struct {
		of   *refusals
		want map[string]float64
	}{
		{namespaces, map[string]float64{"web joe": 1}},
		{definitions, map[string]float64{"web joe": 1}},
		{workloads, map[string]float64{
			"Deployment_shop_web joe": 1, "ReplicaSet_shop_web joe": 1, "StatefulSet_shop_web joe": 2, "CloneSet_shop_web joe": 1, "UnitedDeployment_shop_web joe": 1,
		}},
	} {
		if d := cmp.Diff(tc.want, testkit.Counts(t, tc.of)); d != "" {
			t.Error(d)
		}
	}
	got, err := os.ReadFile(filepath.Join(folder, "protection.log"))
	if err != nil {
		t.Fatal(err)
	}
	want := ""
	for _, what := range []string{
		`"Namespace","Namespace":""`, `"CustomResourceDefinition","Namespace":""`, `"Deployment","Namespace":"shop"`, `"ReplicaSet","Namespace":"shop"`,
		`"StatefulSet","Namespace":"shop"`, `"CloneSet","Namespace":"shop"`, `"StatefulSet","Namespace":"shop"`, `"UnitedDeployment","Namespace":"shop"`,
	} {
		want += `{"Event":"DeletionProtection","Kind":` + what + `,"Name":"web","UserAgent":"joe"}` + "\n"
	}
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Error(d)
	}
}

// TestSeriesAreBounded: users may call themselves, and objects, as they like.
func TestSeriesAreBounded(t *testing.T) {
	r := refusalsOf("test", "name", "")
	for i := range 3000 {
		r.count(fmt.Sprint(i), fmt.Sprint("user", i%1500))
	}
	got := testkit.Counts(t, r)
	if len(got) < mostSeries || len(got) > mostSeries+301 {
		t.Errorf("%d series", len(got))
	}
	if got["other other"] != 1900 {
		t.Errorf("%v are of others", got["other other"])
	}
}

// TestBoundClaimsHoldNamespaces is DP-01.
func TestBoundClaimsHoldNamespaces(t *testing.T) {
	reads := []string{}
	h := &handler{protected: kinds[0], cluster: cluster{metadata: shelf{asked: &reads}, reader: claims{pages: [][]corev1.PersistentVolumeClaim{{claim(corev1.ClaimBound, false)}}}}}
	object := `{"metadata":{"name":"shop","labels":{"policy.kruise.io/delete-protection":"Cascading"}}}`
	says(t, "a namespace with a claim", h.Handle(t.Context(), asked(object)), refused+"Cascading: 1 bound PersistentVolumeClaim")
}
