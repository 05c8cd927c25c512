// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package manifests

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
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
	kruiseService   = "kruise-webhook-service"
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
//
// Nothing of OpenKruise itself is here. Stand-ins are its process, which converts as ours does and lets all in, its
// CRDs, which are ours less what installCRDs takes out of them, and its objects, which are written by hand. The API
// server is real, and so are script, kubectl, overlay and spoke. No kubelet, Deployment controller or collector of
// garbage runs.
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
	// stopSpoke ends the spoke's process. leftOver and passesBefore are what metrics told before it began.
	stopSpoke    func()
	leftOver     float64
	passesBefore map[string]float64
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
	listener, err := net.Listen("tcp", net.JoinHostPort(address(t), "0"))
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle(convert.Path, convert.Handler(spokesetup.Scheme()))
	mux.HandleFunc("/", allow)
	process := &httptest.Server{Listener: listener, Config: &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}}
	process.TLS = &tls.Config{Certificates: []tls.Certificate{certificateFor(t, kruiseService+"."+kruiseNamespace+".svc")}}
	process.StartTLS()
	rollouts := httptest.NewTLSServer(convert.Handler(spokesetup.Scheme())) // a program of its own, that stays
	t.Cleanup(rollouts.Close)
	to := &admissionregistrationv1.ServiceReference{Namespace: kruiseNamespace, Name: kruiseService, Port: ptr.To[int32](443)}
	o := &openKruise{server: server, admin: admin, gone: make(chan struct{}), converts: convertedAt(&apiextensionsv1.WebhookClientConfig{
		Service:  &apiextensionsv1.ServiceReference{Namespace: to.Namespace, Name: to.Name, Port: to.Port, Path: ptr.To(convert.Path)},
		CABundle: caOf(process),
	})}
	for _, name := range []string{kruiseNamespace, "shop", "mistakes", "after"} {
		ensureNamespace(t, admin, name)
	}
	o.create(t, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: kruiseNamespace, Name: kruiseService},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "webhook", Port: 443}}},
	})
	servedHere(t, admin, kruiseNamespace, kruiseService, listener.Addr().(*net.TCPAddr).Port)
	o.installCRDs(t, convertedAt(&apiextensionsv1.WebhookClientConfig{URL: ptr.To(rollouts.URL + convert.Path), CABundle: caOf(rollouts)}))
	o.installProgram(t, admissionregistrationv1.WebhookClientConfig{Service: to, CABundle: caOf(process)})
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

// certificateFor is a certificate that says itself that it is of a host.
func certificateFor(t *testing.T, host string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{host}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func convertedAt(at *apiextensionsv1.WebhookClientConfig) *apiextensionsv1.CustomResourceConversion {
	return &apiextensionsv1.CustomResourceConversion{
		Strategy: apiextensionsv1.WebhookConverter,
		Webhook:  &apiextensionsv1.WebhookConversion{ConversionReviewVersions: []string{"v1", "v1beta1"}, ClientConfig: at},
	}
}

// installCRDs installs the definitions that OpenKruise 1.9 has, and those of OpenKruise Rollouts. Fields, their types,
// what is required, versions and storage version are ours; conversion is theirs; our labels are not there, nor is
// what our schemas say of values.
func (o *openKruise) installCRDs(t *testing.T, rollouts *apiextensionsv1.CustomResourceConversion) {
	t.Helper()
	for _, obj := range build(t, filepath.Join(testkit.Root(), "kustomize", "crd-member")) {
		crd := apiextensionsv1.CustomResourceDefinition{}
		fromUnstructured(t, obj.Object, &crd)
		if crd.Name == "configmapsets.apps.kruise.io" {
			continue // came later
		}
		crd.Labels, crd.Spec.Names.Categories, crd.Spec.Conversion = nil, nil, nil
		for i := range crd.Spec.Versions {
			loosen(crd.Spec.Versions[i].Schema.OpenAPIV3Schema, "")
		}
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

// enumerated are the fields that OpenKruise's own schemas enumerate the values of.
var enumerated = []string{"concurrencyPolicy", "phase", "policy", "protectOperations", "type"}

// loosen takes out of the schema of a field all that refuses values of the right type, but for enumerated ones.
func loosen(schema *apiextensionsv1.JSONSchemaProps, field string) {
	schema.Minimum, schema.Maximum, schema.MultipleOf, schema.ExclusiveMinimum, schema.ExclusiveMaximum = nil, nil, nil, false, false
	schema.MinItems, schema.MaxItems, schema.MinLength, schema.MaxLength, schema.MinProperties, schema.MaxProperties = nil, nil, nil, nil, nil, nil
	schema.Pattern, schema.XValidations = "", nil
	if schema.Format != "int32" && schema.Format != "int64" {
		schema.Format = ""
	}
	if !slices.Contains(enumerated, field) {
		schema.Enum = nil
	}
	for name := range schema.Properties {
		property := schema.Properties[name]
		loosen(&property, name)
		schema.Properties[name] = property
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		loosen(schema.Items.Schema, field)
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		loosen(schema.AdditionalProperties.Schema, "")
	}
}

func (o *openKruise) create(t *testing.T, obj client.Object) {
	t.Helper()
	if err := o.admin.Create(t.Context(), obj); err != nil {
		t.Fatalf("%T %s: %v", obj, obj.GetName(), err)
	}
}

// installProgram installs what runs, with webhooks that fail closed.
func (o *openKruise) installProgram(t *testing.T, to admissionregistrationv1.WebhookClientConfig) {
	t.Helper()
	labels := map[string]string{"control-plane": "controller-manager"}
	pod := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "manager", Image: "openkruise/kruise-manager:v1.9.0",
			Args: []string{"--enable-leader-election", "--feature-gates=ImagePullJobGate=true,PodWebhook=true", "--v=4"},
		}}},
	}
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: kruiseNamespace, Name: name} }
	o.create(t, &appsv1.Deployment{ObjectMeta: meta(kruiseManager), Spec: appsv1.DeploymentSpec{
		Replicas: ptr.To[int32](2), Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: pod,
	}})
	o.create(t, &appsv1.DaemonSet{ObjectMeta: meta("kruise-daemon"), Spec: appsv1.DaemonSetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: pod}})
	o.create(t, &corev1.Secret{ObjectMeta: meta("kruise-webhook-certs")})
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
		if strings.HasPrefix(crd.Spec.Group, "rollouts.") || conversion == nil || conversion.Webhook == nil || convertedByOpenKruise(crd) {
			continue
		}
		conversion.Webhook.ClientConfig = want
		_ = o.admin.Update(ctx, crd) // a conflict is tried again
	}
}

func convertedByOpenKruise(crd *apiextensionsv1.CustomResourceDefinition) bool {
	at := crd.Spec.Conversion.Webhook.ClientConfig.Service
	return at != nil && at.Name == kruiseService
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
