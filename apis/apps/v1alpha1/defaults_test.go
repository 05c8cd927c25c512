// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

func TestDefaultCloneSet(t *testing.T) {
	const podDefaults = `{"spec":{"dnsPolicy":"ClusterFirst","restartPolicy":"Always","schedulerName":"default-scheduler","securityContext":{},"terminationGracePeriodSeconds":30}}`
	cases := map[string]struct {
		in, want string
		opts     v1beta1.DefaultOptions
	}{
		"empty":     {in: `{}`, want: `{"replicas":1,"revisionHistoryLimit":10,"updateStrategy":{"type":"ReCreate","partition":0,"maxUnavailable":"20%","maxSurge":0}}`},
		"on delete": {in: `{"updateStrategy":{"type":"OnDelete"}}`, want: `{"replicas":1,"revisionHistoryLimit":10,"updateStrategy":{"type":"OnDelete"}}`},
		"in place": {in: `{"updateStrategy":{"type":"InPlaceIfPossible","partition":8}}`,
			want: `{"replicas":1,"revisionHistoryLimit":10,"updateStrategy":{"type":"InPlaceIfPossible","partition":8,"maxUnavailable":"20%","maxSurge":0,"inPlaceUpdateStrategy":{}}}`},
		"templates": {in: `{"updateStrategy":{"type":"OnDelete"},"volumeClaimTemplates":[{}]}`, opts: v1beta1.DefaultOptions{Templates: true},
			want: `{"replicas":1,"revisionHistoryLimit":10,"updateStrategy":{"type":"OnDelete"},"template":` + podDefaults + `,
				"volumeClaimTemplates":[{"spec":{"volumeMode":"Filesystem"},"status":{"phase":"Pending"}}]}`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, want := CloneSet{}, CloneSet{}
			read(t, c.in, &got.Spec)
			read(t, c.want, &want.Spec)
			DefaultCloneSet(&got, c.opts)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// What an object gets does not depend on the version it was sent in.
func TestDefaultsAgreeBetweenVersions(t *testing.T) {
	for _, in := range []string{
		`{}`, `{"updateStrategy":{"type":"OnDelete"}}`, `{"updateStrategy":{"type":"InPlaceOnly","maxSurge":1}}`,
		`{"updateStrategy":{"type":"InPlaceIfPossible","inPlaceUpdateStrategy":{"gracePeriodSeconds":1}}}`,
	} {
		var sent CloneSet
		var plain, defaulted v1beta1.CloneSet
		read(t, in, &sent.Spec)
		convert(t, sent.DeepCopy(), &plain)
		v1beta1.DefaultCloneSet(&plain, v1beta1.DefaultOptions{Templates: true})
		DefaultCloneSet(&sent, v1beta1.DefaultOptions{Templates: true})
		convert(t, &sent, &defaulted)
		if diff := cmp.Diff(plain, defaulted); diff != "" {
			t.Errorf("%s (-v1beta1 +v1alpha1):\n%s", in, diff)
		}
	}
}

func convert(t *testing.T, in *CloneSet, out *v1beta1.CloneSet) {
	t.Helper()
	if err := Convert_v1alpha1_CloneSet_To_v1beta1_CloneSet(in, out, nil); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatal(err)
	}
}
