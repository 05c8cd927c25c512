// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package uniteddeployment

import (
	"errors"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/conditions"
)

// Reasons of conditions. An empty reason stands for success, as in OpenKruise.
const (
	reasonError             = "Error"
	reasonTemplateMissing   = "TemplateNotSupported"
	reasonRevisionsEqual    = "UnitedDeploymentRevisionUpdated"
	reasonRevisionsDiffer   = "UnitedDeploymentRevisionUpdating"
	conditionAdaptive       = "AdaptiveSchedule" // of versions that had no reserve
	maxMessage              = 1024
	messageProvisionFailure = "subset workloads could not be created or deleted: "
	messageUpdateFailure    = "subset workloads could not be updated: "
)

// outcome is what became of a pass, for the status.
type outcome struct {
	// provisioned and updated count the writes that went through.
	provisioned, updated int
	// provisionErr and updateErr are nil when those parts went well.
	provisionErr, updateErr error
	// labelErr is why pods in reserve could not be told from others; nothing else was written then.
	labelErr error
	// unserved names the template's kind when it is not served; "" otherwise.
	unserved string
	// collisions is the collision count of revision names to keep.
	collisions *int32
}

func (o *outcome) failed() bool {
	return o.provisionErr != nil || o.updateErr != nil || o.labelErr != nil
}

// statusOf computes the status from the one before, what was seen, what was planned and what came
// of it. p is nil when the pass got no further than the snapshot.
func statusOf(s *snapshot, p *plan, o *outcome, now metav1.Time) *appsv1beta1.UnitedDeploymentStatus {
	status := s.ud.Status.DeepCopy()
	if !o.failed() {
		status.ObservedGeneration = s.ud.Generation
	}
	status.CollisionCount = o.collisions
	if text, err := selectorText(s.ud); err == nil {
		status.LabelSelector = text
	}
	ensureSubsets(status, s.ud)
	if p != nil {
		countSubsets(status, s)
		setSizes(status, p)
		if o.labelErr == nil {
			setReserved(status, p)
			setSchedulable(status, p, now)
		}
		setRevisions(status, s, now)
	}
	setConditions(status, o, now)
	if p != nil && p.sizes != nil {
		settle(status, appsv1beta1.SubsetUpdated, o.updated, message(messageUpdateFailure, errors.Join(o.updateErr, o.labelErr)), now)
	}
	return status
}

func selectorText(ud *appsv1beta1.UnitedDeployment) (string, error) {
	selector, err := metav1.LabelSelectorAsSelector(ud.Spec.Selector)
	if err != nil {
		return "", err
	}
	if isReserving(ud) { // autoscalers count no pods that wait for a node
		return selector.String() + "," + appsv1beta1.ReservedPodLabel + "=false", nil
	}
	return selector.String(), nil
}

// ensureSubsets appends an entry for each subset of the spec that has none. Entries are never
// taken away.
func ensureSubsets(status *appsv1beta1.UnitedDeploymentStatus, ud *appsv1beta1.UnitedDeployment) {
	for i := range ud.Spec.Topology.Subsets {
		name := ud.Spec.Topology.Subsets[i].Name
		if entry(status, name) == nil {
			status.SubsetStatuses = append(status.SubsetStatuses, appsv1beta1.UnitedDeploymentSubsetStatus{Name: name})
		}
	}
}

func entry(status *appsv1beta1.UnitedDeploymentStatus, subset string) *appsv1beta1.UnitedDeploymentSubsetStatus {
	for i := range status.SubsetStatuses {
		if status.SubsetStatuses[i].Name == subset {
			return &status.SubsetStatuses[i]
		}
	}
	return nil
}

// countSubsets sums what the workloads have.
func countSubsets(status *appsv1beta1.UnitedDeploymentStatus, s *snapshot) {
	status.Replicas, status.ReadyReplicas, status.UpdatedReplicas, status.UpdatedReadyReplicas = 0, 0, 0, 0
	status.ReservedPods = 0
	for i := range status.SubsetStatuses {
		status.SubsetStatuses[i].ReadyReplicas = 0
	}
	for _, l := range s.live {
		status.Replicas += l.statusReplicas
		status.ReadyReplicas += l.readyReplicas
		status.UpdatedReplicas += l.updatedReplicas
		status.UpdatedReadyReplicas += l.updatedReadyReplicas
		if e := entry(status, l.subset); e != nil {
			e.ReadyReplicas += l.readyReplicas
		}
	}
}

// setSizes writes the sizes planned; without an allocation the last ones stay.
func setSizes(status *appsv1beta1.UnitedDeploymentStatus, p *plan) {
	if p.sizes == nil {
		return
	}
	for i := range status.SubsetStatuses {
		e := &status.SubsetStatuses[i]
		size := p.sizes[e.Name]
		e.Replicas, e.Partition = size.replicas, size.partition
	}
}

// setReserved tells pods in reserve from replicas.
func setReserved(status *appsv1beta1.UnitedDeploymentStatus, p *plan) {
	for i := range status.SubsetStatuses {
		e := &status.SubsetStatuses[i]
		e.ReservedPods = p.verdicts[e.Name].reserved
		status.ReservedPods += e.ReservedPods
	}
	status.Replicas = max(0, status.Replicas-status.ReservedPods)
}

// setSchedulable writes what became of subsets that cannot schedule pods. With another schedule nobody knows.
func setSchedulable(status *appsv1beta1.UnitedDeploymentStatus, p *plan, now metav1.Time) {
	for i := range status.SubsetStatuses {
		e := &status.SubsetStatuses[i]
		if p.verdicts == nil {
			conditions.RemoveCompat(&e.Conditions, appsv1beta1.UnitedDeploymentSubsetSchedulable)
		}
		for _, c := range p.verdicts[e.Name].set {
			conditions.SetCompat(&e.Conditions, c, now)
		}
	}
}

// setRevisions moves currentRevision on once as many pods are updated and ready as there are.
func setRevisions(status *appsv1beta1.UnitedDeploymentStatus, s *snapshot, now metav1.Time) {
	status.CurrentRevision, status.UpdatedRevision = s.current, s.update
	if s.current != s.update && status.UpdatedReadyReplicas >= status.Replicas {
		status.CurrentRevision = s.update
	}
	c := appsv1beta1.Condition{Type: appsv1beta1.UnitedDeploymentUpdated, Status: corev1.ConditionTrue, Reason: reasonRevisionsEqual}
	if status.CurrentRevision != status.UpdatedRevision {
		c.Status, c.Reason = corev1.ConditionFalse, reasonRevisionsDiffer
	}
	conditions.SetCompat(&status.Conditions, c, now)
}

func setConditions(status *appsv1beta1.UnitedDeploymentStatus, o *outcome, now metav1.Time) {
	conditions.RemoveCompat(&status.Conditions, appsv1beta1.SubsetFailure) // no kind served reports it
	if o.unserved != "" {
		conditions.SetCompat(&status.Conditions, isFalse(appsv1beta1.SubsetProvisioned, reasonTemplateMissing, o.unserved), now)
	} else {
		settle(status, appsv1beta1.SubsetProvisioned, o.provisioned, message(messageProvisionFailure, o.provisionErr), now)
	}
	conditions.RemoveCompat(&status.Conditions, conditionAdaptive)
}

// settle sets a condition False with the failure, or True when something was written or the last
// failure is over; a pass with nothing to do leaves it alone.
func settle(status *appsv1beta1.UnitedDeploymentStatus, conditionType string, writes int, failure string, now metav1.Time) {
	if failure != "" {
		conditions.SetCompat(&status.Conditions, isFalse(conditionType, reasonError, failure), now)
		return
	}
	last := conditions.FindCompat(status.Conditions, conditionType)
	if writes > 0 || (last != nil && last.Status != corev1.ConditionTrue) {
		conditions.SetCompat(&status.Conditions, appsv1beta1.Condition{Type: conditionType, Status: corev1.ConditionTrue}, now)
	}
}

func isFalse(conditionType, reason, text string) appsv1beta1.Condition {
	return appsv1beta1.Condition{Type: conditionType, Status: corev1.ConditionFalse, Reason: reason, Message: text}
}

func message(prefix string, err error) string {
	if err == nil {
		return ""
	}
	return conditions.Cut(prefix+strings.ReplaceAll(err.Error(), "\n", "; "), maxMessage)
}

// sameStatus tells whether writing the status would change nothing.
func sameStatus(a, b *appsv1beta1.UnitedDeploymentStatus) bool {
	return equality.Semantic.DeepEqual(a, b)
}
