// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/seconds"
	"github.com/flotilla-sh/flotilla/nodeagent/cri"
)

// What the package works on.
type (
	// Request is what somebody asks for.
	Request = v1beta1.ContainerRecreateRequest
	// Container is one container that it names.
	Container = v1beta1.ContainerRecreateRequestContainer
	// State is how far one container is.
	State = v1beta1.ContainerRecreateRequestContainerRecreateState
)

const (
	pending    = v1beta1.ContainerRecreateRequestPending
	recreating = v1beta1.ContainerRecreateRequestRecreating
	succeeded  = v1beta1.ContainerRecreateRequestSucceeded
	failed     = v1beta1.ContainerRecreateRequestFailed
	completed  = v1beta1.ContainerRecreateRequestCompleted
)

const (
	// missing is the message of a container that has no instance.
	missing = "not found container on Node"
	// notStarted is the message of a container to be stopped whose instance does not run yet.
	notStarted = "the container has not started yet"
	// stopping begins the message of a container whose instance is being stopped; the instance's ID follows.
	stopping = "stopping "
	// pollEvery is how often containers under way are looked at without an event.
	pollEvery = 3 * time.Second
	// graceSlack is added to the time in which the pod is kept not ready, for clocks that differ a little.
	graceSlack = 100 * time.Millisecond
)

// Instance is the newest instance of a container.
type Instance struct {
	// ID as the pod's status has it, runtime://id.
	ID    string
	State cri.ContainerState
	// Attempt is the restart count that it was made with.
	Attempt int32
	// StartedAt is zero before it has started.
	StartedAt time.Time
}

// Facts are what was seen of the pod.
type Facts struct {
	// Newest has the newest instance of each container that has one, by name.
	Newest map[string]Instance
	// Waiting has why the kubelet does not run a container, by name.
	Waiting map[string]string
	// Over has the restart policy of each container that has ended and is not started again, by name.
	Over map[string]corev1.RestartPolicy
	Now  time.Time
}

// Stop is one instance to be stopped.
type Stop struct {
	// At is the container's place in the request, ID the instance as in Instance.
	At int
	ID string
}

// Plan is what there is to do for a request that is under way.
type Plan struct {
	// States is what the states of its containers are to be, Changed whether that is another than they are.
	States  []State
	Changed bool
	// Stop is the instance to stop now, if any.
	Stop *Stop
	// Complete says that the request has ended.
	Complete bool
	// Again is when to look again without an event; 0 for never.
	Again time.Duration
}

// Choose returns the request of a pod to work on, nil when there is none, and those that are to be marked as waiting for
// it. Requests for another pod of the name, and those that have ended or go, are none.
func Choose(list []Request, pod types.UID) (picked *Request, waiting []*Request) {
	var open []*Request
	for i := range list {
		r := &list[i]
		if r.Labels[v1beta1.ContainerRecreateRequestPodUIDKey] == string(pod) && isOpen(r) {
			open = append(open, r)
		}
	}
	if len(open) == 0 {
		return nil, nil
	}
	slices.SortFunc(open, func(a, b *Request) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
	})
	for _, r := range open[1:] {
		if r.Status.Phase == "" {
			waiting = append(waiting, r)
		}
	}
	return open[0], waiting
}

// isOpen tells that a request has not ended, and is to stay.
func isOpen(r *Request) bool { return r.DeletionTimestamp == nil && r.Status.Phase != completed }

func rank(r *Request) int {
	switch r.Status.Phase {
	case recreating:
		return 0
	case pending:
		return 1
	default:
		return 2
	}
}

// graceLeft is how long the pod is still to be kept not ready before anything is stopped; began is false while it is
// not known to be so yet.
func graceLeft(r *Request, now time.Time) (left time.Duration, began bool) {
	n := strategyOf(r).UnreadyGracePeriodSeconds
	if n == nil {
		return 0, true
	}
	for _, c := range r.Status.Conditions {
		if c.Type == v1beta1.PreRecreateGraceCondition && c.Status == "True" {
			end := c.LastTransitionTime.Add(seconds.Of(*n) + graceSlack)
			return max(end.Sub(now), 0), true
		}
	}
	return 0, false
}

// MakePlan decides the next step of a request that is Recreating.
func MakePlan(r *Request, f Facts) Plan {
	p := Plan{States: make([]State, len(r.Spec.Containers))}
	for i := range r.Spec.Containers {
		c := &r.Spec.Containers[i]
		p.States[i] = next(stateOf(r, c.Name), c, r, f)
		if again := againFor(&p.States[i], r, f); again > 0 && (p.Again == 0 || again < p.Again) {
			p.Again = again
		}
	}
	if p.Changed = !slices.Equal(p.States, r.Status.ContainerRecreateStates); p.Changed {
		return p
	}
	p.walk(r, f)
	p.Changed = !slices.Equal(p.States, r.Status.ContainerRecreateStates)
	return p
}

// walk goes through the containers in order, until one must be stopped or waited for.
func (p *Plan) walk(r *Request, f Facts) {
	for i := range p.States {
		s := &p.States[i]
		switch s.Phase {
		case failed:
			if strategyOf(r).FailurePolicy != v1beta1.ContainerRecreateRequestFailurePolicyIgnore {
				p.Complete = true
				return
			}
		case recreating:
			s.IsKilled = true
			if strategyOf(r).OrderedRecreate {
				return
			}
		case pending:
			if newest, ok := f.Newest[s.Name]; ok && newest.State != cri.ContainerCreated {
				p.Stop = &Stop{At: i, ID: newest.ID}
			}
			return
		default: // it succeeded
		}
	}
	p.Complete = !slices.ContainsFunc(p.States, func(s State) bool { return s.Phase != succeeded && s.Phase != failed })
}

// next is the state of a container; the package comment has the table.
func next(prev State, c *Container, r *Request, f Facts) State {
	if prev.Phase == succeeded || prev.Phase == failed {
		return prev
	}
	newest, found := f.Newest[c.Name]
	if !found {
		return State{Name: c.Name, Phase: pending, IsKilled: prev.IsKilled || markOf(prev) != "", Message: missing}
	}
	force := strategyOf(r).ForceRecreate
	s := State{Name: c.Name, Phase: pending, IsKilled: prev.IsKilled || wasStopped(prev, newest)}
	switch {
	case newest.State == cri.ContainerExited:
		ended(&s, force, f.Waiting[c.Name], f.Over[c.Name])
	case force && !s.IsKilled:
		s.Message = unstopped(prev, newest)
	case force || restarted(newest, c.StatusContext):
		s.Phase = progress(newest, r, f.Now)
	}
	return s
}

// progress is the phase of a container that has a new instance.
func progress(newest Instance, r *Request, now time.Time) v1beta1.ContainerRecreateRequestPhase {
	if left, ready := youth(newest, r, now); ready && left <= 0 {
		return succeeded
	}
	return recreating
}

// markOf is the message that names the instance which is being stopped, empty where there is none.
func markOf(s State) string {
	if strings.HasPrefix(s.Message, stopping) {
		return s.Message
	}
	return ""
}

// unstopped is the message of a container whose instance is to be stopped.
func unstopped(prev State, newest Instance) string {
	if newest.State == cri.ContainerCreated {
		return notStarted
	}
	return markOf(prev)
}

// wasStopped tells that an instance was stopped and the agent had no time to say so.
func wasStopped(prev State, newest Instance) bool {
	id, told := strings.CutPrefix(prev.Message, stopping)
	return told && (id != newest.ID || newest.State == cri.ContainerExited)
}

// ended is the state of a container whose newest instance does not run any more. Where none follows, it stays so: to
// end containers of a job is what some ask for, and a deadline ends the request.
func ended(s *State, force bool, waits string, over corev1.RestartPolicy) {
	s.Phase = recreating
	switch {
	case over != "":
		s.Message = fmt.Sprintf("the container has ended, and nothing starts it again (restartPolicy %s): only activeDeadlineSeconds or its deletion ends this request", over)
	case waits == "":
	case force && !s.IsKilled:
		s.Phase = failed
		s.Message = fmt.Sprintf("the container is waiting (%s): there is no instance to stop, the kubelet starts the next one", waits)
	default:
		s.Message = fmt.Sprintf("the container is waiting (%s): the kubelet starts the next instance", waits)
	}
}

// restarted tells that an instance came after the one that the request is about.
func restarted(newest Instance, was *v1beta1.ContainerRecreateRequestContainerContext) bool {
	return was != nil && (newest.ID != was.ContainerID || newest.Attempt > was.RestartCount)
}

// youth is how long an instance that is ready must still run before it counts; ready is false while the spoke has not
// seen it ready.
func youth(newest Instance, r *Request, now time.Time) (left time.Duration, ready bool) {
	for _, seen := range r.Status.ContainerStatusSnapshot {
		if seen.ContainerID == newest.ID && seen.Ready && !newest.StartedAt.IsZero() {
			if newest.StartedAt.After(now) { // the node's clock was set back since: how long it runs is not known
				return 0, true
			}
			return newest.StartedAt.Add(seconds.Of(strategyOf(r).MinStartedSeconds)).Sub(now), true
		}
	}
	return 0, false
}

// againFor is when a container is worth another look.
func againFor(s *State, r *Request, f Facts) time.Duration {
	if s.Phase != pending && s.Phase != recreating {
		return 0
	}
	if newest, ok := f.Newest[s.Name]; ok && s.Phase == recreating {
		if left, ready := youth(newest, r, f.Now); ready && left > 0 {
			return left + time.Millisecond
		}
	}
	return pollEvery
}

func stateOf(r *Request, container string) State {
	for _, s := range r.Status.ContainerRecreateStates {
		if s.Name == container {
			return s
		}
	}
	return State{}
}

func strategyOf(r *Request) v1beta1.ContainerRecreateRequestStrategy {
	if r.Spec.Strategy == nil {
		return v1beta1.ContainerRecreateRequestStrategy{}
	}
	return *r.Spec.Strategy
}

// waitingIn reads why the kubelet does not run the containers of a pod. One that is about to start does not wait.
func waitingIn(pod *corev1.Pod) map[string]string {
	out := map[string]string{}
	for i := range pod.Status.ContainerStatuses {
		s := &pod.Status.ContainerStatuses[i]
		if w := s.State.Waiting; w != nil && w.Reason != "ContainerCreating" && w.Reason != "PodInitializing" {
			out[s.Name] = cmp.Or(w.Reason, "no reason given")
		}
	}
	return out
}

// overIn reads which containers of a pod have ended and are not started again.
func overIn(pod *corev1.Pod) map[string]corev1.RestartPolicy {
	out := map[string]corev1.RestartPolicy{}
	for i := range pod.Status.ContainerStatuses {
		s := &pod.Status.ContainerStatuses[i]
		policy, ruled := policyOf(pod, s.Name)
		if ruled {
			continue // its rules may start it again
		}
		if end := s.State.Terminated; end != nil && (policy == corev1.RestartPolicyNever || policy == corev1.RestartPolicyOnFailure && end.ExitCode == 0) {
			out[s.Name] = policy
		}
	}
	return out
}

// policyOf is a container's own restart policy, where it has one, or the pod's; ruled says that rules by exit code go first.
func policyOf(pod *corev1.Pod, container string) (policy corev1.RestartPolicy, ruled bool) {
	for i := range pod.Spec.Containers {
		if c := &pod.Spec.Containers[i]; c.Name == container && c.RestartPolicy != nil {
			return corev1.RestartPolicy(*c.RestartPolicy), len(c.RestartPolicyRules) > 0
		}
	}
	return pod.Spec.RestartPolicy, false
}
