// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package inplace

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// list makes a resource list of names and quantities in turn.
func list(pairs ...string) corev1.ResourceList {
	out := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		out[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return out
}

// sized is a Burstable template of two containers.
func sized(change func(main, side *corev1.Container)) *corev1.PodTemplateSpec {
	out := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{
		{Name: "main", Image: "main:1", Resources: corev1.ResourceRequirements{Requests: list("cpu", "1", "memory", "1Gi"), Limits: list("cpu", "2", "memory", "1Gi")}},
		{Name: "side", Image: "side:1"},
	}}}
	if change != nil {
		change(&out.Spec.Containers[0], &out.Spec.Containers[1])
	}
	return out
}

func cpu(quantity string) func(main, side *corev1.Container) {
	return func(main, _ *corev1.Container) { main.Resources.Requests["cpu"] = resource.MustParse(quantity) }
}

func TestDiffOfResources(t *testing.T) {
	whole := func(main, side *corev1.Container) { // Guaranteed
		for _, c := range []*corev1.Container{main, side} {
			c.Resources = corev1.ResourceRequirements{Requests: list("cpu", "1", "memory", "1Gi"), Limits: list("cpu", "1", "memory", "1Gi")}
		}
	}
	for name, tc := range map[string]struct {
		from, to func(main, side *corev1.Container)
		off      bool
		spec     *Spec
		because  string
	}{
		"a request": {to: cpu("500m"), spec: &Spec{ContainerResources: map[string]corev1.ResourceRequirements{"main": {Requests: list("cpu", "500m")}}}},
		"requests, limits and an image": {
			to: func(main, _ *corev1.Container) {
				main.Image = "main:2"
				main.Resources = corev1.ResourceRequirements{Requests: list("cpu", "1", "memory", "2Gi"), Limits: list("cpu", "3", "memory", "2Gi")}
			},
			spec: &Spec{
				ContainerImages:    map[string]string{"main": "main:2"},
				ContainerResources: map[string]corev1.ResourceRequirements{"main": {Requests: list("memory", "2Gi"), Limits: list("cpu", "3", "memory", "2Gi")}},
			},
		},
		"limits alone, which requests follow": {
			from: func(main, _ *corev1.Container) { main.Resources.Requests = nil },
			to: func(main, _ *corev1.Container) {
				main.Resources.Requests, main.Resources.Limits["cpu"] = nil, resource.MustParse("3")
			},
			spec: &Spec{ContainerResources: map[string]corev1.ResourceRequirements{"main": {Requests: list("cpu", "3"), Limits: list("cpu", "3")}}},
		},
		"another field as well": {to: func(main, side *corev1.Container) { cpu("2")(main, side); main.Args = []string{"a"} }, because: "template.spec.containers.0.args changed"},
		"a resource more":       {to: func(_, side *corev1.Container) { side.Resources.Requests = list("cpu", "1") }, because: "template.spec.containers.1.resources.requests changed"},
		"a resource less":       {to: func(main, _ *corev1.Container) { delete(main.Resources.Requests, "cpu") }, because: "template.spec.containers.0.resources.requests.cpu changed"},
		"another resource": {
			from:    func(main, _ *corev1.Container) { main.Resources.Limits["example.com/gpu"] = resource.MustParse("1") },
			to:      func(main, _ *corev1.Container) { main.Resources.Limits["example.com/gpu"] = resource.MustParse("2") },
			because: "template.spec.containers.0.resources.limits.example.com/gpu changed",
		},
		"the class changes": {
			from: whole, to: func(main, side *corev1.Container) { whole(main, side); cpu("500m")(main, side) },
			because: "the pod's quality of service would change from Guaranteed to Burstable",
		},
		"the gate is off": {to: cpu("500m"), off: true, because: "template.spec.containers.0.resources.requests.cpu changed"},
	} {
		t.Run(name, func(t *testing.T) {
			got := Diff(revisionOf(t, "w-1", sized(tc.from)), revisionOf(t, "w-2", sized(tc.to)), Options{VerticalScaling: !tc.off})
			if got.Because != tc.because {
				t.Errorf("because %q, want %q", got.Because, tc.because)
			}
			if tc.spec != nil {
				tc.spec.Revision = "w-2"
			}
			if diff := cmp.Diff(tc.spec, got.Spec); diff != "" {
				t.Error("-want +got:\n", diff)
			}
		})
	}
}

func TestDiffOfResourcesBesideThoseOfThePod(t *testing.T) {
	whole := func(change func(main, side *corev1.Container)) *corev1.PodTemplateSpec {
		out := sized(change)
		out.Spec.Resources = &corev1.ResourceRequirements{Requests: list("cpu", "4")}
		return out
	}
	got := Diff(revisionOf(t, "w-1", whole(nil)), revisionOf(t, "w-2", whole(cpu("500m"))), Options{VerticalScaling: true})
	if want := "the template has resources for the pod as a whole"; got.Because != want {
		t.Errorf("because %q, want %q", got.Because, want)
	}
}

func TestResize(t *testing.T) {
	policy := func(name corev1.ResourceName) func(main, side *corev1.Container) {
		return func(main, _ *corev1.Container) {
			main.ResizePolicy = []corev1.ContainerResizePolicy{{ResourceName: name, RestartPolicy: corev1.RestartContainer}}
		}
	}
	for name, tc := range map[string]struct {
		template func(main, side *corev1.Container)
		spec     Spec
		closes   bool
	}{
		"goes on running": {nil, Spec{ContainerResources: map[string]corev1.ResourceRequirements{"main": {Requests: list("cpu", "500m")}}}, false},
		"restarts for it": {policy("cpu"), Spec{ContainerResources: map[string]corev1.ResourceRequirements{"main": {Requests: list("cpu", "500m")}}}, true},
		"restarts for the other resource": {
			policy("memory"), Spec{ContainerResources: map[string]corev1.ResourceRequirements{"main": {Limits: list("cpu", "3")}}}, false,
		},
		"an image as well": {nil, Spec{
			ContainerImages:    map[string]string{"main": "main:2"},
			ContainerResources: map[string]corev1.ResourceRequirements{"main": {Requests: list("cpu", "500m")}},
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			pod := runningPod(sized(tc.template))
			give(pod)
			tc.spec.Revision = "w-2"
			b := begin(t, pod, tc.spec)
			if closes := !b.CloseGate.Empty(); closes != tc.closes {
				t.Errorf("the gate is closed: %v", closes)
			}
			if IsComplete(pod) {
				t.Error("it is complete before the node did anything")
			}
			restart(pod)
			if IsComplete(pod) {
				t.Error("it is complete without the resources")
			}
			if p := Advance(pod, t0); p.Phase != Restarting || !strings.Contains(p.Reason, "container main does not have its new resources yet") {
				t.Errorf("it waits in phase %v: %s", p.Phase, p.Reason)
			}
			give(pod)
			if !IsComplete(pod) {
				t.Error("it is not complete at the end")
			}
		})
	}
}

// TestResizeAfterOneThatDoesNotFit: the node refuses a size, and the next is reached on the same pod.
func TestResizeAfterOneThatDoesNotFit(t *testing.T) {
	pod := runningPod(sized(nil))
	give(pod)
	begin(t, pod, Spec{Revision: "w-2", ContainerResources: map[string]corev1.ResourceRequirements{"main": {Requests: list("cpu", "999")}}})
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodResizePending, Status: "True", Reason: "Infeasible", Message: "node has 4"})
	if p := Advance(pod, t0); !strings.HasSuffix(p.Reason, ": Infeasible: node has 4") {
		t.Errorf("it waits for %q", p.Reason)
	}
	begin(t, pod, Spec{Revision: "w-3", ContainerResources: map[string]corev1.ResourceRequirements{"main": {Requests: list("cpu", "1500m")}}})
	give(pod)
	if !IsComplete(pod) {
		t.Error("the second size is not reached")
	}
}

// TestResizeInBatches: resources alone are a batch of their own.
func TestResizeInBatches(t *testing.T) {
	pod := runningPod(sized(func(main, side *corev1.Container) {
		main.Env, side.Env = []corev1.EnvVar{barrier("0")}, []corev1.EnvVar{barrier("10")}
	}))
	give(pod)
	begin(t, pod, Spec{
		Revision: "w-2", ContainerImages: map[string]string{"side": "side:2"},
		ContainerResources: map[string]corev1.ResourceRequirements{"main": {Requests: list("cpu", "500m")}},
	})
	if got := pod.Spec.Containers[0].Resources.Requests.Cpu().String(); got != "1" {
		t.Errorf("the second batch came with the first: cpu %s", got)
	}
	restart(pod)
	give(pod)
	p := Advance(pod, t0)
	if p.Phase != NextBatch {
		t.Fatalf("it is in phase %v: %s", p.Phase, p.Reason)
	}
	p.Patch.ApplyTo(pod)
	if got := pod.Spec.Containers[0].Resources.Requests.Cpu().String(); got != "500m" || IsComplete(pod) {
		t.Errorf("cpu %s, complete %v", got, IsComplete(pod))
	}
	give(pod)
	if !IsComplete(pod) {
		t.Error("it is not complete at the end")
	}
}

// give plays kubelet: every container gets the resources of its spec.
func give(pod *corev1.Pod) {
	for i := range pod.Status.ContainerStatuses {
		pod.Status.ContainerStatuses[i].Resources = pod.Spec.Containers[i].Resources.DeepCopy()
	}
}

func TestQualityOfService(t *testing.T) {
	for name, tc := range map[string]struct {
		spec corev1.PodSpec
		want corev1.PodQOSClass
	}{
		"nothing":              {corev1.PodSpec{Containers: []corev1.Container{{}}}, corev1.PodQOSBestEffort},
		"limits only":          {corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Limits: list("cpu", "1", "memory", "1")}}}}, corev1.PodQOSGuaranteed},
		"one resource":         {corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Limits: list("cpu", "1")}}}}, corev1.PodQOSBurstable},
		"one container of two": {corev1.PodSpec{Containers: []corev1.Container{{}, {Resources: corev1.ResourceRequirements{Limits: list("cpu", "1", "memory", "1")}}}}, corev1.PodQOSBurstable},
		"an init container":    {corev1.PodSpec{InitContainers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: list("cpu", "1")}}}, Containers: []corev1.Container{{}}}, corev1.PodQOSBurstable},
	} {
		if got := QoSOf(&tc.spec); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

// TestResizeThatWasNotSent: the pod is labelled and the process dies before it asks for the resources. They are asked for
// again, and once they are there they are nobody's business any more.
func TestResizeThatWasNotSent(t *testing.T) {
	pod := runningPod(sized(nil))
	give(pod)
	b, err := Start(pod, &Spec{Revision: "w-2", ContainerResources: map[string]corev1.ResourceRequirements{"main": {Requests: list("cpu", "500m")}}}, t0)
	if err != nil {
		t.Fatal(err)
	}
	b.Change.Label("controller-revision-hash", "w-2")
	writes := b.Change.Split()
	if len(writes) != 2 || writes[0].OnResize() || !writes[1].OnResize() {
		t.Fatalf("writes %+v", writes)
	}
	writes[0].ApplyTo(pod)
	if IsComplete(pod) {
		t.Error("complete without the resources")
	}
	p := Advance(pod, t0)
	if p.Phase != NextBatch || cpuOf(p.Patch.Resources["main"]) != "500m" {
		t.Fatalf("phase %v, %+v", p.Phase, p.Patch.Resources)
	}
	p.Patch.ApplyTo(pod)
	give(pod)
	p = Advance(pod, t0)
	p.Patch.ApplyTo(pod)
	if p.Phase != Done || !IsComplete(pod) {
		t.Fatalf("phase %v: %s", p.Phase, p.Reason)
	}
	pod.Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse("700m") // somebody else's choice
	give(pod)
	if p := Advance(pod, t0); p.Phase != Done || !p.Patch.Empty() {
		t.Errorf("phase %v, patch %+v", p.Phase, p.Patch)
	}
}

func cpuOf(r corev1.ResourceRequirements) string { return r.Requests.Cpu().String() }

// TestBackBeforeTheResize: going back before the resources were asked for asks for none.
func TestBackBeforeTheResize(t *testing.T) {
	pod := runningPod(sized(nil))
	give(pod)
	b, err := Start(pod, &Spec{Revision: "w-2", ContainerResources: map[string]corev1.ResourceRequirements{"main": {Requests: list("cpu", "500m")}}}, t0)
	if err != nil {
		t.Fatal(err)
	}
	b.Change.Label("controller-revision-hash", "w-2")
	writes := b.Change.Split()
	writes[0].ApplyTo(pod)
	begin(t, pod, Spec{Revision: "w-1", ContainerResources: map[string]corev1.ResourceRequirements{"main": {Requests: list("cpu", "1")}}})
	if !IsComplete(pod) || cpuOf(pod.Spec.Containers[0].Resources) != "1" {
		t.Errorf("complete %v, %v", IsComplete(pod), pod.Spec.Containers[0].Resources)
	}
}
