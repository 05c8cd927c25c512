// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepodprobe

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	"github.com/flotilla-sh/flotilla/spoke/podprobe"
)

func newNode(status corev1.ConditionStatus) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}}
	return node
}

func newPod(name string) corev1.Pod {
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{"app": "web"}}}
	pod.Spec.NodeName = "node-1"
	pod.Spec.Containers = []corev1.Container{{Name: "main", Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}}}}
	pod.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: "10.0.0.1",
		Conditions: []corev1.PodCondition{{Type: corev1.PodInitialized, Status: corev1.ConditionTrue}},
	}
	return pod
}

func exec(command string) corev1.Probe {
	return corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{command}}}}
}

func tcp(port intstr.IntOrString) corev1.Probe {
	return corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: port}}}
}

func grpc(port int32) corev1.Probe {
	return corev1.Probe{ProbeHandler: corev1.ProbeHandler{GRPC: &corev1.GRPCAction{Port: port, Service: new("a.B")}}}
}

func newMarker(name string, probes ...v1alpha1.PodContainerProbe) v1alpha1.PodProbeMarker {
	m := v1alpha1.PodProbeMarker{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
	m.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	m.Spec.Probes = probes
	return m
}

func asked(name, container string, p corev1.Probe) v1alpha1.PodContainerProbe {
	return v1alpha1.PodContainerProbe{Name: name, ContainerName: container, Probe: p}
}

func ordered(name string, p corev1.Probe) v1alpha1.ContainerProbe {
	return v1alpha1.ContainerProbe{Name: name, ContainerName: "main", Probe: p}
}

func entry(name string, probes ...v1alpha1.ContainerProbe) v1alpha1.PodProbe {
	return v1alpha1.PodProbe{Namespace: "ns", Name: name, UID: "uid-" + name, IP: "10.0.0.1", Probes: probes}
}

func object(entries ...v1alpha1.PodProbe) *v1alpha1.NodePodProbe {
	return &v1alpha1.NodePodProbe{Spec: v1alpha1.NodePodProbeSpec{PodProbes: entries}}
}

func altered[T any](obj T, change func(*T)) T {
	change(&obj)
	return obj
}

func TestPlan(t *testing.T) {
	now := metav1.Now()
	going := altered(*newNode("True"), func(n *corev1.Node) { n.DeletionTimestamp = &now })
	virtual := altered(*newNode("True"), func(n *corev1.Node) { n.Labels = map[string]string{"type": "virtual-kubelet"} })
	check := ordered("m#check", exec("check"))
	live := ordered("web-0-main", exec("alive"))
	marker := newMarker("m", asked("check", "main", exec("check")))
	for name, tc := range map[string]struct {
		node    *corev1.Node
		npp     *v1alpha1.NodePodProbe
		pods    []corev1.Pod
		markers []v1alpha1.PodProbeMarker
		action  action
		entries []v1alpha1.PodProbe
	}{
		"node is gone":           {nil, object(), nil, nil, remove, nil},
		"both are gone":          {nil, nil, nil, nil, keep, nil},
		"node goes":              {&going, object(), nil, nil, remove, nil},
		"virtual kubelet":        {&virtual, nil, []corev1.Pod{newPod("web-0")}, []v1alpha1.PodProbeMarker{marker}, keep, nil},
		"virtual kubelet by now": {&virtual, object(entry("web-0", check)), []corev1.Pod{newPod("web-0")}, []v1alpha1.PodProbeMarker{marker}, remove, nil},
		"node is not ready":      {newNode("False"), nil, nil, nil, keep, nil},
		"first time":             {newNode("True"), nil, nil, nil, create, nil},
		"first time, with pods":  {newNode("True"), nil, []corev1.Pod{newPod("web-0")}, []v1alpha1.PodProbeMarker{marker}, create, []v1alpha1.PodProbe{entry("web-0", check)}},
		"not ready any more":     {newNode("Unknown"), object(), []corev1.Pod{newPod("web-0")}, []v1alpha1.PodProbeMarker{marker}, update, []v1alpha1.PodProbe{entry("web-0", check)}},
		"as it should be":        {newNode("True"), object(entry("web-0", check)), []corev1.Pod{newPod("web-0")}, []v1alpha1.PodProbeMarker{marker}, keep, []v1alpha1.PodProbe{entry("web-0", check)}},
		"empty as it should be":  {newNode("True"), object([]v1alpha1.PodProbe{}...), nil, nil, keep, nil},
		"order of pods":          {newNode("True"), object(), []corev1.Pod{newPod("web-1"), newPod("web-0")}, []v1alpha1.PodProbeMarker{marker}, update, []v1alpha1.PodProbe{entry("web-0", check), entry("web-1", check)}},
		"pod has ended":          {newNode("True"), object(entry("web-0", check)), []corev1.Pod{altered(newPod("web-0"), func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })}, []v1alpha1.PodProbeMarker{marker}, update, nil},
		"pod goes":               {newNode("True"), object(entry("web-0", check)), []corev1.Pod{altered(newPod("web-0"), func(p *corev1.Pod) { p.DeletionTimestamp = &now })}, []v1alpha1.PodProbeMarker{marker}, update, nil},
		"pod is gone":            {newNode("True"), object(entry("web-0", check, live)), nil, []v1alpha1.PodProbeMarker{marker}, update, nil},
		"another of its name":    {newNode("True"), object(entry("web-0", check, live)), []corev1.Pod{altered(newPod("web-0"), func(p *corev1.Pod) { p.UID = "new" })}, []v1alpha1.PodProbeMarker{marker}, update, []v1alpha1.PodProbe{altered(entry("web-0", check), func(e *v1alpha1.PodProbe) { e.UID = "new" })}},
		"pod is not initialized": {newNode("True"), object(), []corev1.Pod{altered(newPod("web-0"), func(p *corev1.Pod) { p.Status.Conditions = nil })}, []v1alpha1.PodProbeMarker{marker}, keep, nil},
		"pod has left":           {newNode("True"), object(entry("web-0", check)), []corev1.Pod{altered(newPod("web-0"), func(p *corev1.Pod) { p.Labels = nil })}, []v1alpha1.PodProbeMarker{marker}, update, nil},
		"PM-03 IP comes later":   {newNode("True"), object(altered(entry("web-0", check), func(e *v1alpha1.PodProbe) { e.IP = "" })), []corev1.Pod{newPod("web-0")}, []v1alpha1.PodProbeMarker{marker}, update, []v1alpha1.PodProbe{entry("web-0", check)}},
		"marker goes":            {newNode("True"), object(entry("web-0", check)), []corev1.Pod{newPod("web-0")}, []v1alpha1.PodProbeMarker{altered(marker, func(m *v1alpha1.PodProbeMarker) { m.DeletionTimestamp = &now })}, update, nil},
		"probe was taken out":    {newNode("True"), object(entry("web-0", check, ordered("m#old", exec("old")))), []corev1.Pod{newPod("web-0")}, []v1alpha1.PodProbeMarker{marker}, update, []v1alpha1.PodProbe{entry("web-0", check)}},
		"probe was changed":      {newNode("True"), object(entry("web-0", ordered("m#check", exec("old")))), []corev1.Pod{newPod("web-0")}, []v1alpha1.PodProbeMarker{marker}, update, []v1alpha1.PodProbe{entry("web-0", check)}},
		"liveness is kept":       {newNode("True"), object(entry("web-0", live)), []corev1.Pod{newPod("web-0")}, []v1alpha1.PodProbeMarker{marker}, update, []v1alpha1.PodProbe{entry("web-0", check, live)}},
		"liveness without ours":  {newNode("True"), object(entry("web-0", live)), []corev1.Pod{newPod("web-0")}, nil, keep, []v1alpha1.PodProbe{entry("web-0", live)}},
		"names that begin alike": {newNode("True"), object(entry("web-0", check, ordered("xm#check", exec("x")))), []corev1.Pod{newPod("web-0")}, []v1alpha1.PodProbeMarker{newMarker("xm", asked("check", "main", exec("x")))}, update, []v1alpha1.PodProbe{entry("web-0", ordered("xm#check", exec("x")))}},
		"several markers":        {newNode("True"), object(), []corev1.Pod{newPod("web-0")}, []v1alpha1.PodProbeMarker{newMarker("n", asked("b", "main", exec("b")), asked("a", "main", exec("a"))), marker}, update, []v1alpha1.PodProbe{entry("web-0", check, ordered("n#b", exec("b")), ordered("n#a", exec("a")))}},
		"no such container":      {newNode("True"), object(), []corev1.Pod{newPod("web-0")}, []v1alpha1.PodProbeMarker{newMarker("m", asked("check", "other", exec("check")))}, keep, nil},
		"no selector":            {newNode("True"), object(), []corev1.Pod{newPod("web-0")}, []v1alpha1.PodProbeMarker{altered(marker, func(m *v1alpha1.PodProbeMarker) { m.Spec.Selector = nil })}, keep, nil},
		"selector of everything": {newNode("True"), object(), []corev1.Pod{newPod("web-0")}, []v1alpha1.PodProbeMarker{altered(marker, func(m *v1alpha1.PodProbeMarker) { m.Spec.Selector = &metav1.LabelSelector{} })}, keep, nil},
		"ports": {
			newNode("True"), object(), []corev1.Pod{newPod("web-0")},
			[]v1alpha1.PodProbeMarker{newMarker("m", asked("named", "main", tcp(intstr.FromString("http"))), asked("text", "main", tcp(intstr.FromString("81"))), asked("rpc", "main", grpc(9000)), asked("lost", "main", tcp(intstr.FromString("grpc"))))},
			update, []v1alpha1.PodProbe{entry("web-0", ordered("m#named", tcp(intstr.FromInt32(8080))), ordered("m#text", tcp(intstr.FromInt32(81))), ordered("m#rpc", grpc(9000)))},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &snapshot{node: tc.node, npp: tc.npp, pods: tc.pods, markers: map[string][]podprobe.Marker{"ns": podprobe.Markers(slices.Clone(tc.markers))}}
			p := makePlan(s)
			if p.action != tc.action || p.reason == "" {
				t.Errorf("%s, because %q; want %s", p.action, p.reason, tc.action)
			}
			if diff := cmp.Diff(tc.entries, p.entries); diff != "" {
				t.Errorf("entries (-want +got):\n%s", diff)
			}
			if name == "ports" && (len(p.unresolved) != 1 || p.unresolved[0].String() != `Probe lost is not run in pod web-0: its container has no port named "grpc"`) {
				t.Errorf("unresolved: %v", p.unresolved)
			}
		})
	}
}

// A marker asks for probes in its own namespace alone, whatever pods elsewhere are called and labelled.
func TestMarkersReachTheirNamespaceAlone(t *testing.T) {
	theirs := altered(newPod("web-0"), func(p *corev1.Pod) { p.Namespace, p.UID = "other", "uid-theirs" })
	marker := newMarker("m", asked("check", "main", exec("check")))
	s := &snapshot{node: newNode("True"), npp: object(), pods: []corev1.Pod{theirs, newPod("web-0")}, markers: map[string][]podprobe.Marker{
		"ns": podprobe.Markers([]v1alpha1.PodProbeMarker{marker}), "other": nil,
	}}
	p := makePlan(s)
	if diff := cmp.Diff([]v1alpha1.PodProbe{entry("web-0", ordered("m#check", exec("check")))}, p.entries); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}
