// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package launchpriority

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

func withPriorities(priorities ...string) *corev1.Pod {
	pod := &corev1.Pod{}
	pod.Name = "web-0"
	for i, p := range priorities {
		c := corev1.Container{Name: string(rune('a' + i)), Env: []corev1.EnvVar{{Name: "X", Value: "y"}}}
		if p != "" {
			c.Env = append(c.Env, corev1.EnvVar{Name: v1beta1.ContainerLaunchPriorityEnvName, Value: p})
		}
		pod.Spec.Containers = append(pod.Spec.Containers, c)
	}
	return pod
}

// keysOf are the references of the containers, which must be their last variables.
func keysOf(pod *corev1.Pod) []string {
	var out []string
	for _, c := range pod.Spec.Containers {
		if last := c.Env[len(c.Env)-1]; last.Name == v1beta1.ContainerLaunchBarrierEnvName {
			out = append(out, last.ValueFrom.ConfigMapKeyRef.Name+"/"+last.ValueFrom.ConfigMapKeyRef.Key)
		}
	}
	return out
}

func TestMutate(t *testing.T) {
	ordered := withPriorities("", "7", "nonsense")
	ordered.Annotations = map[string]string{v1beta1.ContainerLaunchPriorityKey: v1beta1.ContainerLaunchOrdered}
	otherwise := withPriorities("", "")
	otherwise.Annotations = map[string]string{v1beta1.ContainerLaunchPriorityKey: "ordered"}
	single := withPriorities("7")
	single.Annotations = ordered.Annotations
	begun := withPriorities("", "10")
	begun.Spec.InitContainers = []corev1.Container{
		{Name: "init", Env: []corev1.EnvVar{{Name: v1beta1.ContainerLaunchPriorityEnvName, Value: "99"}}},
		{Name: "beside", RestartPolicy: new(corev1.ContainerRestartPolicyAlways)},
	}
	twice := withPriorities("1", "")
	twice.Spec.Containers[0].Env = append(twice.Spec.Containers[0].Env, corev1.EnvVar{Name: v1beta1.ContainerLaunchPriorityEnvName, Value: "4"})
	indirect := withPriorities("", "")
	indirect.Spec.Containers[0].Env = append(indirect.Spec.Containers[0].Env,
		corev1.EnvVar{Name: v1beta1.ContainerLaunchPriorityEnvName, ValueFrom: &corev1.EnvVarSource{}})

	for name, tc := range map[string]struct {
		pod  *corev1.Pod
		want []string
	}{
		"no priorities":      {withPriorities("", ""), nil},
		"all zero":           {withPriorities("0", ""), nil},
		"all equal":          {withPriorities("3", "3"), nil},
		"by variable":        {withPriorities("", "10", "-2"), []string{"web-0-barrier/p_0", "web-0-barrier/p_10", "web-0-barrier/p_-2"}},
		"the last one holds": {twice, []string{"web-0-barrier/p_4", "web-0-barrier/p_0"}},
		"literal only":       {indirect, nil},
		"ordered":            {ordered, []string{"web-0-barrier/p_0", "web-0-barrier/p_-1", "web-0-barrier/p_-2"}},
		"another value":      {otherwise, nil},
		"one container":      {single, nil},
		"not of the init":    {begun, []string{"web-0-barrier/p_0", "web-0-barrier/p_10"}},
	} {
		t.Run(name, func(t *testing.T) {
			init := tc.pod.DeepCopy().Spec.InitContainers
			for range 2 { // a webhook may be called again
				changed, err := Barrier{}.Mutate(t.Context(), tc.pod)
				if err != nil || changed != (tc.want != nil) {
					t.Fatalf("changed %v, error %v", changed, err)
				}
				if diff := cmp.Diff(tc.want, keysOf(tc.pod)); diff != "" {
					t.Error(diff)
				}
				if diff := cmp.Diff(init, tc.pod.Spec.InitContainers); diff != "" {
					t.Errorf("init containers (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// TestBadPriority: the error says where, what and what instead.
func TestBadPriority(t *testing.T) {
	_, err := Barrier{}.Mutate(t.Context(), withPriorities("", "high"))
	want := `spec.containers[1].env: KRUISE_CONTAINER_PRIORITY of container b is "high": write an integer, larger ones start earlier`
	if err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

// The barrier is called after the pod: a pod of a longer name would wait for a ConfigMap that there cannot be.
func TestLongName(t *testing.T) {
	pod := withPriorities("1", "0")
	pod.Name = strings.Repeat("a", 245)
	if _, err := (Barrier{}).Mutate(t.Context(), pod); err != nil {
		t.Error(err)
	}
	if name, _, _ := strings.Cut(keysOf(pod)[0], "/"); len(validation.IsDNS1123Subdomain(name)) > 0 {
		t.Errorf("a name of %d letters", len(name))
	}
	pod.Name += "a"
	want := "metadata.name: has 246 letters, a pod whose containers start in order may have at most 245, since its ConfigMap is called <name>-barrier: choose a shorter name"
	if _, err := (Barrier{}).Mutate(t.Context(), pod); err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
	plain := withPriorities("", "")
	plain.Name = strings.Repeat("a", 253)
	if _, err := (Barrier{}).Mutate(t.Context(), plain); err != nil {
		t.Errorf("in no order: %v", err)
	}
}

// TestNameIsMade (LP-01): a pod that a ReplicaSet makes has its name when the barrier refers to it.
func TestNameIsMade(t *testing.T) {
	for _, base := range []string{"web-7f9c-", strings.Repeat("long", 20)} {
		pod := withPriorities("1", "0")
		pod.Name, pod.GenerateName = "", base
		if _, err := (Barrier{}).Mutate(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
		kept := base[:min(len(base), 58)]
		if !strings.HasPrefix(pod.Name, kept) || len(pod.Name) != len(kept)+5 {
			t.Errorf("name %q", pod.Name)
		}
		if diff := cmp.Diff([]string{pod.Name + "-barrier/p_1", pod.Name + "-barrier/p_0"}, keysOf(pod)); diff != "" {
			t.Error(diff)
		}
	}
}

// A pod that is made from one that runs, by a backup or by hand, has that one's progress in its annotations: it would
// count as let go before anything of it started, and get no order.
func TestProgressOfAnotherPod(t *testing.T) {
	pod := withPriorities("1", "0")
	pod.Annotations = map[string]string{v1beta1.ContainerLaunchPriorityCompletedKey: "true", levelKey: "0", "its": "own"}
	if _, err := (Barrier{}).Mutate(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"its": "own"}, pod.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
}
