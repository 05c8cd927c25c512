// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	appsv1alpha1 "github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/apis/validation"
	"github.com/flotilla-sh/flotilla/hub/render"
	"github.com/flotilla-sh/flotilla/internal/convert"
	"github.com/flotilla-sh/flotilla/internal/kindadmission"
	"github.com/flotilla-sh/flotilla/internal/webhookserver"
)

// Objects on the hub are defaulted and validated as in a member (internal/kindadmission), and besides for what a
// fleet cannot do.
//
// +kubebuilder:webhook:path=/validate-fleet-kruise-io-fleetplacement,mutating=false,failurePolicy=fail,sideEffects=None,groups=fleet.kruise.io,resources=fleetplacements,verbs=create;update,versions=v1alpha1,name=vfleetplacement.kb.io,admissionReviewVersions=v1,timeoutSeconds=5

// What the webhook keeper needs: its own Secret, its own webhook configurations, and the CRDs whose
// conversion it serves; and what leader election needs.
//
// +kubebuilder:rbac:groups="",namespace=flotilla-system,resources=secrets,resourceNames=flotilla-hub-webhook-certs,verbs=get;list;watch;update
// +kubebuilder:rbac:groups="",namespace=flotilla-system,resources=secrets,verbs=create
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=flotilla-system,resources=leases,resourceNames=flotilla-hub,verbs=get;update
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=flotilla-system,resources=leases,verbs=create
// +kubebuilder:rbac:groups="",namespace=flotilla-system,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=mutatingwebhookconfigurations;validatingwebhookconfigurations,resourceNames=flotilla-hub,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,verbs=get;list;watch
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,resourceNames=advancedcronjobs.apps.kruise.io;broadcastjobs.apps.kruise.io;clonesets.apps.kruise.io;containerrecreaterequests.apps.kruise.io;daemonsets.apps.kruise.io;imagelistpulljobs.apps.kruise.io;imagepulljobs.apps.kruise.io;nodeimages.apps.kruise.io;persistentpodstates.apps.kruise.io;resourcedistributions.apps.kruise.io;sidecarsets.apps.kruise.io;statefulsets.apps.kruise.io;uniteddeployments.apps.kruise.io;workloadspreads.apps.kruise.io;podunavailablebudgets.policy.kruise.io;batchreleases.rollouts.kruise.io;rollouts.rollouts.kruise.io,verbs=patch

// admissionWebhooks are all admission webhooks by path.
func admissionWebhooks(scheme *runtime.Scheme, f kindadmission.Facts, placements placementRules) map[string]*admission.Webhook {
	out := kindadmission.Webhooks(scheme, f)
	out["/validate-apps-kruise-io-uniteddeployment"] = webhookserver.Validating(scheme, unitedDeployment)
	besides(out, "/validate-apps-kruise-io-workloadspread", webhookserver.Validating(scheme, workloadSpread))
	besides(out, "/validate-apps-kruise-io-v1alpha1-workloadspread", webhookserver.Validating(scheme, oldWorkloadSpread))
	out["/validate-fleet-kruise-io-fleetplacement"] = webhookserver.Validating(scheme, placements.check)
	return out
}

// besides lets a webhook ask another one too, when it has nothing to say against an object itself.
func besides(all map[string]*admission.Webhook, path string, more *admission.Webhook) {
	all[path].Handler = admission.MultiValidatingHandler(all[path].Handler, more.Handler)
}

func workloadSpread(_ context.Context, old, obj *appsv1beta1.WorkloadSpread) (admission.Warnings, field.ErrorList, error) {
	return nil, validation.ValidateWorkloadSpreadOnHub(old, obj), nil
}

func oldWorkloadSpread(_ context.Context, old, obj *appsv1alpha1.WorkloadSpread) (admission.Warnings, field.ErrorList, error) {
	return nil, validation.ValidateOldWorkloadSpreadOnHub(old, obj), nil
}

func unitedDeployment(_ context.Context, old, obj *appsv1beta1.UnitedDeployment) (admission.Warnings, field.ErrorList, error) {
	return nil, append(validation.ValidateUnitedDeployment(old, obj), validation.ValidateUnitedDeploymentOnHub(old, obj)...), nil
}

// AddWebhooks adds the webhooks alone: it serves admission and conversion, and keeps the API server told of them.
func AddWebhooks(mgr manager.Manager, hooks *webhookserver.Options) error {
	dividers, err := newDividers(mgr)
	if err != nil {
		return err
	}
	server := mgr.GetWebhookServer()
	f := kindadmission.Facts{Reader: mgr.GetAPIReader(), Namespace: hooks.Namespace, Clock: clock.RealClock{}}
	rules := placementRules{
		placements: mgr.GetCache(), dividers: dividers,
		overrides: &dryRender{targets: mgr.GetAPIReader(), clusters: mgr.GetCache(), renderer: render.New()},
	}
	hooks.Serve(server, admissionWebhooks(mgr.GetScheme(), f, rules), noGate)
	server.Register(convert.Path, convert.Handler(mgr.GetScheme()))
	return errors.Join(
		hooks.AddKeeper(mgr),
		hooks.AddReachProbe(mgr),
		mgr.AddReadyzCheck("webhooks", hooks.Ready),
	)
}

// noGate takes a webhook of the hub away.
func noGate(string) bool { return false }
