// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleetplacement

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/hub/render"
	"github.com/flotilla-sh/flotilla/hub/slice"
	"github.com/flotilla-sh/flotilla/internal/conditions"
	"github.com/flotilla-sh/flotilla/internal/events"
)

// Reasons of events on objects whose pods need something.
const (
	// ReasonNeedMissing: the hub has no such ConfigMap or Secret.
	ReasonNeedMissing = "NeedMissing"
	// ReasonNeedNotSent: it is there, but some cluster does not have it.
	ReasonNeedNotSent = "NeedNotSent"

	actionFollow = "Follow"
)

// needInput is what one pass over a ConfigMap or Secret has read.
type needInput struct {
	need
	// needing are the slices whose pods need it; carrying those that carry it, by cluster.
	needing  []*fleetv1alpha1.FleetSlice
	carrying map[string]*fleetv1alpha1.FleetSlice
	// object as the hub has it; nil when it has none, or when whyNot says why it cannot be had.
	object *unstructured.Unstructured
	whyNot string
	epoch  int64
}

// needPlan is what a pass writes.
type needPlan struct {
	desired []slice.Desired
	remove  []*fleetv1alpha1.FleetSlice
}

// planNeed says which clusters get a ConfigMap or Secret, and which lose it. A cluster keeps what it has
// while something there needs it, also when the hub's own is gone: running pods may start again.
func planNeed(in *needInput) (needPlan, error) {
	var plan needPlan
	wanted := wantedBy(in)
	for _, cluster := range slices.Sorted(maps.Keys(in.carrying)) {
		if _, ok := wanted[cluster]; !ok {
			plan.remove = append(plan.remove, in.carrying[cluster])
		}
	}
	if in.object == nil || in.stays() != "" {
		return plan, nil
	}
	data, err := json.Marshal(render.Base(in.object).Object)
	if err != nil {
		return needPlan{}, fmt.Errorf("writing %s as JSON: %w", in.need, err)
	}
	for _, cluster := range slices.Sorted(maps.Keys(wanted)) {
		terms := wanted[cluster]
		if in.carrying[cluster] == nil && !terms.alive {
			continue // nothing new for what is on its way out
		}
		plan.desired = append(plan.desired, slice.Desired{
			Cluster: cluster, Name: in.sliceName(),
			Spec: fleetv1alpha1.FleetSliceSpec{
				Epoch: in.epoch,
				Source: fleetv1alpha1.SliceSource{
					APIVersion: in.gvk().GroupVersion().String(), Kind: in.Kind, Namespace: in.namespace, Name: in.Name, UID: in.object.GetUID(),
				},
				Objects: []runtime.RawExtension{{Raw: data}}, Adoption: terms.adoption, DeletionPolicy: terms.deletion,
			},
		})
	}
	return plan, nil
}

// stays says why an object stays on the hub; "" when it does not.
func (in *needInput) stays() string {
	if kind, _, _ := unstructured.NestedString(in.object.Object, "type"); in.Kind == "Secret" && kind == string(corev1.SecretTypeServiceAccountToken) {
		return "it is a token for the hub itself, of no use elsewhere"
	}
	return ""
}

// needTerms are the policies under which a cluster gets what is needed there. Where those who need it
// disagree, the one holds that leaves more as it is.
type needTerms struct {
	adoption fleetv1alpha1.AdoptionPolicy
	deletion fleetv1alpha1.DeletionPolicy
	// alive: some slice that needs it is not being deleted.
	alive bool
}

// wantedBy says which clusters want the object, and on which terms.
func wantedBy(in *needInput) map[string]needTerms {
	out := map[string]needTerms{}
	for _, s := range in.needing {
		terms, ok := out[s.Namespace]
		if !ok {
			terms = needTerms{adoption: fleetv1alpha1.AdoptionAlways, deletion: fleetv1alpha1.DeletionCascade}
		}
		adoption := orDefault(s.Spec.Adoption, fleetv1alpha1.AdoptionIfEqual)
		if rank[adoption] < rank[terms.adoption] {
			terms.adoption = adoption
		}
		if s.Spec.DeletionPolicy == fleetv1alpha1.DeletionOrphan {
			terms.deletion = fleetv1alpha1.DeletionOrphan
		}
		terms.alive = terms.alive || s.DeletionTimestamp.IsZero()
		out[s.Namespace] = terms
	}
	return out
}

// rank orders adoption policies by how much they take over.
var rank = map[fleetv1alpha1.AdoptionPolicy]int{
	fleetv1alpha1.AdoptionNever: 0, fleetv1alpha1.AdoptionIfEqual: 1, fleetv1alpha1.AdoptionAlways: 2,
}

// needEvents tells the objects whose pods need something why they do not have it.
func needEvents(in *needInput, failed map[string]error) []events.Event {
	reason, note := needTrouble(in, failed)
	if note == "" {
		return nil
	}
	told := map[types.UID]bool{}
	var out []events.Event
	for _, s := range in.needing {
		if from := s.Spec.Source; !told[from.UID] && s.DeletionTimestamp.IsZero() {
			told[from.UID] = true
			out = append(out, events.Warning(sourceOf(s), reason, actionFollow, conditions.Cut(note, maxMessage)))
		}
	}
	return out
}

// needTrouble says what is wrong in a sentence; "" when nothing is.
func needTrouble(in *needInput, failed map[string]error) (reason, note string) {
	switch {
	case in.whyNot != "":
		return ReasonNeedNotSent, fmt.Sprintf("%s is needed by pods and not sent along: %s", in.need, in.whyNot)
	case in.object == nil:
		return ReasonNeedMissing, fmt.Sprintf("%s is needed by pods and is not on the hub; clusters keep the one they have", in.need)
	case in.stays() != "":
		return ReasonNeedNotSent, fmt.Sprintf("%s is needed by pods and not sent along: %s", in.need, in.stays())
	}
	var parts []string
	for _, cluster := range slices.Sorted(maps.Keys(wantedBy(in))) {
		if why := notThere(in.carrying[cluster], failed[cluster]); why != "" {
			parts = append(parts, cluster+": "+why)
		}
	}
	if len(parts) == 0 {
		return "", ""
	}
	return ReasonNeedNotSent, fmt.Sprintf("%s is needed by pods: %s", in.need, strings.TrimSpace(some(parts)))
}

// notThere says why a cluster does not have what was sent. What it reports of a refusal is not repeated:
// it may quote the content.
func notThere(carrying *fleetv1alpha1.FleetSlice, failure error) string {
	if failure != nil {
		return failure.Error()
	}
	if carrying == nil {
		return ""
	}
	switch slice.Read(carrying).State {
	case fleetv1alpha1.ClusterConflict:
		return "another one is there that is not ours, and it is left alone"
	case fleetv1alpha1.ClusterFailed:
		return fmt.Sprintf("it was refused there; condition Applied of FleetSlice %s/%s says why", carrying.Namespace, carrying.Name)
	default:
		return ""
	}
}

// sourceOf is the hub's object that a slice comes from, as far as an event needs it.
func sourceOf(s *fleetv1alpha1.FleetSlice) *unstructured.Unstructured {
	from, out := s.Spec.Source, &unstructured.Unstructured{}
	out.SetAPIVersion(from.APIVersion)
	out.SetKind(from.Kind)
	out.SetNamespace(from.Namespace)
	out.SetName(from.Name)
	out.SetUID(from.UID)
	return out
}
