// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package uniteddeployment

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/spoke/revision"
)

// history keeps the ControllerRevisions of spec.template.
type history struct{ store *revision.Store }

func newHistory(c client.Client, live client.Reader) history {
	return history{&revision.Store{Client: c, Live: live}}
}

// ensure finds or makes the revision of the template.
func (h history) ensure(ctx context.Context, ud *appsv1beta1.UnitedDeployment, a adapter) (*revision.Result, error) {
	data, err := payload(&ud.Spec.Template)
	if err != nil {
		return nil, fmt.Errorf("spec.template: %w", err)
	}
	result, err := h.store.Ensure(ctx, revision.Owner{
		Object: ud, GVK: kindOfUD, Payload: data,
		Labels: a.metadata(&ud.Spec.Template).Labels,
		// Every revision of the namespace is looked at and told by its controller: templates need
		// not carry labels that the selector finds.
		Selector: &metav1.LabelSelector{},
	}, ud.Status.CurrentRevision, ud.Status.CollisionCount)
	if err != nil {
		return nil, fmt.Errorf("revision of spec.template: %w", err)
	}
	return result, nil
}

// trim deletes superseded revisions beyond the limit. Those that the status or a workload names stay.
func (h history) trim(ctx context.Context, s *snapshot, r *revision.Result) error {
	inUse := []string{s.current, s.update, s.ud.Status.CurrentRevision, s.ud.Status.UpdatedRevision}
	for _, l := range s.live {
		inUse = append(inUse, l.object.GetLabels()[appsv1beta1.SubsetRevisionLabel])
	}
	return h.store.Remove(ctx, revision.Truncate(r.All, inUse, int(*s.ud.Spec.RevisionHistoryLimit)))
}

// payload serialises the template as OpenKruise does: all of spec.template, with the null
// timestamps of the metadata in it.
func payload(t *appsv1beta1.SubsetTemplate) ([]byte, error) {
	raw, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	var tree map[string]any
	if err := json.Unmarshal(raw, &tree); err != nil {
		return nil, err
	}
	for _, kind := range tree {
		if workload, ok := kind.(map[string]any); ok {
			withTimestamps(workload)
		}
	}
	return revision.PayloadOf(tree)
}

func withTimestamps(workload map[string]any) {
	revision.NullTimestamp(workload)
	spec, _ := workload["spec"].(map[string]any)
	if pod, ok := spec["template"].(map[string]any); ok {
		revision.WithCreationTimestamps(pod)
	}
	claims, _ := spec["volumeClaimTemplates"].([]any)
	for i := range claims {
		if claim, ok := claims[i].(map[string]any); ok {
			revision.NullTimestamp(claim)
		}
	}
}
