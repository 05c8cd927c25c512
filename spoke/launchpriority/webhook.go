// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package launchpriority

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

const (
	// randomLength and maxBase are how the API server makes a name: five letters after at most 58 of generateName.
	randomLength, maxBase = 5, 63 - randomLength
)

// Barrier is the step of pod admission that makes the containers wait. It must come after whatever adds containers.
type Barrier struct{}

// Name of the step.
func (Barrier) Name() string { return "container launch priority" }

// Mutate puts a reference to the barrier into each container of a pod whose containers differ in priority. A pod
// that is yet to get its name gets it here: the reference needs it. One that was copied from another pod loses the other's
// progress, by which it would count as let go. The error names the variable that is no integer, or
// says that the name is too long for a ConfigMap to be called after it.
func (Barrier) Mutate(_ context.Context, pod *corev1.Pod) (bool, error) {
	priorities, err := prioritiesOf(pod)
	if err != nil || priorities == nil {
		return false, err
	}
	if pod.Name == "" {
		pod.Name = pod.GenerateName[:min(len(pod.GenerateName), maxBase)] + rand.String(randomLength)
	}
	if most := validation.DNS1123SubdomainMaxLength - len(barrierSuffix); len(pod.Name) > most {
		return false, fmt.Errorf("metadata.name: has %d letters, a pod whose containers start in order may have at most %d, since its ConfigMap is called <name>%s: choose a shorter name",
			len(pod.Name), most, barrierSuffix)
	}
	for i := range pod.Spec.Containers {
		setBarrier(&pod.Spec.Containers[i], pod.Name+barrierSuffix, priorities[i])
	}
	delete(pod.Annotations, v1beta1.ContainerLaunchPriorityCompletedKey)
	delete(pod.Annotations, levelKey)
	return true, nil
}

// setBarrier puts the reference behind the variables there are.
func setBarrier(c *corev1.Container, barrier string, priority int) {
	c.Env = slices.DeleteFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == v1beta1.ContainerLaunchBarrierEnvName })
	c.Env = append(c.Env, corev1.EnvVar{
		Name: v1beta1.ContainerLaunchBarrierEnvName,
		ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: barrier}, Key: key(priority),
		}},
	})
}

// prioritiesOf returns the priority of each container, nil when none is to wait for another.
func prioritiesOf(pod *corev1.Pod) ([]int, error) {
	if len(pod.Spec.Containers) < 2 {
		return nil, nil
	}
	out := make([]int, len(pod.Spec.Containers))
	if pod.Annotations[v1beta1.ContainerLaunchPriorityKey] == v1beta1.ContainerLaunchOrdered {
		for i := range out {
			out[i] = -i
		}
		return out, nil
	}
	for i := range out {
		priority, err := priorityOf(&pod.Spec.Containers[i])
		if err != nil {
			return nil, fmt.Errorf("spec.containers[%d].env: %w", i, err)
		}
		out[i] = priority
	}
	if slices.Max(out) == slices.Min(out) {
		return nil, nil
	}
	return out, nil
}

// priorityOf reads a container's variable; the last of several holds, as in the container itself.
func priorityOf(c *corev1.Container) (int, error) {
	for i := len(c.Env) - 1; i >= 0; i-- {
		if c.Env[i].Name != v1beta1.ContainerLaunchPriorityEnvName || c.Env[i].ValueFrom != nil {
			continue
		}
		priority, err := strconv.Atoi(c.Env[i].Value)
		if err != nil {
			return 0, fmt.Errorf("%s of container %s is %q: write an integer, larger ones start earlier", c.Env[i].Name, c.Name, c.Env[i].Value)
		}
		return priority, nil
	}
	return 0, nil
}
