// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package manifests

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/convert"
	"github.com/flotilla-sh/flotilla/internal/testkit"
	spokesetup "github.com/flotilla-sh/flotilla/spoke/setup"
)

const (
	kruiseNamespace = "kruise-system"
	kruiseManager   = "kruise-controller-manager"
	kruiseLease     = "kruise-manager"
)

// kruiseConverts are the definitions that OpenKruise's kustomization has converted by its webhook. Of the
// others it leaves the versions as they are.
var kruiseConverts = []string{
	"clonesets", "sidecarsets", "statefulsets", "uniteddeployments", "daemonsets", "containerrecreaterequests",
	"resourcedistributions", "persistentpodstates", "workloadspreads",
}

// openKruise is a cluster that OpenKruise 1.9 runs, and what stands in for it: it holds the Lease, serves
// admission and conversion, and puts its conversion back where it is changed, until its Deployment is scaled
// to 0. Its controllers have nothing to do.
type openKruise struct {
	server *testkit.Server
	admin  client.Client
	crds   []apiextensionsv1.CustomResourceDefinition
	// converts is what the CRDs of its own name as their conversion.
	converts *apiextensionsv1.CustomResourceConversion
	// gone is closed when its process has ended.
	gone chan struct{}
	// saved is where the script keeps things, kubeconfig how it gets at the cluster.
	saved, kubeconfig string
}

func startOpenKruise(t *testing.T) *openKruise {
	t.Helper()
	server := testkit.Start(t, t.TempDir()) // with no CRDs: envtest would take the conversion out of them
	scheme := spokesetup.Scheme()
	err := apiextensionsv1.AddToScheme(scheme)
	if err != nil {
		t.Fatal(err)
	}
	admin, err := client.New(server.ConfigFor("admin"), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle(convert.Path, convert.Handler(spokesetup.Scheme()))
	mux.HandleFunc("/", allow)
	process := httptest.NewTLSServer(mux)
	rollouts := httptest.NewTLSServer(convert.Handler(spokesetup.Scheme())) // a program of its own, that stays
	t.Cleanup(rollouts.Close)
	o := &openKruise{server: server, admin: admin, converts: convertedBy(process), gone: make(chan struct{})}
	for _, name := range []string{kruiseNamespace, "shop"} {
		ensureNamespace(t, admin, name)
	}
	o.installCRDs(t, convertedBy(rollouts))
	o.installProgram(t, process)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer close(o.gone)
		defer process.Close()
		o.run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-o.gone
	})
	return o
}

// allow lets everything in, as it is.
func allow(w http.ResponseWriter, r *http.Request) {
	review := admissionv1.AdmissionReview{}
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	_ = json.NewEncoder(w).Encode(review)
}

func caOf(server *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}

// convertedBy names a server. In a cluster it would be Service kruise-webhook-service, which nothing can reach here.
func convertedBy(server *httptest.Server) *apiextensionsv1.CustomResourceConversion {
	return &apiextensionsv1.CustomResourceConversion{
		Strategy: apiextensionsv1.WebhookConverter,
		Webhook: &apiextensionsv1.WebhookConversion{
			ConversionReviewVersions: []string{"v1", "v1beta1"},
			ClientConfig:             &apiextensionsv1.WebhookClientConfig{URL: ptr.To(server.URL + convert.Path), CABundle: caOf(server)},
		},
	}
}

// installCRDs installs the definitions that OpenKruise 1.9 has, and those of OpenKruise Rollouts. Fields,
// versions and storage version are ours; conversion is theirs, and our labels are not there.
func (o *openKruise) installCRDs(t *testing.T, rollouts *apiextensionsv1.CustomResourceConversion) {
	t.Helper()
	for _, obj := range build(t, filepath.Join(testkit.Root(), "kustomize", "crd-member")) {
		crd := apiextensionsv1.CustomResourceDefinition{}
		fromUnstructured(t, obj.Object, &crd)
		if crd.Name == "configmapsets.apps.kruise.io" {
			continue // came later
		}
		crd.Labels, crd.Spec.Names.Categories, crd.Spec.Conversion = nil, nil, nil
		switch {
		case crd.Spec.Group == "rollouts.kruise.io" && len(crd.Spec.Versions) > 1:
			crd.Spec.Conversion = rollouts
		case slices.Contains(kruiseConverts, crd.Spec.Names.Plural):
			crd.Spec.Conversion = o.converts
		}
		o.create(t, crd.DeepCopy())
		o.crds = append(o.crds, crd)
	}
	if len(o.crds) != 18+4 {
		t.Fatalf("there are %d definitions", len(o.crds))
	}
	for i := range o.crds {
		awaitServed(t, o.admin, &o.crds[i])
	}
}

func (o *openKruise) create(t *testing.T, obj client.Object) {
	t.Helper()
	if err := o.admin.Create(t.Context(), obj); err != nil {
		t.Fatalf("%T %s: %v", obj, obj.GetName(), err)
	}
}

// installProgram installs what runs, with webhooks that fail closed.
func (o *openKruise) installProgram(t *testing.T, process *httptest.Server) {
	t.Helper()
	labels := map[string]string{"control-plane": "controller-manager"}
	pod := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "manager", Image: "openkruise/kruise-manager:v1.9.0"}}},
	}
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: kruiseNamespace, Name: name} }
	o.create(t, &appsv1.Deployment{ObjectMeta: meta(kruiseManager), Spec: appsv1.DeploymentSpec{
		Replicas: ptr.To[int32](2), Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: pod,
	}})
	o.create(t, &appsv1.DaemonSet{ObjectMeta: meta("kruise-daemon"), Spec: appsv1.DaemonSetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: pod}})
	o.create(t, &corev1.Service{ObjectMeta: meta("kruise-webhook-service"), Spec: corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: 443}}}})
	o.create(t, &corev1.Secret{ObjectMeta: meta("kruise-webhook-certs")})
	to := admissionregistrationv1.WebhookClientConfig{URL: ptr.To(process.URL + "/mutate-pod"), CABundle: caOf(process)}
	everything := []admissionregistrationv1.RuleWithOperations{
		{Operations: []admissionregistrationv1.OperationType{"CREATE"}, Rule: admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}}},
		{Operations: []admissionregistrationv1.OperationType{"CREATE", "UPDATE"}, Rule: admissionregistrationv1.Rule{APIGroups: []string{"apps.kruise.io", "policy.kruise.io"}, APIVersions: []string{"*"}, Resources: []string{"*"}}},
	}
	o.create(t, &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "kruise-mutating-webhook-configuration"},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: "mpod.kb.io", ClientConfig: to, Rules: everything, SideEffects: ptr.To(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
		}},
	})
	o.create(t, &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "kruise-validating-webhook-configuration"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "vpod.kb.io", ClientConfig: to, Rules: everything, SideEffects: ptr.To(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
		}},
	})
}

// run is the manager's process.
func (o *openKruise) run(ctx context.Context) {
	for ; ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
		deployment := &appsv1.Deployment{}
		if o.admin.Get(ctx, client.ObjectKey{Namespace: kruiseNamespace, Name: kruiseManager}, deployment) == nil && *deployment.Spec.Replicas == 0 {
			o.lead(ctx, "")
			return
		}
		o.lead(ctx, kruiseManager+"-7d9f_8c1e")
		o.keepConversion(ctx)
	}
}

// lead renews the Lease, or gives it back with no holder.
func (o *openKruise) lead(ctx context.Context, holder string) {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: kruiseNamespace, Name: kruiseLease}}
	missing := o.admin.Get(ctx, client.ObjectKeyFromObject(lease), lease) != nil
	lease.Spec = coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: ptr.To[int32](15), RenewTime: ptr.To(metav1.NowMicro())}
	if missing {
		_ = o.admin.Create(ctx, lease)
		return
	}
	_ = o.admin.Update(ctx, lease)
}

// keepConversion puts its own conversion back, wherever there is any.
func (o *openKruise) keepConversion(ctx context.Context) {
	list := &apiextensionsv1.CustomResourceDefinitionList{}
	if o.admin.List(ctx, list) != nil {
		return
	}
	want := o.converts.Webhook.ClientConfig
	for i := range list.Items {
		crd := &list.Items[i]
		conversion := crd.Spec.Conversion
		if strings.HasPrefix(crd.Spec.Group, "rollouts.") || conversion == nil || conversion.Webhook == nil || ptr.Deref(conversion.Webhook.ClientConfig.URL, "") == *want.URL {
			continue
		}
		conversion.Webhook.ClientConfig = want
		_ = o.admin.Update(ctx, crd) // a conflict is tried again
	}
}

// storeAsBefore stores a CloneSet of the shop as OpenKruise before 1.9 did, as v1alpha1: such objects stay so until
// they are written again.
func (o *openKruise) storeAsBefore(t *testing.T, name string) {
	t.Helper()
	o.storage(t, "v1alpha1")
	set := &appsv1beta1.CloneSet{}
	o.change(t, set, name, func() { set.SetLabels(with(set.Labels, "stored-as", "v1alpha1")) })
	set.Status.ObservedGeneration = set.Generation // which moves with the way to say the same
	if err := o.admin.Status().Update(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	o.storage(t, "v1beta1")
}

// storage makes a version of CloneSets the one that is stored, and waits until it is.
func (o *openKruise) storage(t *testing.T, version string) {
	t.Helper()
	before := o.storageHash(t)
	o.await(t, "another storage version", func(ctx context.Context) error {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := o.admin.Get(ctx, client.ObjectKey{Name: "clonesets.apps.kruise.io"}, crd); err != nil {
			return err
		}
		for i := range crd.Spec.Versions {
			crd.Spec.Versions[i].Storage = crd.Spec.Versions[i].Name == version
		}
		return o.admin.Update(ctx, crd)
	})
	o.await(t, "another storage version in discovery", func(context.Context) error {
		if o.storageHash(t) == before {
			return errors.New("it is as before")
		}
		return nil
	})
}

// storageHash is what discovery says of the version that CloneSets are stored as.
func (o *openKruise) storageHash(t *testing.T) string {
	t.Helper()
	list, err := kubernetes.NewForConfigOrDie(o.server.Config).Discovery().ServerResourcesForGroupVersion("apps.kruise.io/v1beta1")
	if err != nil {
		t.Fatal(err)
	}
	for i := range list.APIResources {
		if list.APIResources[i].Name == "clonesets" {
			return list.APIResources[i].StorageVersionHash
		}
	}
	t.Fatal("there are no CloneSets")
	return ""
}
