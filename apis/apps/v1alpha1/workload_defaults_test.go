// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

func TestDefaultDaemonSet(t *testing.T) {
	rows := map[string]struct{ in, want string }{
		"empty": {`{}`, `{"revisionHistoryLimit":10,"burstReplicas":250,"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"rollingUpdateType":"Standard","maxUnavailable":1,"maxSurge":0}}}`},
		"Surging is a surge of one": {`{"updateStrategy":{"rollingUpdate":{"rollingUpdateType":"Surging"}}}`,
			`{"revisionHistoryLimit":10,"burstReplicas":250,"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"rollingUpdateType":"Standard","maxUnavailable":0,"maxSurge":1}}}`},
		"Surging keeps what is set": {`{"updateStrategy":{"rollingUpdate":{"rollingUpdateType":"Surging","maxSurge":"20%","maxUnavailable":2}}}`,
			`{"revisionHistoryLimit":10,"burstReplicas":250,"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"rollingUpdateType":"Standard","maxUnavailable":2,"maxSurge":"20%"}}}`},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			var got, want DaemonSet
			read(t, row.in, &got.Spec)
			read(t, row.want, &want.Spec)
			DefaultDaemonSet(&got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			var up, again v1beta1.DaemonSet
			convertAny(t, &got, &up)
			convertAny(t, &got, &again)
			v1beta1.DefaultDaemonSet(&again)
			if diff := cmp.Diff(up, again); diff != "" {
				t.Errorf("v1beta1 would have filled more:\n%s", diff)
			}
		})
	}
}

func TestDefaultEphemeralJob(t *testing.T) {
	one, none := int32(1), int32(0)
	ttl := int32(1800)
	var got EphemeralJob
	DefaultEphemeralJob(&got)
	if diff := cmp.Diff(EphemeralJobSpec{Parallelism: &one, TTLSecondsAfterFinished: &ttl}, got.Spec); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	set := EphemeralJobSpec{Parallelism: &ttl, TTLSecondsAfterFinished: &none}
	got = EphemeralJob{Spec: *set.DeepCopy()}
	DefaultEphemeralJob(&got)
	if diff := cmp.Diff(set, got.Spec); diff != "" {
		t.Errorf("what was set (-want +got):\n%s", diff)
	}
}
