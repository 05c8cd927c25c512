// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
)

func TestTolerates(t *testing.T) {
	noSelect := clusterv1.Taint{Key: "k", Value: "v", Effect: "NoSelect", TimeAdded: metav1.NewTime(now.Add(-10 * time.Second))}
	other := clusterv1.Taint{Key: "other", Effect: "NoSelect", TimeAdded: metav1.NewTime(now)}
	unstamped := clusterv1.Taint{Key: "k", Value: "v", Effect: "NoSelect"}
	ifNew := clusterv1.Taint{Key: "k", Value: "v", Effect: "NoSelectIfNew", TimeAdded: noSelect.TimeAdded}
	type toleration = clusterv1beta1.Toleration
	tests := map[string]struct {
		taints      []clusterv1.Taint
		tolerations []toleration
		selected    bool
		kept        bool
		until       time.Time
	}{
		"no taint":                      {kept: true},
		"no toleration":                 {taints: []clusterv1.Taint{noSelect}},
		"NoSelect does not spare":       {taints: []clusterv1.Taint{noSelect}, selected: true},
		"PreferNoSelect only prefers":   {taints: []clusterv1.Taint{{Key: "k", Effect: "PreferNoSelect"}}, kept: true},
		"NoSelectIfNew, new":            {taints: []clusterv1.Taint{ifNew}},
		"NoSelectIfNew, selected":       {taints: []clusterv1.Taint{ifNew}, selected: true, kept: true},
		"equal":                         {taints: []clusterv1.Taint{noSelect}, tolerations: []toleration{{Key: "k", Value: "v", Operator: "Equal"}}, kept: true},
		"equal is the default":          {taints: []clusterv1.Taint{noSelect}, tolerations: []toleration{{Key: "k", Value: "v"}}, kept: true},
		"another value":                 {taints: []clusterv1.Taint{noSelect}, tolerations: []toleration{{Key: "k", Value: "w"}}},
		"exists minds no value":         {taints: []clusterv1.Taint{noSelect}, tolerations: []toleration{{Key: "k", Operator: "Exists"}}, kept: true},
		"exists with another key":       {taints: []clusterv1.Taint{noSelect}, tolerations: []toleration{{Key: "l", Operator: "Exists"}}},
		"no key, exists":                {taints: []clusterv1.Taint{noSelect, other}, tolerations: []toleration{{Operator: "Exists"}}, kept: true},
		"no key, equal":                 {taints: []clusterv1.Taint{noSelect}, tolerations: []toleration{{Value: "v"}}},
		"another effect":                {taints: []clusterv1.Taint{noSelect}, tolerations: []toleration{{Operator: "Exists", Effect: "NoSelectIfNew"}}},
		"one of two taints":             {taints: []clusterv1.Taint{noSelect, other}, tolerations: []toleration{{Key: "k", Operator: "Exists"}}},
		"for a while":                   {taints: []clusterv1.Taint{noSelect}, tolerations: []toleration{{Operator: "Exists", TolerationSeconds: ptr.To[int64](11)}}, kept: true, until: now.Add(time.Second)},
		"no longer":                     {taints: []clusterv1.Taint{noSelect}, tolerations: []toleration{{Operator: "Exists", TolerationSeconds: ptr.To[int64](10)}}},
		"the longest counts":            {taints: []clusterv1.Taint{noSelect}, tolerations: []toleration{{Operator: "Exists", TolerationSeconds: ptr.To[int64](20)}, {Operator: "Exists", TolerationSeconds: ptr.To[int64](5)}}, kept: true, until: now.Add(10 * time.Second)},
		"the first to end counts":       {taints: []clusterv1.Taint{noSelect, other}, tolerations: []toleration{{Operator: "Exists", TolerationSeconds: ptr.To[int64](20)}}, kept: true, until: now.Add(10 * time.Second)},
		"a taint without a time is old": {taints: []clusterv1.Taint{unstamped}, tolerations: []toleration{{Operator: "Exists", TolerationSeconds: ptr.To[int64](300)}}},
		"seconds mean nothing here":     {taints: []clusterv1.Taint{ifNew}, tolerations: []toleration{{Operator: "Exists", TolerationSeconds: ptr.To[int64](1)}}, kept: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			kept, until := tolerates(tt.taints, tt.tolerations, tt.selected, now)
			if kept != tt.kept || !until.Equal(tt.until) {
				t.Errorf("kept %v until %v, want %v until %v", kept, until, tt.kept, tt.until)
			}
		})
	}
}
