// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package uniteddeployment

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestWhereElse(t *testing.T) {
	zone := func(values ...string) *corev1.Affinity {
		return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
				{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: values},
			}}},
		}}}
	}
	tainted := []corev1.Toleration{{Key: "virtual", Operator: corev1.TolerationOpExists}}
	const affinity, tolerations = "the affinity has changed", "the tolerations have changed"
	for name, tc := range map[string]struct {
		live, want corev1.PodSpec
		reason     string
	}{
		"nothing":       {corev1.PodSpec{}, corev1.PodSpec{}, ""},
		"equal":         {corev1.PodSpec{Affinity: zone("a"), Tolerations: tainted}, corev1.PodSpec{Affinity: zone("a"), Tolerations: tainted}, ""},
		"empty parts":   {corev1.PodSpec{Tolerations: []corev1.Toleration{}}, corev1.PodSpec{Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}, PodAntiAffinity: &corev1.PodAntiAffinity{}}}, ""},
		"other parts":   {corev1.PodSpec{Affinity: zone("a"), SchedulerName: "x"}, corev1.PodSpec{Affinity: zone("a")}, ""},
		"another zone":  {corev1.PodSpec{Affinity: zone("a")}, corev1.PodSpec{Affinity: zone("a", "b")}, affinity},
		"no zone":       {corev1.PodSpec{Affinity: zone("a")}, corev1.PodSpec{}, affinity},
		"a taint":       {corev1.PodSpec{Affinity: zone("a")}, corev1.PodSpec{Affinity: zone("a"), Tolerations: tainted}, tolerations},
		"both":          {corev1.PodSpec{}, corev1.PodSpec{Affinity: zone("a"), Tolerations: tainted}, affinity + ", " + tolerations},
		"pods together": {corev1.PodSpec{}, corev1.PodSpec{Affinity: &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: "x"}}}}}, affinity},
	} {
		t.Run(name, func(t *testing.T) {
			if got := whereElse(&tc.live, &tc.want); got != tc.reason {
				t.Errorf("got %q, want %q", got, tc.reason)
			}
		})
	}
}
