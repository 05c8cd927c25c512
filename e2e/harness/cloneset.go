// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/conditions"
)

// Change is something that a user does to a CloneSet.
type Change func(*appsv1beta1.CloneSet)

// Image gives a container of the template an image.
func Image(container, image string) Change {
	return func(set *appsv1beta1.CloneSet) {
		for i := range set.Spec.Template.Spec.Containers {
			if set.Spec.Template.Spec.Containers[i].Name == container {
				set.Spec.Template.Spec.Containers[i].Image = image
			}
		}
	}
}

// Replicas is how many pods are wanted.
func Replicas(n int32) Change {
	return func(set *appsv1beta1.CloneSet) { set.Spec.Replicas = ptr.To(n) }
}

// Partition is how many pods stay at the old revision, a number or a percentage.
func Partition(n string) Change {
	return rolling(func(r *appsv1beta1.RollingUpdateCloneSetStrategy) { r.Partition = ptr.To(intstr.Parse(n)) })
}

// MaxUnavailable is a number or a percentage.
func MaxUnavailable(n string) Change {
	return rolling(func(r *appsv1beta1.RollingUpdateCloneSetStrategy) { r.MaxUnavailable = ptr.To(intstr.Parse(n)) })
}

// MaxSurge is a number or a percentage.
func MaxSurge(n string) Change {
	return rolling(func(r *appsv1beta1.RollingUpdateCloneSetStrategy) { r.MaxSurge = ptr.To(intstr.Parse(n)) })
}

// Grace is how long pods leave their Services before a container changes. Seconds.
func Grace(seconds int32) Change {
	return rolling(func(r *appsv1beta1.RollingUpdateCloneSetStrategy) {
		r.InPlaceUpdateStrategy = &appsv1beta1.InPlaceUpdateStrategy{GracePeriodSeconds: seconds}
	})
}

// Paused stops updates, or lets them go on.
func Paused(is bool) Change {
	return rolling(func(r *appsv1beta1.RollingUpdateCloneSetStrategy) { r.Paused = is })
}

func rolling(change func(*appsv1beta1.RollingUpdateCloneSetStrategy)) Change {
	return func(set *appsv1beta1.CloneSet) { change(set.Spec.UpdateStrategy.RollingUpdate) }
}

// Edit makes changes to a set that exists, in one write.
func (c *Cluster) Edit(ctx context.Context, set *appsv1beta1.CloneSet, changes ...Change) error {
	before := set.DeepCopy()
	for _, change := range changes {
		change(set)
	}
	return c.Patch(ctx, set, client.MergeFrom(before))
}

// Current reads a set anew. It is an error that its status speaks of an older generation.
func (c *Cluster) Current(ctx context.Context, set *appsv1beta1.CloneSet) (*appsv1beta1.CloneSet, error) {
	got := &appsv1beta1.CloneSet{}
	if err := c.Get(ctx, client.ObjectKeyFromObject(set), got); err != nil {
		return nil, err
	}
	if got.Status.ObservedGeneration != got.Generation {
		return nil, fmt.Errorf("the status is of generation %d, the spec is %d", got.Status.ObservedGeneration, got.Generation)
	}
	return got, nil
}

// waiting returns reason and message of condition Waiting, empty where nothing is waited for.
func waiting(set *appsv1beta1.CloneSet) (reason, message string) {
	found := conditions.FindCompat(set.Status.Conditions, appsv1beta1.CloneSetConditionWaiting)
	if found == nil {
		return "", ""
	}
	return found.Reason, found.Message
}

// Settled returns nil when, by its status, every pod of a set is available, as many as the partition allows are updated,
// and nothing else than the partition is waited for.
func (c *Cluster) Settled(ctx context.Context, set *appsv1beta1.CloneSet) error {
	got, err := c.Current(ctx, set)
	if err != nil {
		return err
	}
	s, want := got.Status, *got.Spec.Replicas
	if s.Replicas != want || s.ReadyReplicas != want || s.AvailableReplicas != want || s.UpdatedAvailableReplicas < s.ExpectedUpdatedReplicas {
		return fmt.Errorf("of %d replicas there are %d, %d ready, %d available; %d of %d are updated and available",
			want, s.Replicas, s.ReadyReplicas, s.AvailableReplicas, s.UpdatedAvailableReplicas, s.ExpectedUpdatedReplicas)
	}
	if reason, message := waiting(got); reason != "" && reason != "PartitionReached" {
		return fmt.Errorf("%s: %s", reason, message)
	}
	return nil
}

// Waits returns nil when condition Waiting has the reason and says all of this.
func (c *Cluster) Waits(ctx context.Context, set *appsv1beta1.CloneSet, reason string, says ...string) error {
	got, err := c.Current(ctx, set)
	if err != nil {
		return err
	}
	have, message := waiting(got)
	if have != reason {
		return fmt.Errorf("waits for %q: %s", have, message)
	}
	for _, text := range says {
		if !strings.Contains(message, text) {
			return fmt.Errorf("%q is not said: %s", text, message)
		}
	}
	return nil
}
