// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package kindadmission

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	appsv1alpha1 "github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	policyv1beta1 "github.com/flotilla-sh/flotilla/apis/policy/v1beta1"
	rolloutsv1beta1 "github.com/flotilla-sh/flotilla/apis/rollouts/v1beta1"
	"github.com/flotilla-sh/flotilla/apis/validation"
	"github.com/flotilla-sh/flotilla/internal/features"
	"github.com/flotilla-sh/flotilla/internal/webhookserver"
)

// What Facts reads.
//
// +kubebuilder:rbac:groups="",namespace=flotilla-system,resources=configmaps,resourceNames=kruise-configuration,verbs=get
// +kubebuilder:rbac:groups=apps.kruise.io,resources=configmapsets;persistentpodstates;sidecarsets;workloadspreads,verbs=list
// +kubebuilder:rbac:groups=policy.kruise.io,resources=podunavailablebudgets,verbs=list
// +kubebuilder:rbac:groups=rollouts.kruise.io,resources=rollouts,verbs=list

// Facts are what admission needs to know besides the object.
type Facts struct {
	// Reader asks the API server at each request: the kinds are written seldom, and a cache would be behind just
	// when two objects that are in each other's way are written one after the other.
	client.Reader
	// Namespace is our own.
	Namespace string
	// Clock says when something was defaulted.
	Clock clock.PassiveClock
	// Member answers about the cluster that runs the pods; nil on the hub, where such rules do not count.
	Member Member
}

// claimResizing looks at storage classes only where claims may follow their templates.
func (f Facts) claimResizing(ctx context.Context, _ *appsv1beta1.StatefulSet) (validation.ClaimResizing, error) {
	if f.Member == nil || !features.Enabled(features.StatefulSetAutoResizePVCGate) {
		return validation.ClaimResizing{}, nil
	}
	classes, err := f.Member.StorageClasses(ctx)
	return validation.ClaimResizing{Enabled: true, Classes: classes}, err
}

// oldCloneSetRules are those of CloneSets sent as v1alpha1, which looks at the pods that it is told to delete. A new
// set has no pods: names in one that is restored are let in, and the controller takes them out.
func (f Facts) oldCloneSetRules() webhookserver.Rules[*appsv1alpha1.CloneSet] {
	return func(ctx context.Context, old, obj *appsv1alpha1.CloneSet) (admission.Warnings, field.ErrorList, error) {
		problems := validation.ValidateOldCloneSet(old, obj)
		if f.Member == nil || old == nil || len(problems) > 0 {
			return nil, problems, nil
		}
		pods, err := f.podsToDelete(ctx, old, obj)
		if err != nil {
			return nil, nil, err
		}
		return nil, validation.ValidatePodsToDelete(old, obj, pods), nil
	}
}

// podsToDelete reads the pods that were not listed before.
func (f Facts) podsToDelete(ctx context.Context, old, obj *appsv1alpha1.CloneSet) (validation.CloneSetPods, error) {
	out := validation.CloneSetPods{}
	for _, name := range obj.Spec.ScaleStrategy.PodsToDelete {
		if slices.Contains(old.Spec.ScaleStrategy.PodsToDelete, name) {
			continue
		}
		pod, _, err := f.Member.Pod(ctx, client.ObjectKey{Namespace: obj.Namespace, Name: name})
		if err != nil {
			return nil, err
		}
		out[name] = pod
	}
	return out, nil
}

// sidecarSet reads the other SidecarSets, and revisions and the white list where the set speaks of them.
func (f Facts) sidecarSet(
	ctx context.Context, name string, injection *appsv1beta1.SidecarSetInjectionStrategy, patches []appsv1beta1.SidecarSetPatchPodMetadata,
) (*validation.SidecarSetFacts, error) {
	out := &validation.SidecarSetFacts{MetadataAllowed: features.Enabled(features.SidecarSetPatchPodMetadataDefaultsAllowed)}
	sets := appsv1beta1.SidecarSetList{}
	if err := f.List(ctx, &sets); err != nil {
		return nil, err
	}
	out.Others = sets.Items
	if out.RevisionsUnknown = f.Member == nil; !out.RevisionsUnknown && injection.Revision != nil {
		var err error
		if out.Revisions, err = f.Member.SidecarSetRevisions(ctx, name); err != nil {
			return nil, err
		}
	}
	if len(patches) == 0 {
		return out, nil
	}
	list := appsv1beta1.SidecarSetPatchMetadataWhiteList{}
	found, err := f.configured(ctx, appsv1beta1.SidecarSetPatchPodMetadataWhiteListKey, &list)
	if found {
		out.WhiteList = &list
	}
	return out, err
}

func (f Facts) persistentPodState(ctx context.Context, obj *appsv1beta1.PersistentPodState) (validation.PersistentPodStateContext, error) {
	states := appsv1beta1.PersistentPodStateList{}
	if err := f.List(ctx, &states, client.InNamespace(obj.Namespace)); err != nil {
		return validation.PersistentPodStateContext{}, err
	}
	allowed, err := f.allowedKinds(ctx, appsv1beta1.PersistentPodStateWhiteListKey)
	return validation.PersistentPodStateContext{Others: states.Items, Allowed: allowed}, err
}

func (f Facts) workloadSpread(ctx context.Context, namespace string, target *appsv1beta1.TargetReference) (validation.WorkloadSpreadContext, error) {
	out := validation.WorkloadSpreadContext{}
	spreads := appsv1beta1.WorkloadSpreadList{}
	if err := f.List(ctx, &spreads, client.InNamespace(namespace)); err != nil {
		return out, err
	}
	out.Others = spreads.Items
	var err error
	if out.Allowed, err = f.allowedKinds(ctx, appsv1beta1.WorkloadSpreadWhiteListKey); err != nil || target == nil || f.Member == nil {
		return out, err
	}
	out.Template, out.Claims, err = f.Member.Templates(ctx, namespace, target)
	return out, err
}

// budgetRules check a budget among its peers, and in one sent as v1alpha1 what that version says in annotations.
func (f Facts) budgetRules() webhookserver.Rules[*policyv1beta1.PodUnavailableBudget] {
	inner := with(f.podUnavailableBudgets, validation.ValidatePodUnavailableBudget)
	return func(ctx context.Context, old, obj *policyv1beta1.PodUnavailableBudget) (admission.Warnings, field.ErrorList, error) {
		warnings, problems, err := inner(ctx, old, obj)
		if req, noRequest := admission.RequestFromContext(ctx); noRequest == nil && req.RequestKind != nil && req.RequestKind.Version == "v1alpha1" {
			problems = append(problems, validation.ValidateOldPodUnavailableBudget(old, obj)...)
		}
		return warnings, problems, err
	}
}

func (f Facts) podUnavailableBudgets(ctx context.Context, obj *policyv1beta1.PodUnavailableBudget) ([]policyv1beta1.PodUnavailableBudget, error) {
	budgets := policyv1beta1.PodUnavailableBudgetList{}
	err := f.List(ctx, &budgets, client.InNamespace(obj.Namespace))
	return budgets.Items, err
}

func (f Facts) rollout(ctx context.Context, namespace string) (validation.RolloutFacts, error) {
	rollouts := rolloutsv1beta1.RolloutList{}
	err := f.List(ctx, &rollouts, client.InNamespace(namespace))
	return validation.RolloutFacts{Others: rollouts.Items}, err
}

// allowedKinds are the kinds of workloads that a key of the administrator's ConfigMap lists.
func (f Facts) allowedKinds(ctx context.Context, key string) ([]schema.GroupKind, error) {
	list := struct {
		Workloads []schema.GroupKind `json:"workloads"`
	}{}
	_, err := f.configured(ctx, key, &list)
	return list.Workloads, err
}

// configured reads a key of the administrator's ConfigMap, in JSON, and says whether there is one.
func (f Facts) configured(ctx context.Context, key string, into any) (bool, error) {
	config := corev1.ConfigMap{}
	err := f.Get(ctx, client.ObjectKey{Namespace: f.Namespace, Name: appsv1beta1.ConfigurationName}, &config)
	if err != nil {
		return false, client.IgnoreNotFound(err)
	}
	text, found := config.Data[key]
	if !found {
		return false, nil
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return false, apierrors.NewInternalError(fmt.Errorf("key %s of ConfigMap %s/%s: %w", key, config.Namespace, config.Name, err))
	}
	return true, nil
}
