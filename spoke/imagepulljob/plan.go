// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package imagepulljob

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/apis/imageref"
	"github.com/flotilla-sh/flotilla/internal/seconds"
	"github.com/flotilla-sh/flotilla/internal/steps"
)

// crowdedWait is how long to wait for room on nodes that are full.
const crowdedWait = time.Minute

// Snapshot is what a pass looks at.
type Snapshot struct {
	// Job with its defaults.
	Job *v1beta1.ImagePullJob
	// Image is the job's image, taken apart.
	Image imageref.Reference
	// Nodes are the NodeImages that the job picks. They belong to the cache.
	Nodes []*v1beta1.NodeImage
	// Secrets are what the nodes pull with.
	Secrets []v1beta1.ReferenceObject
	Now     time.Time
}

// Plan is what there is to do.
type Plan struct {
	// Ask are the nodes to be asked now, in order.
	Ask []*v1beta1.NodeImage
	// Pulling are the nodes that were asked and have no end yet.
	Pulling []*v1beta1.NodeImage
	Status  v1beta1.ImagePullJobStatus
	// Wait is when to look again though nothing happens; 0: not.
	Wait time.Duration
}

// MakePlan decides from a snapshot.
func MakePlan(s Snapshot) Plan {
	nodes := slices.Clone(s.Nodes)
	slices.SortFunc(nodes, func(a, b *v1beta1.NodeImage) int { return compare(a.Name, b.Name) })
	var p Plan
	var due []*v1beta1.NodeImage
	crowded := 0
	for _, node := range nodes {
		switch phaseOf(node, s) {
		case succeeded:
			p.Status.Succeeded++
		case failed:
			p.Status.Failed++
			p.Status.FailedNodes = append(p.Status.FailedNodes, node.Name)
		case pulling:
			p.Status.Active++
			p.Pulling = append(p.Pulling, node)
		case unasked:
			if full(node, s) {
				crowded++
			} else {
				due = append(due, node)
			}
		}
	}
	p.Status.Desired = int32(len(nodes)) //nolint:gosec // a cluster has not so many nodes
	p.Status.StartTime = s.Job.Status.StartTime
	if p.Status.StartTime == nil {
		p.Status.StartTime = second(s.Now)
	}
	if p.end(s); p.Status.CompletionTime == nil {
		p.Ask = due[:min(len(due), max(0, parallelism(s.Job)-int(p.Status.Active)))]
		p.tellCrowded(crowded)
	}
	return p
}

// full tells that a node's NodeImage takes no further image, and does not have this one. It would refuse it, and hold up
// the nodes after it.
func full(node *v1beta1.NodeImage, s Snapshot) bool {
	_, there := node.Spec.Images[s.Image.Name]
	return !there && len(node.Spec.Images) >= v1beta1.MostImagesOfNode
}

// tellCrowded says that some nodes are full. No event tells this job when the images of others go.
func (p *Plan) tellCrowded(nodes int) {
	if nodes > 0 {
		p.Status.Message += fmt.Sprintf("; %d of its nodes pull %d images already", nodes, v1beta1.MostImagesOfNode)
		p.Wait = steps.Sooner(p.Wait, crowdedWait)
	}
}

// end decides whether the job is over, and how that is told.
func (p *Plan) end(s Snapshot) {
	st, policy := &p.Status, s.Job.Spec.CompletionPolicy
	done, always := st.Succeeded+st.Failed, policy.Type != v1beta1.CompletionPolicyNever
	if always && policy.ActiveDeadlineSeconds != nil && done != st.Desired {
		left := st.StartTime.Add(seconds.Of(*policy.ActiveDeadlineSeconds)).Sub(s.Now)
		if left <= 0 {
			p.overdue(s)
			return
		}
		p.Wait = max(left, time.Second)
	}
	switch {
	case always && done == st.Desired:
		st.CompletionTime, st.Message = second(s.Now), v1beta1.ImagePullJobCompletedMessage
	case st.Desired == 0:
		st.Message = v1beta1.ImagePullJobNoProgressMessage
	default:
		st.Message = fmt.Sprintf("job is running, progress %.1f%%", 100*float64(done)/float64(st.Desired))
	}
}

// overdue ends the job: who has no end failed.
func (p *Plan) overdue(s Snapshot) {
	st := &p.Status
	st.Failed = st.Desired - st.Succeeded
	st.FailedNodes, st.Active = nil, 0
	for _, node := range s.Nodes {
		if phaseOf(node, s) != succeeded {
			st.FailedNodes = append(st.FailedNodes, node.Name)
		}
	}
	slices.Sort(st.FailedNodes)
	st.CompletionTime, st.Message = second(s.Now), v1beta1.ImagePullJobDeadlineMessage
}

type phase int

const (
	unasked phase = iota
	pulling
	succeeded
	failed
)

// phaseOf says how far a node is with the job.
func phaseOf(node *v1beta1.NodeImage, s Snapshot) phase {
	tag := node.TagSpec(s.Image.Name, s.Image.Tag)
	if tag == nil || !tag.OwnedBy(s.Job.UID) {
		return unasked
	}
	status := node.TagStatus(s.Image.Name, s.Image.Tag, tag.Version)
	switch {
	case status == nil:
		return pulling
	case status.Phase == v1beta1.ImagePhaseSucceeded:
		return succeeded
	case status.Phase == v1beta1.ImagePhaseFailed:
		return failed
	default:
		return pulling
	}
}

// parallelism is how many nodes pull at once; 1 where nothing is said.
func parallelism(job *v1beta1.ImagePullJob) int {
	if job.Spec.Parallelism == nil {
		return 1
	}
	return max(0, job.Spec.Parallelism.IntValue())
}

func second(t time.Time) *metav1.Time {
	out := metav1.NewTime(t).Rfc3339Copy()
	return &out
}
