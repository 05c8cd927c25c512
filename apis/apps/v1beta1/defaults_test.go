// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"math/rand"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/yaml"
)

func TestDefaultCloneSet(t *testing.T) {
	cases := map[string]struct {
		in, want string
		opts     DefaultOptions
	}{
		"empty": {in: `{}`, want: `{replicas: 1, revisionHistoryLimit: 10,
			updateStrategy: {type: RollingUpdate, rollingUpdate: {podUpdatePolicy: ReCreate, partition: 0, maxUnavailable: 20%, maxSurge: 0}}}`},
		"on delete has nothing below": {in: `{updateStrategy: {type: OnDelete}}`,
			want: `{replicas: 1, revisionHistoryLimit: 10, updateStrategy: {type: OnDelete}}`},
		"in place gets a strategy": {in: `{updateStrategy: {rollingUpdate: {podUpdatePolicy: InPlaceOnly}}}`,
			want: `{replicas: 1, revisionHistoryLimit: 10,
			updateStrategy: {type: RollingUpdate, rollingUpdate: {podUpdatePolicy: InPlaceOnly, partition: 0, maxUnavailable: 20%, maxSurge: 0, inPlaceUpdateStrategy: {}}}}`},
		"what is set stays": {
			in: `{replicas: 0, revisionHistoryLimit: 0, updateStrategy: {type: RollingUpdate,
			rollingUpdate: {podUpdatePolicy: InPlaceIfPossible, partition: 50%, maxUnavailable: 0, maxSurge: 1, inPlaceUpdateStrategy: {gracePeriodSeconds: 3}}}}`,
			want: `{replicas: 0, revisionHistoryLimit: 0, updateStrategy: {type: RollingUpdate,
			rollingUpdate: {podUpdatePolicy: InPlaceIfPossible, partition: 50%, maxUnavailable: 0, maxSurge: 1, inPlaceUpdateStrategy: {gracePeriodSeconds: 3}}}}`},
		"templates on request": {
			in:   `{volumeClaimTemplates: [{metadata: {name: a}}], updateStrategy: {type: OnDelete}}`,
			opts: DefaultOptions{Templates: true},
			want: `{replicas: 1, revisionHistoryLimit: 10, updateStrategy: {type: OnDelete},
			template: {spec: {dnsPolicy: ClusterFirst, restartPolicy: Always, schedulerName: default-scheduler, securityContext: {}, terminationGracePeriodSeconds: 30}},
			volumeClaimTemplates: [{metadata: {name: a}, spec: {volumeMode: Filesystem}, status: {phase: Pending}}]}`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, want := CloneSet{}, CloneSet{}
			parse(t, c.in, &got.Spec)
			parse(t, c.want, &want.Spec)
			DefaultCloneSet(&got, c.opts)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestDefaultUnitedDeployment(t *testing.T) {
	const filled = `replicas: 1, revisionHistoryLimit: 10, updateStrategy: {type: Manual, manualUpdate: {}}`
	cases := map[string]struct {
		in, want string
		opts     DefaultOptions
	}{
		"empty": {in: `{}`, want: `{` + filled + `}`},
		"another update strategy gets no manualUpdate": {in: `{updateStrategy: {type: Other}}`,
			want: `{replicas: 1, revisionHistoryLimit: 10, updateStrategy: {type: Other}}`},
		"one bound gives every subset a minimum": {in: `{topology: {subsets: [{name: a, maxReplicas: 3}, {name: b}]}}`,
			want: `{` + filled + `, topology: {subsets: [{name: a, minReplicas: 0, maxReplicas: 3}, {name: b, minReplicas: 0}]}}`},
		"no bound, no minimum": {in: `{topology: {subsets: [{name: a}, {name: b}]}}`,
			want: `{` + filled + `, topology: {subsets: [{name: a}, {name: b}]}}`},
		"a fixed number, no minimum": {in: `{topology: {subsets: [{name: a, replicas: 3}, {name: b, maxReplicas: 1}]}}`,
			want: `{` + filled + `, topology: {subsets: [{name: a, replicas: 3}, {name: b, maxReplicas: 1}]}}`},
		"templates: statefulSetTemplate only": {
			opts: DefaultOptions{Templates: true},
			in:   `{template: {statefulSetTemplate: {spec: {volumeClaimTemplates: [{}]}}, cloneSetTemplate: {spec: {}}, deploymentTemplate: {spec: {}}}}`,
			want: `{` + filled + `, template: {statefulSetTemplate: {spec: {
				template: {spec: {dnsPolicy: ClusterFirst, restartPolicy: Always, schedulerName: default-scheduler, securityContext: {}, terminationGracePeriodSeconds: 30}},
				volumeClaimTemplates: [{spec: {volumeMode: Filesystem}, status: {phase: Pending}}]}}, cloneSetTemplate: {spec: {}}, deploymentTemplate: {spec: {}}}}`},
		"no templates": {in: `{template: {statefulSetTemplate: {spec: {}}}}`, want: `{` + filled + `, template: {statefulSetTemplate: {spec: {}}}}`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, want := UnitedDeployment{}, UnitedDeployment{}
			parse(t, c.in, &got.Spec)
			parse(t, c.want, &want.Spec)
			DefaultUnitedDeployment(&got, c.opts)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestDefaultStoredUnitedDeployment(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		want *int32
	}{
		"numbers make up the total": {`{topology: {subsets: [{name: a, replicas: 3}, {name: b, replicas: 3}]}}`, nil},
		"one takes the rest":        {`{topology: {subsets: [{name: a, replicas: 3}, {name: b}]}}`, new(int32(1))},
		"a percentage":              {`{topology: {subsets: [{name: a, replicas: 100%}]}}`, new(int32(1))},
		"no subsets":                {`{}`, new(int32(1))},
		"a total":                   {`{replicas: 6, topology: {subsets: [{name: a, replicas: 3}, {name: b, replicas: 3}]}}`, new(int32(6))},
	} {
		t.Run(name, func(t *testing.T) {
			got := UnitedDeploymentSpec{}
			parse(t, c.in, &got)
			DefaultStoredUnitedDeploymentSpec(&got)
			if diff := cmp.Diff(c.want, got.Replicas); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got.RevisionHistoryLimit == nil {
				t.Error("the rest is not filled in")
			}
		})
	}
}

// A second time changes nothing, whatever the object.
func TestDefaultsAreIdempotent(t *testing.T) {
	opts := DefaultOptions{Templates: true}
	t.Run("AdvancedCronJob", idempotent(func(o *AdvancedCronJob) { DefaultAdvancedCronJob(o, opts) }))
	t.Run("BroadcastJob", idempotent(func(o *BroadcastJob) { DefaultBroadcastJob(o, opts) }))
	t.Run("DaemonSet", idempotent(DefaultDaemonSet))
	t.Run("StatefulSet", idempotent(func(o *StatefulSet) {
		DefaultStatefulSet(o, StatefulSetDefaultOptions{DefaultOptions: opts, AutoDeletePVC: true, AutoResizePVC: true})
	}))
	t.Run("CloneSet", idempotent(func(o *CloneSet) { DefaultCloneSet(o, opts) }))
	t.Run("UnitedDeployment", idempotent(func(o *UnitedDeployment) { DefaultUnitedDeployment(o, opts) }))
}

func idempotent[T any](fill func(*T)) func(*testing.T) {
	return func(t *testing.T) {
		scheme := runtime.NewScheme() // raw fields are filled with objects of the scheme
		if err := AddToScheme(scheme); err != nil {
			t.Fatal(err)
		}
		seed := rand.Int63()
		filler := fuzzer.FuzzerFor(metafuzzer.Funcs, rand.NewSource(seed), serializer.NewCodecFactory(scheme))
		for range 200 {
			var obj T
			filler.Fill(&obj)
			fill(&obj)
			once := any(&obj).(runtime.Object).DeepCopyObject()
			fill(&obj)
			if diff := cmp.Diff(once, any(&obj)); diff != "" {
				t.Fatalf("seed %d (-once +twice):\n%s", seed, diff)
			}
		}
	}
}

func TestTemplatesChanged(t *testing.T) {
	a, b := &SubsetTemplate{}, &SubsetTemplate{DeploymentTemplate: &DeploymentTemplateSpec{}}
	if !TemplatesChanged(nil, a) || !TemplatesChanged(a, b) || TemplatesChanged(b, b.DeepCopy()) {
		t.Error("new and changed templates are filled, others are not")
	}
}

func parse(t *testing.T, text string, into any) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(text), into); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
}
