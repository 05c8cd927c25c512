// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fakenodes

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-sh/flotilla/hack/clusters/state"
)

func TestKwokConfigIsWhole(t *testing.T) {
	config, err := kwokConfig(3)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for doc := range bytes.SplitSeq(config, []byte("---\n")) {
		var stage struct {
			Metadata metav1.ObjectMeta `json:"metadata"`
		}
		if err := yaml.Unmarshal(doc, &stage); err != nil {
			t.Fatalf("%v in\n%s", err, doc)
		}
		names = append(names, stage.Metadata.Name)
	}
	want := []string{"", "node-ready", "node-not-ready", "pod-sync", "pod-wake", "pod-complete", "pod-stop", "pod-stop-again"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
	if ref := fileRE.Find(config); ref != nil {
		t.Errorf("%s was not resolved", ref)
	}
	if !strings.Contains(string(config), "restartCount") {
		t.Error("the template of statuses is missing")
	}
}

func TestAReferenceToNoFileIsAnError(t *testing.T) {
	if _, err := resolveDocument([]byte("spec: {list: [{template: '@no-such.gotpl'}]}")); err == nil {
		t.Error("no error")
	}
}

func TestNodesHaveZonesInTurnAndTheirOwnAddress(t *testing.T) {
	nodes := wantedNodes(0, state.Options{FakeNodes: 4, Zones: []string{"x", "y"}}, 2)
	zones, addresses := "", map[string]bool{}
	for n := 1; n <= 4; n++ {
		node := nodes[state.FakeNodeName(2, n)]
		zones += node.Labels[corev1.LabelTopologyZone]
		addresses[node.Status.Addresses[0].Address] = true
		if node.Labels[corev1.LabelTopologyRegion] != "region-2" {
			t.Errorf("%s is in %s", node.Name, node.Labels[corev1.LabelTopologyRegion])
		}
	}
	if zones != "xyxy" || len(addresses) != 4 {
		t.Errorf("zones %s, addresses %v", zones, addresses)
	}
}

func TestIsBehind(t *testing.T) {
	now := metav1.Now()
	for name, c := range map[string]struct {
		pod  corev1.Pod
		want bool
	}{
		"never seen":     {corev1.Pod{ObjectMeta: metav1.ObjectMeta{Generation: 1}}, true},
		"seen":           {corev1.Pod{ObjectMeta: metav1.ObjectMeta{Generation: 2}, Status: corev1.PodStatus{ObservedGeneration: 2}}, false},
		"changed since":  {corev1.Pod{ObjectMeta: metav1.ObjectMeta{Generation: 3}, Status: corev1.PodStatus{ObservedGeneration: 2}}, true},
		"finished":       {corev1.Pod{ObjectMeta: metav1.ObjectMeta{Generation: 3}, Status: corev1.PodStatus{Phase: corev1.PodFailed}}, false},
		"deleted":        {corev1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &now}}, true},
		"held by others": {corev1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &now, Finalizers: []string{"a/b"}}}, false},
		"ends by and by": {corev1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &now, Annotations: map[string]string{"fake.flotilla.sh/stop-delay": "9s"}}}, false},
	} {
		if got := isBehind(&c.pod); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
