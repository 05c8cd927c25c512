// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package resourcedistribution

// action is what is done in a namespace.
type action string

const (
	nothing action = ""
	wait    action = "wait"
	create  action = "create"
	update  action = "update"
	leave   action = "leave"
	remove  action = "remove"
)

// sighting is what was found of the object in a namespace.
type sighting struct {
	// ours: this ResourceDistribution controls it.
	ours bool
	// marked: it has the label by which copies are watched. digest and hash are known only then.
	marked       bool
	digest, hash string
}

// step is one action in one namespace.
type step struct {
	namespace string
	action    action
}

// snapshot is what a pass looks at.
type snapshot struct {
	namespaces map[string]namespaceFacts
	// targets may not exist, others do. Both are in order.
	targets, others []string
	// found has the object of the copies' name by namespace.
	found        map[string]sighting
	digest, hash string
}

// makePlan decides for each namespace. What is as it should be has no step.
func makePlan(s *snapshot) []step {
	var out []step
	for _, name := range s.targets {
		if a := s.inTarget(name); a != nothing {
			out = append(out, step{name, a})
		}
	}
	for _, name := range s.others {
		if s.found[name].ours && !s.namespaces[name].going {
			out = append(out, step{name, remove})
		}
	}
	return out
}

func (s *snapshot) inTarget(name string) action {
	namespace, exists := s.namespaces[name]
	seen, found := s.found[name]
	switch {
	case !exists || namespace.going:
		return wait
	case !found:
		return create
	case !seen.ours:
		return leave
	case !seen.marked || seen.digest != s.digest || seen.hash != s.hash:
		return update
	default:
		return nothing
	}
}

// unseen are the targets that can have a copy and of which none is watched: there is none, it lost its mark, or another's
// object is there.
func (s *snapshot) unseen() []string {
	var out []string
	for _, name := range s.targets {
		if namespace, exists := s.namespaces[name]; exists && !namespace.going && !s.found[name].ours {
			out = append(out, name)
		}
	}
	return out
}
