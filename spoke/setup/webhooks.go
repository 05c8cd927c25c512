// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"errors"
	"fmt"
	"maps"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/metadata"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/flotilla-sh/flotilla/internal/convert"
	"github.com/flotilla-sh/flotilla/internal/kindadmission"
	"github.com/flotilla-sh/flotilla/internal/protectionlog"
	"github.com/flotilla-sh/flotilla/internal/webhookserver"
	"github.com/flotilla-sh/flotilla/spoke/deletionprotection"
	"github.com/flotilla-sh/flotilla/spoke/launchpriority"
	"github.com/flotilla-sh/flotilla/spoke/livefacts"
	"github.com/flotilla-sh/flotilla/spoke/podadmission"
	"github.com/flotilla-sh/flotilla/spoke/podprobemarker"
	"github.com/flotilla-sh/flotilla/spoke/podreadiness"
	"github.com/flotilla-sh/flotilla/spoke/podunavailablebudget"
)

// +kubebuilder:webhook:path=/mutate-pod,mutating=true,failurePolicy=ignore,sideEffects=None,groups="",resources=pods,verbs=create,versions=v1,name=mpod.kb.io,admissionReviewVersions=v1,timeoutSeconds=5

// Deletions, evictions and updates of pods. What the API server leaves out by itself is in kustomize/spoke/webhooks-pod-validating.yaml,
// and why some fail open in spoke/podunavailablebudget.
//
// +kubebuilder:webhook:path=/validate-pod,mutating=false,failurePolicy=fail,sideEffects=NoneOnDryRun,matchPolicy=Equivalent,groups="",resources=pods,verbs=delete,versions=v1,name=vpod.kb.io,admissionReviewVersions=v1,timeoutSeconds=5
// +kubebuilder:webhook:path=/validate-pod,mutating=false,failurePolicy=ignore,sideEffects=NoneOnDryRun,matchPolicy=Equivalent,groups="",resources=pods/eviction,verbs=create,versions=v1,name=vpodeviction.kb.io,admissionReviewVersions=v1,timeoutSeconds=5
// +kubebuilder:webhook:path=/validate-pod-update,mutating=false,failurePolicy=fail,sideEffects=NoneOnDryRun,matchPolicy=Equivalent,groups="",resources=pods;pods/resize,verbs=update,versions=v1,name=vpodupdate.kb.io,admissionReviewVersions=v1,timeoutSeconds=5

const (
	// podWebhook is the path of the webhook that all new pods pass.
	podWebhook = "/mutate-pod"
	// podRemovals is asked about deletions and evictions of pods, podUpdateWebhook about updates: it has a path of its
	// own, so that its gate can take it away.
	podRemovals      = "/validate-pod"
	podUpdateWebhook = "/validate-pod-update"
)

// What the webhook keeper needs: its own Secret, its own webhook configurations, and the CRDs whose
// conversion it serves; and what leader election needs.
//
// +kubebuilder:rbac:groups="",namespace=flotilla-system,resources=secrets,resourceNames=flotilla-spoke-webhook-certs,verbs=get;list;watch;update
// +kubebuilder:rbac:groups="",namespace=flotilla-system,resources=secrets,verbs=create
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=flotilla-system,resources=leases,resourceNames=flotilla-spoke,verbs=get;update
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=flotilla-system,resources=leases,verbs=create
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=mutatingwebhookconfigurations;validatingwebhookconfigurations,resourceNames=flotilla-spoke,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,verbs=get;list;watch
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,resourceNames=advancedcronjobs.apps.kruise.io;broadcastjobs.apps.kruise.io;clonesets.apps.kruise.io;containerrecreaterequests.apps.kruise.io;daemonsets.apps.kruise.io;imagelistpulljobs.apps.kruise.io;imagepulljobs.apps.kruise.io;nodeimages.apps.kruise.io;persistentpodstates.apps.kruise.io;resourcedistributions.apps.kruise.io;sidecarsets.apps.kruise.io;statefulsets.apps.kruise.io;uniteddeployments.apps.kruise.io;workloadspreads.apps.kruise.io;podunavailablebudgets.policy.kruise.io;batchreleases.rollouts.kruise.io;rollouts.rollouts.kruise.io,verbs=patch

// admissionWebhooks are all admission webhooks by path: those of pods, those of deletions, and those of kinds.
func admissionWebhooks(scheme *runtime.Scheme, f kindadmission.Facts, pods podSteps, p deletionprotection.Options) map[string]*admission.Webhook {
	out := kindadmission.Webhooks(scheme, f)
	maps.Copy(out, deletionprotection.Webhooks(p))
	out[podWebhook] = &admission.Webhook{Handler: &podadmission.Handler{Decoder: admission.NewDecoder(scheme), Mutators: pods.mutators}}
	changes := &podadmission.ValidatingHandler{Decoder: admission.NewDecoder(scheme), Seen: pods.seen, Live: pods.live, Validators: pods.validators}
	out[podRemovals], out[podUpdateWebhook] = &admission.Webhook{Handler: changes}, &admission.Webhook{Handler: changes}
	return out
}

// podSteps is what pods pass at admission, in order.
type podSteps struct {
	mutators   []podadmission.Mutator
	validators []podadmission.Validator
	seen, live client.Reader
}

func podStepsOf(mgr manager.Manager, b *budgets) podSteps {
	out := podSteps{
		mutators: []podadmission.Mutator{podreadiness.Gate{}, launchpriority.Barrier{}},
		seen:     mgr.GetCache(), live: mgr.GetAPIReader(),
	}
	if b != nil {
		out.mutators = append(out.mutators, podunavailablebudget.NewStamp(mgr))
		out.validators = append(out.validators, b.guard)
	}
	if serverlessProbes() {
		out.mutators = append(out.mutators, podprobemarker.Serverless{Reader: mgr.GetCache()})
	}
	return out
}

// admitters are what admission shares with the rest of the spoke: budgets, and the log of what is refused.
type admitters struct {
	budgets *budgets
	log     *protectionlog.Log
}

// addWebhooks serves admission and conversion, and keeps the API server told of them.
func addWebhooks(mgr manager.Manager, hooks *webhookserver.Options, a admitters) error {
	server := mgr.GetWebhookServer()
	// The manager's client waits for its cache to show what it wrote, and nothing is written here.
	dry, err := client.New(mgr.GetConfig(), client.Options{HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return err
	}
	f := kindadmission.Facts{
		Reader: mgr.GetAPIReader(), Namespace: hooks.Namespace, Clock: clock.RealClock{},
		Member: livefacts.Facts{Reader: mgr.GetAPIReader(), Dry: dry, Namespace: hooks.Namespace},
	}
	protection, err := deletionProtection(mgr, a.log)
	if err != nil {
		return wrap("deletion protection", err)
	}
	served := admissionWebhooks(mgr.GetScheme(), f, podStepsOf(mgr, a.budgets), protection)
	for path, hook := range served {
		served[path] = gated(path, hook)
	}
	hooks.Serve(server, served, pathOff)
	server.Register(convert.Path, convert.Handler(mgr.GetScheme()))
	if err := hooks.AddKeeper(mgr); err != nil {
		return wrap("webhook keeper", err)
	}
	if err := hooks.AddReachProbe(mgr); err != nil {
		return wrap("webhook reach probe", err)
	}
	return mgr.AddReadyzCheck("webhooks", hooks.Ready)
}

// deletionProtection is what its webhooks work with; its metrics are registered.
func deletionProtection(mgr manager.Manager, log *protectionlog.Log) (deletionprotection.Options, error) {
	out := deletionprotection.Options{Reader: mgr.GetAPIReader(), Log: log}
	var err error
	if out.Metadata, err = metadata.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient()); err != nil {
		return out, err
	}
	for _, c := range deletionprotection.Collectors() {
		already := prometheus.AlreadyRegisteredError{} // in tests, which start many of us
		if err := crmetrics.Registry.Register(c); err != nil && !errors.As(err, &already) {
			return out, err
		}
	}
	return out, nil
}

func wrap(what string, err error) error { return fmt.Errorf("%s: %w", what, err) }
