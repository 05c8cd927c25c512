// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package deletionprotection

import (
	"context"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/features"
	"github.com/flotilla-sh/flotilla/internal/protectionlog"
)

// Deletions of labelled objects alone are asked about. kustomize/spoke/webhooks-deletion.yaml leaves out the namespaces
// of the system and of the spoke.
//
// +kubebuilder:webhook:path=/validate-namespace,mutating=false,failurePolicy=fail,sideEffects=None,matchPolicy=Equivalent,groups="",resources=namespaces,verbs=delete,versions=v1,name=vnamespace.kb.io,admissionReviewVersions=v1,timeoutSeconds=5,patch=`{"objectSelector":{"matchExpressions":[{"key":"policy.kruise.io/delete-protection","operator":"Exists"}]}}`
// +kubebuilder:webhook:path=/validate-customresourcedefinition,mutating=false,failurePolicy=fail,sideEffects=None,matchPolicy=Equivalent,groups=apiextensions.k8s.io,resources=customresourcedefinitions,verbs=delete,versions=v1,name=vcustomresourcedefinition.kb.io,admissionReviewVersions=v1,timeoutSeconds=5,patch=`{"objectSelector":{"matchExpressions":[{"key":"policy.kruise.io/delete-protection","operator":"Exists"}]}}`
// +kubebuilder:webhook:path=/validate-apps-deployment,mutating=false,failurePolicy=fail,sideEffects=None,matchPolicy=Equivalent,groups=apps,resources=deployments,verbs=delete,versions=v1,name=vbuiltindeployment.kb.io,admissionReviewVersions=v1,timeoutSeconds=5,patch=`{"objectSelector":{"matchExpressions":[{"key":"policy.kruise.io/delete-protection","operator":"Exists"}]}}`
// +kubebuilder:webhook:path=/validate-apps-replicaset,mutating=false,failurePolicy=fail,sideEffects=None,matchPolicy=Equivalent,groups=apps,resources=replicasets,verbs=delete,versions=v1,name=vbuiltinreplicaset.kb.io,admissionReviewVersions=v1,timeoutSeconds=5,patch=`{"objectSelector":{"matchExpressions":[{"key":"policy.kruise.io/delete-protection","operator":"Exists"}]}}`
// +kubebuilder:webhook:path=/validate-apps-statefulset,mutating=false,failurePolicy=fail,sideEffects=None,matchPolicy=Equivalent,groups=apps,resources=statefulsets,verbs=delete,versions=v1,name=vbuiltinstatefulset.kb.io,admissionReviewVersions=v1,timeoutSeconds=5,patch=`{"objectSelector":{"matchExpressions":[{"key":"policy.kruise.io/delete-protection","operator":"Exists"}]}}`
// +kubebuilder:webhook:path=/validate-deletion-apps-kruise-io-cloneset,mutating=false,failurePolicy=fail,sideEffects=None,matchPolicy=Exact,groups=apps.kruise.io,resources=clonesets,verbs=delete,versions=v1beta1;v1alpha1,name=vcloneset-deletion.kb.io,admissionReviewVersions=v1,timeoutSeconds=5,patch=`{"objectSelector":{"matchExpressions":[{"key":"policy.kruise.io/delete-protection","operator":"Exists"}]}}`
// +kubebuilder:webhook:path=/validate-deletion-apps-kruise-io-statefulset,mutating=false,failurePolicy=fail,sideEffects=None,matchPolicy=Exact,groups=apps.kruise.io,resources=statefulsets,verbs=delete,versions=v1beta1;v1alpha1,name=vstatefulset-deletion.kb.io,admissionReviewVersions=v1,timeoutSeconds=5,patch=`{"objectSelector":{"matchExpressions":[{"key":"policy.kruise.io/delete-protection","operator":"Exists"}]}}`
// +kubebuilder:webhook:path=/validate-deletion-apps-kruise-io-uniteddeployment,mutating=false,failurePolicy=fail,sideEffects=None,matchPolicy=Exact,groups=apps.kruise.io,resources=uniteddeployments,verbs=delete,versions=v1beta1;v1alpha1,name=vuniteddeployment-deletion.kb.io,admissionReviewVersions=v1,timeoutSeconds=5,patch=`{"objectSelector":{"matchExpressions":[{"key":"policy.kruise.io/delete-protection","operator":"Exists"}]}}`
// +kubebuilder:webhook:path=/validate-service,mutating=false,failurePolicy=fail,sideEffects=None,matchPolicy=Equivalent,groups="",resources=services,verbs=delete,versions=v1,name=vservice.kb.io,admissionReviewVersions=v1,timeoutSeconds=5,patch=`{"objectSelector":{"matchExpressions":[{"key":"policy.kruise.io/delete-protection","operator":"Exists"}]}}`
// +kubebuilder:webhook:path=/validate-ingress,mutating=false,failurePolicy=fail,sideEffects=None,matchPolicy=Equivalent,groups=networking.k8s.io,resources=ingresses,verbs=delete,versions=v1,name=vingress.kb.io,admissionReviewVersions=v1,timeoutSeconds=5,patch=`{"objectSelector":{"matchExpressions":[{"key":"policy.kruise.io/delete-protection","operator":"Exists"}]}}`

// Options are what deletion protection works with.
type Options struct {
	// Reader and Metadata ask the API server; no cache.
	Reader   client.Reader
	Metadata metadata.Interface
	// Log records refusals; may be nil.
	Log *protectionlog.Log
}

// Webhooks are those of all kinds by path.
func Webhooks(o Options) map[string]*admission.Webhook {
	out := map[string]*admission.Webhook{}
	from := cluster{reader: o.Reader, metadata: o.Metadata, definitions: features.Enabled(features.DeletionProtectionForCRDCascadingGate)}
	for _, kind := range kinds {
		out[kind.path] = &admission.Webhook{Handler: &handler{protected: kind, cluster: from, log: o.Log}}
	}
	return out
}

// Paths are where the webhooks are served, in order.
func Paths() []string {
	var out []string
	for _, kind := range kinds {
		out = append(out, kind.path)
	}
	return out
}

// handler answers about deletions of one kind.
type handler struct {
	protected
	cluster cluster
	log     *protectionlog.Log
}

// Handle refuses what is protected.
func (h *handler) Handle(ctx context.Context, req admission.Request) admission.Response {
	if req.Operation != admissionv1.Delete || req.SubResource != "" || len(req.OldObject.Raw) == 0 {
		return admission.Allowed("")
	}
	obj, err := decode(req.OldObject.Raw, h.cascade)
	if err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	value, because := obj.Metadata.Labels[appsv1beta1.DeleteProtectionKey], ""
	switch next(value, obj.Metadata.DeletionTimestamp != nil, h.cascade) {
	case pass:
	case refuse:
		because = refusal(value, "")
	case look:
		found, err := h.cluster.look(ctx, h.cascade, obj)
		because = judge(value, found, err)
	}
	if because == "" {
		return admission.Allowed("")
	}
	if !ptr.Deref(req.DryRun, false) {
		h.record(ctx, obj, req.UserInfo.Username)
	}
	return admission.Denied(because)
}

// record counts and logs a refusal. The object says how it is called: the request does not, where many are deleted
// at once.
func (h *handler) record(ctx context.Context, obj *object, user string) {
	namespace, name := obj.Metadata.Namespace, obj.Metadata.Name
	counter, called := refusalsFor(h.cascade, h.kind, namespace, name)
	if counter == nil {
		return
	}
	counter.count(called, user)
	logger := log.FromContext(ctx)
	logger.Info("Refused a deletion", "kind", h.kind, "namespace", namespace, "name", name, "user", user)
	entry := protectionlog.Entry{Event: protectionlog.DeletionProtection, Kind: h.kind, Namespace: namespace, Name: name, UserAgent: user}
	if err := h.log.Write(entry); err != nil {
		logger.Error(err, "Cannot write the protection log")
	}
}
