// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/apis/preserve"
)

// throughOther is one row: an object, what a client of the other version changes in it, and the object
// that comes of it.
type throughOther[From, Other any] struct {
	in, want string
	change   func(*Other)
}

func runThroughOther[From, Other any](t *testing.T, rows map[string]throughOther[From, Other]) {
	t.Helper()
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			var in, got, want From
			var other Other
			read(t, row.in, &in)
			read(t, row.want, &want)
			convertAny(t, &in, &other)
			if row.change != nil {
				row.change(&other)
			}
			convertAny(t, &other, &got)
			if diff := cmp.Diff(wire(t, &want), wire(t, &got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func convertAny(t *testing.T, in, out any) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	if err := scheme.Convert(in, out, nil); err != nil {
		t.Fatal(err)
	}
}

func TestCloneSetThroughOldVersion(t *testing.T) {
	const onDelete = `{"spec":{"updateStrategy":{"type":"OnDelete","rollingUpdate":{"podUpdatePolicy":"InPlaceOnly","partition":3}}}}`
	runThroughOther(t, map[string]throughOther[v1beta1.CloneSet, CloneSet]{
		"rollingUpdate beside OnDelete stays": {in: onDelete, want: onDelete},
		"until another type is chosen": {
			in: onDelete, change: func(other *CloneSet) { other.Spec.UpdateStrategy.Type = RecreateCloneSetUpdateStrategyType },
			want: `{"spec":{"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"podUpdatePolicy":"ReCreate","partition":3}}}}`,
		},
		"excludePreparingDelete stays, whatever else changes": {
			in: `{"spec":{"scaleStrategy":{"excludePreparingDelete":true},"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"podUpdatePolicy":"ReCreate"}}}}`,
			change: func(other *CloneSet) {
				other.Spec.UpdateStrategy.Paused = true
			},
			want: `{"spec":{"scaleStrategy":{"excludePreparingDelete":true},"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"podUpdatePolicy":"ReCreate","paused":true}}}}`,
		},
		"a label that the field denies does not win": {
			in:   `{"metadata":{"labels":{"apps.kruise.io/cloneset-scaling-exclude-preparing-delete":"true"}},"spec":{"updateStrategy":{"type":"OnDelete"}}}`,
			want: `{"metadata":{"labels":{"apps.kruise.io/cloneset-scaling-exclude-preparing-delete":"true"}},"spec":{"updateStrategy":{"type":"OnDelete"}}}`,
		},
		"a leftover annotation does not bring back a field that was cleared, whatever else changes": {
			in: `{"metadata":{"annotations":{"apps.kruise.io/image-predownload-timeout-seconds":"9"}},
				"spec":{"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"podUpdatePolicy":"InPlaceOnly","inPlaceUpdateStrategy":{"gracePeriodSeconds":1}}}}}`,
			change: func(other *CloneSet) { other.Spec.UpdateStrategy.Paused = true },
			want: `{"metadata":{"annotations":{"apps.kruise.io/image-predownload-timeout-seconds":"9"}},
				"spec":{"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"podUpdatePolicy":"InPlaceOnly","paused":true,"inPlaceUpdateStrategy":{"gracePeriodSeconds":1}}}}}`,
		},
		"an annotation that is changed wins over the field": {
			in: `{"spec":{"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"podUpdatePolicy":"InPlaceOnly","inPlaceUpdateStrategy":{"imagePreDownloadTimeoutSeconds":1}}}}}`,
			change: func(other *CloneSet) {
				other.Annotations[v1beta1.ImagePreDownloadTimeoutSecondsKey] = "2"
			},
			want: `{"metadata":{"annotations":{"apps.kruise.io/image-predownload-timeout-seconds":"2"}},
				"spec":{"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"podUpdatePolicy":"InPlaceOnly","inPlaceUpdateStrategy":{"imagePreDownloadTimeoutSeconds":2}}}}}`,
		},
	})
}

func TestOldCloneSetThroughNewVersion(t *testing.T) {
	const onDelete = `{"spec":{"updateStrategy":{"type":"OnDelete","partition":8,"maxSurge":1,"inPlaceUpdateStrategy":{"imagePreDownloadTimeoutSeconds":3}}}}`
	runThroughOther(t, map[string]throughOther[CloneSet, v1beta1.CloneSet]{
		"flat fields beside OnDelete stay": {in: onDelete, want: onDelete},
		"until another type is chosen": {
			in: onDelete, change: func(other *v1beta1.CloneSet) {
				other.Spec.UpdateStrategy.Type = v1beta1.CloneSetRollingUpdateStrategyType
			},
			want: `{"spec":{"updateStrategy":{"type":"ReCreate"}}}`,
		},
	})
}

func TestStatefulSetThroughOldVersion(t *testing.T) {
	const full = `{"spec":{"selector":null,"template":{},"reserveOrdinals":[1,"3-4"],"lifecycle":{"preDelete":{"finalizersHandler":["a/b"]}},"scaleStrategy":{"maxUnavailable":2},
		"ordinals":{"start":5},"persistentVolumeClaimRetentionPolicy":{"whenScaled":"Delete"},"volumeClaimUpdateStrategy":{"type":"OnPodRollingUpdate"}},
		"status":{"replicas":3,"updatedReadyReplicas":2,"volumeClaims":[{"volumeClaimName":"v","compatibleReplicas":1,"compatibleReadyReplicas":1}]}}`
	runThroughOther(t, map[string]throughOther[v1beta1.StatefulSet, StatefulSet]{
		"what only v1beta1 has stays": {in: full, want: full},
		"a copy starts without a status": {
			in:     `{"spec":{"ordinals":{"start":5}},"status":{"replicas":3,"updatedReadyReplicas":2}}`,
			change: func(other *StatefulSet) { other.Status = StatefulSetStatus{} },
			want:   `{"spec":{"ordinals":{"start":5}}}`,
		},
		"what both have is v1alpha1's to change": {
			in:     `{"spec":{"replicas":1,"ordinals":{"start":5}}}`,
			change: func(other *StatefulSet) { other.Spec.Replicas = nil },
			want:   `{"spec":{"ordinals":{"start":5}}}`,
		},
	})
}

func TestDaemonSetThroughOldVersion(t *testing.T) {
	const progressive, denied = `{"spec":{"scaleStrategy":{"partitionedScaling":true}}}`,
		`{"metadata":{"annotations":{"daemonset.kruise.io/progressive-create-pod":"true"}},"spec":{"scaleStrategy":{}}}`
	runThroughOther(t, map[string]throughOther[v1beta1.DaemonSet, DaemonSet]{
		"the field leaves no annotation behind":     {in: progressive, want: progressive},
		"an annotation does not undo a field of no": {in: denied, want: denied},
		"taking the annotation out clears the field": {
			in:     progressive,
			change: func(other *DaemonSet) { delete(other.Annotations, v1beta1.DaemonSetProgressiveCreatePod) },
			want:   `{}`,
		},
	})
}

func TestDaemonSetUp(t *testing.T) {
	runShown[DaemonSet, v1beta1.DaemonSet](t, map[string]conversionCase{
		"Surging is Standard": {
			in:   `{"spec":{"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"rollingUpdateType":"Surging","maxSurge":2}}}}`,
			want: `{"spec":{"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"rollingUpdateType":"Standard","maxSurge":2}}}}`,
		},
		"the annotation becomes the field and stays": {
			in:   `{"metadata":{"annotations":{"daemonset.kruise.io/progressive-create-pod":"true"}}}`,
			want: `{"metadata":{"annotations":{"daemonset.kruise.io/progressive-create-pod":"true"}},"spec":{"scaleStrategy":{"partitionedScaling":true}}}`,
		},
		"any other value does not": {
			in:   `{"metadata":{"annotations":{"daemonset.kruise.io/progressive-create-pod":"True"}}}`,
			want: `{"metadata":{"annotations":{"daemonset.kruise.io/progressive-create-pod":"True"}}}`,
		},
		"the hash is renamed": {in: `{"status":{"daemonSetHash":"h"}}`, want: `{"status":{"updateRevision":"h"}}`},
	})
	runShown[v1beta1.DaemonSet, DaemonSet](t, map[string]conversionCase{
		"partitionedScaling": {
			in:   `{"spec":{"scaleStrategy":{"partitionedScaling":true}},"status":{"updateRevision":"h"}}`,
			want: `{"metadata":{"annotations":{"daemonset.kruise.io/progressive-create-pod":"true"}},"status":{"daemonSetHash":"h"}}`,
		},
	})
}

func TestAdvancedCronJobThroughOldVersion(t *testing.T) {
	const pulls = `{"spec":{"schedule":"@daily","template":{"imageListPullJobTemplate":{"metadata":{"labels":{"a":"b"}},"spec":{"images":["a:1"],"completionPolicy":{"type":"Always"}}}}}}`
	runThroughOther(t, map[string]throughOther[v1beta1.AdvancedCronJob, AdvancedCronJob]{
		"imageListPullJobTemplate stays, whatever else changes": {
			in:     pulls,
			change: func(other *AdvancedCronJob) { other.Spec.Schedule = "@daily" },
			want:   pulls,
		},
	})
}

func TestRenames(t *testing.T) {
	runConversions[PersistentPodState, v1beta1.PersistentPodState](t, map[string]conversionCase{"keys": {
		in:   `{"spec":{"requiredPersistentTopology":{"nodeTopologyKeys":["a"]},"preferredPersistentTopology":[{"weight":100,"preference":{"nodeTopologyKeys":["b"]}}]}}`,
		want: `{"spec":{"requiredPersistentTopology":{"keys":["a"]},"preferredPersistentTopology":[{"weight":100,"preference":{"keys":["b"]}}]}}`,
	}})
	runConversions[ResourceDistribution, v1beta1.ResourceDistribution](t, map[string]conversionCase{"selector and failed namespaces": {
		in: `{"spec":{"resource":{"kind":"Secret"},"targets":{"namespaceLabelSelector":{"matchLabels":{"a":"b"}},"includedNamespaces":{"list":[{"name":"n"}]}}},
			"status":{"conditions":[{"type":"ConflictOccurred","status":"True","failedNamespace":["n"]}]}}`,
		want: `{"spec":{"resource":{"kind":"Secret"},"targets":{"namespaceSelector":{"matchLabels":{"a":"b"}},"includedNamespaces":{"list":[{"name":"n"}]}}},
			"status":{"conditions":[{"type":"ConflictOccurred","status":"True","failedNamespaces":["n"]}]}}`,
	}})
	runShown[WorkloadSpread, v1beta1.WorkloadSpread](t, map[string]conversionCase{"node selectors, and a reason for a condition without": {
		in: `{"spec":{"subsets":[{"name":"a","requiredNodeSelectorTerm":{"matchExpressions":[{"key":"k","operator":"Exists"}]},"preferredNodeSelectorTerms":[{"weight":1,"preference":{}}]}]},
			"status":{"subsetStatuses":[{"name":"a","conditions":[{"type":"Schedulable","status":"True"}]}],"versionedSubsetStatuses":{"v":[{"name":"a","replicas":2}],"w":null}}}`,
		want: `{"spec":{"subsets":[{"name":"a","requiredNodeSelector":{"matchExpressions":[{"key":"k","operator":"Exists"}]},"preferredNodeSelector":[{"weight":1,"preference":{}}]}]},
			"status":{"subsetStatuses":[{"name":"a","conditions":[{"type":"Schedulable","status":"True","reason":"Unknown"}]}],"versionedSubsetStatuses":{"v":[{"name":"a","replicas":2}],"w":null}}}`,
	}})
}

// Objects that say nothing that only one version can say carry nothing.
func TestNothingIsKeptWithoutNeed(t *testing.T) {
	const status = `"status":{"observedGeneration":1,"replicas":3}`
	for _, row := range []struct {
		in  string
		obj any
		to  any
	}{
		{`{"spec":{"replicas":1,"updateStrategy":{"type":"ReCreate","partition":0}},` + status + `}`, &CloneSet{}, &v1beta1.CloneSet{}},
		{`{"spec":{}}`, &v1beta1.CloneSet{}, &CloneSet{}},
		{`{"spec":{"replicas":1},` + status + `}`, &v1beta1.StatefulSet{}, &StatefulSet{}},
		{`{"spec":{"updateStrategy":{"rollingUpdate":{"rollingUpdateType":"Standard"}}}}`, &v1beta1.DaemonSet{}, &DaemonSet{}},
		{`{"spec":{},"status":{"subsetStatuses":[{"name":"a","replicas":1}],"updatedRevision":"r"}}`, &v1beta1.UnitedDeployment{}, &UnitedDeployment{}},
		{`{"status":{"subsetStatuses":[{"name":"a","conditions":[{"type":"Schedulable","status":"True","reason":"Sufficient"}]}]}}`, &v1beta1.WorkloadSpread{}, &WorkloadSpread{}},
	} {
		read(t, row.in, row.obj)
		convertAny(t, row.obj, row.to)
		var sent struct {
			Metadata struct{ Annotations map[string]string }
		}
		if err := json.Unmarshal([]byte(wire(t, row.to)), &sent); err != nil {
			t.Fatal(err)
		}
		if text, present := sent.Metadata.Annotations[preserve.Annotation]; present {
			t.Errorf("%T %s keeps %s", row.obj, row.in, text)
		}
	}
}
