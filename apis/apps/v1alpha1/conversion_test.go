// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/apis/preserve"
)

// conversionCase is one row: an object of one version and the same object in the other.
type conversionCase struct{ in, want string }

// runConversions reads each row as JSON, as the webhook does, and compares every field.
func runConversions[From, To any](t *testing.T, cases map[string]conversionCase) {
	t.Helper()
	runRows[From, To](t, cases, func(any) {})
}

// runShown is runConversions without what is kept for the way back.
func runShown[From, To any](t *testing.T, cases map[string]conversionCase) {
	t.Helper()
	runRows[From, To](t, cases, func(got any) {
		meta, err := apimeta.Accessor(got)
		if err != nil {
			t.Fatal(err)
		}
		meta.SetAnnotations(preserve.Without(meta.GetAnnotations(), preserve.Annotation))
	})
}

func runRows[From, To any](t *testing.T, cases map[string]conversionCase, prepare func(any)) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var in From
			var got, want To
			if err := json.Unmarshal([]byte(c.in), &in); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(c.want), &want); err != nil {
				t.Fatal(err)
			}
			if err := scheme.Convert(&in, &got, nil); err != nil {
				t.Fatal(err)
			}
			prepare(&got)
			if diff := cmp.Diff(&want, &got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestCloneSetUp(t *testing.T) {
	runShown[CloneSet, v1beta1.CloneSet](t, map[string]conversionCase{
		"nothing set: claims are reused, pods recreated": {
			in:   `{}`,
			want: `{"spec":{"scaleStrategy":{"enablePVCReuse":true},"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"podUpdatePolicy":"ReCreate"}}}}`,
		},
		"disablePVCReuse": {
			in:   `{"spec":{"scaleStrategy":{"disablePVCReuse":true}}}`,
			want: `{"spec":{"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"podUpdatePolicy":"ReCreate"}}}}`,
		},
		"the label becomes excludePreparingDelete": {
			in: `{"metadata":{"labels":{"apps.kruise.io/cloneset-scaling-exclude-preparing-delete":"true"}},"spec":{"updateStrategy":{"type":"ReCreate"}}}`,
			want: `{"metadata":{"labels":{"apps.kruise.io/cloneset-scaling-exclude-preparing-delete":"true"}},
				"spec":{"scaleStrategy":{"enablePVCReuse":true,"excludePreparingDelete":true},"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"podUpdatePolicy":"ReCreate"}}}}`,
		},
		"any other value of the label does not": {
			in: `{"metadata":{"labels":{"apps.kruise.io/cloneset-scaling-exclude-preparing-delete":"True"}},"spec":{"updateStrategy":{"type":"ReCreate"}}}`,
			want: `{"metadata":{"labels":{"apps.kruise.io/cloneset-scaling-exclude-preparing-delete":"True"}},
				"spec":{"scaleStrategy":{"enablePVCReuse":true},"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"podUpdatePolicy":"ReCreate"}}}}`,
		},
		"in place, every flat field": {
			in: `{"spec":{"updateStrategy":{"type":"InPlaceIfPossible","partition":8,"maxUnavailable":"20%","maxSurge":1,"paused":true,
				"priorityStrategy":{"orderPriority":[{"orderedKey":"k"}]},"scatterStrategy":[{"key":"a","value":"b"}],"inPlaceUpdateStrategy":{"gracePeriodSeconds":5}}}}`,
			want: `{"spec":{"scaleStrategy":{"enablePVCReuse":true},"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"podUpdatePolicy":"InPlaceIfPossible",
				"partition":8,"maxUnavailable":"20%","maxSurge":1,"paused":true,"priorityStrategy":{"orderPriority":[{"orderedKey":"k"}]},
				"scatterStrategy":[{"key":"a","value":"b"}],"inPlaceUpdateStrategy":{"gracePeriodSeconds":5}}}}}`,
		},
		"in place only": {
			in:   `{"spec":{"updateStrategy":{"type":"InPlaceOnly"}}}`,
			want: `{"spec":{"scaleStrategy":{"enablePVCReuse":true},"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"podUpdatePolicy":"InPlaceOnly"}}}}`,
		},
		"on delete drops the flat fields": {
			in:   `{"spec":{"updateStrategy":{"type":"OnDelete","partition":8,"maxSurge":1}}}`,
			want: `{"spec":{"scaleStrategy":{"enablePVCReuse":true},"updateStrategy":{"type":"OnDelete"}}}`,
		},
		"an unknown type recreates": {
			in:   `{"spec":{"updateStrategy":{"type":"Sideways"}}}`,
			want: `{"spec":{"scaleStrategy":{"enablePVCReuse":true},"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"podUpdatePolicy":"ReCreate"}}}}`,
		},
		"pre-download annotations become fields and stay": {
			in: `{"metadata":{"annotations":{"apps.kruise.io/image-predownload-parallelism":"10%","apps.kruise.io/image-predownload-timeout-seconds":"60",
				"apps.kruise.io/image-predownload-min-updated-ready-pods":"x"}},"spec":{"updateStrategy":{"type":"InPlaceOnly"}}}`,
			want: `{"metadata":{"annotations":{"apps.kruise.io/image-predownload-parallelism":"10%","apps.kruise.io/image-predownload-timeout-seconds":"60",
				"apps.kruise.io/image-predownload-min-updated-ready-pods":"x"}},"spec":{"scaleStrategy":{"enablePVCReuse":true},"updateStrategy":{"type":"RollingUpdate",
				"rollingUpdate":{"podUpdatePolicy":"InPlaceOnly","inPlaceUpdateStrategy":{"imagePreDownloadParallelism":"10%","imagePreDownloadTimeoutSeconds":60}}}}}`,
		},
		"annotations stand above the fields": {
			in: `{"metadata":{"annotations":{"apps.kruise.io/image-predownload-parallelism":"3"}},
				"spec":{"updateStrategy":{"type":"InPlaceOnly","inPlaceUpdateStrategy":{"gracePeriodSeconds":1,"imagePreDownloadParallelism":1,"imagePreDownloadTimeoutSeconds":9}}}}`,
			want: `{"metadata":{"annotations":{"apps.kruise.io/image-predownload-parallelism":"3"}},"spec":{"scaleStrategy":{"enablePVCReuse":true},"updateStrategy":{"type":"RollingUpdate",
				"rollingUpdate":{"podUpdatePolicy":"InPlaceOnly","inPlaceUpdateStrategy":{"gracePeriodSeconds":1,"imagePreDownloadParallelism":3,"imagePreDownloadTimeoutSeconds":9}}}}}`,
		},
		"an empty or broken annotation sets nothing": {
			in: `{"metadata":{"annotations":{"apps.kruise.io/image-predownload-parallelism":"","apps.kruise.io/image-predownload-timeout-seconds":"soon"}}}`,
			want: `{"metadata":{"annotations":{"apps.kruise.io/image-predownload-parallelism":"","apps.kruise.io/image-predownload-timeout-seconds":"soon"}},
				"spec":{"scaleStrategy":{"enablePVCReuse":true},"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"podUpdatePolicy":"ReCreate"}}}}`,
		},
	})
}

func TestCloneSetDown(t *testing.T) {
	runShown[v1beta1.CloneSet, CloneSet](t, map[string]conversionCase{
		"nothing set: claims are not reused, pods recreated": {
			in:   `{}`,
			want: `{"spec":{"scaleStrategy":{"disablePVCReuse":true},"updateStrategy":{"type":"ReCreate"}}}`,
		},
		"excludePreparingDelete is not written back": {
			in:   `{"spec":{"scaleStrategy":{"enablePVCReuse":true,"excludePreparingDelete":true}}}`,
			want: `{"spec":{"updateStrategy":{"type":"ReCreate"}}}`,
		},
		"on delete": {
			in:   `{"spec":{"scaleStrategy":{"enablePVCReuse":true},"updateStrategy":{"type":"OnDelete"}}}`,
			want: `{"spec":{"updateStrategy":{"type":"OnDelete"}}}`,
		},
		"an unknown policy recreates": {
			in:   `{"spec":{"scaleStrategy":{"enablePVCReuse":true},"updateStrategy":{"rollingUpdate":{"podUpdatePolicy":"Sideways","partition":"50%"}}}}`,
			want: `{"spec":{"updateStrategy":{"type":"ReCreate","partition":"50%"}}}`,
		},
		"an empty in-place strategy is none": {
			in:   `{"spec":{"scaleStrategy":{"enablePVCReuse":true},"updateStrategy":{"rollingUpdate":{"podUpdatePolicy":"InPlaceIfPossible","inPlaceUpdateStrategy":{}}}}}`,
			want: `{"spec":{"updateStrategy":{"type":"InPlaceIfPossible"}}}`,
		},
		"pre-download fields become annotations": {
			in: `{"spec":{"scaleStrategy":{"enablePVCReuse":true},"updateStrategy":{"rollingUpdate":{"podUpdatePolicy":"InPlaceOnly","inPlaceUpdateStrategy":{
				"imagePreDownloadParallelism":2,"imagePreDownloadTimeoutSeconds":60,"imagePreDownloadMinUpdatedReadyPods":4}}}}}`,
			want: `{"metadata":{"annotations":{"apps.kruise.io/image-predownload-parallelism":"2","apps.kruise.io/image-predownload-timeout-seconds":"60",
				"apps.kruise.io/image-predownload-min-updated-ready-pods":"4"}},"spec":{"updateStrategy":{"type":"InPlaceOnly","inPlaceUpdateStrategy":{}}}}`,
		},
		"fields that are not set leave annotations as they are": {
			in: `{"metadata":{"annotations":{"apps.kruise.io/image-predownload-parallelism":"2","apps.kruise.io/image-predownload-timeout-seconds":"1"}},
				"spec":{"scaleStrategy":{"enablePVCReuse":true},"updateStrategy":{"rollingUpdate":{"podUpdatePolicy":"InPlaceOnly","inPlaceUpdateStrategy":{
				"gracePeriodSeconds":7,"imagePreDownloadTimeoutSeconds":60}}}}}`,
			want: `{"metadata":{"annotations":{"apps.kruise.io/image-predownload-parallelism":"2","apps.kruise.io/image-predownload-timeout-seconds":"60"}},
				"spec":{"updateStrategy":{"type":"InPlaceOnly","inPlaceUpdateStrategy":{"gracePeriodSeconds":7}}}}`,
		},
		"status and conditions": {
			in: `{"spec":{"scaleStrategy":{"enablePVCReuse":true}},"status":{"replicas":3,"updateRevision":"r","conditions":[{"type":"Progressing","status":"True","lastUpdateTime":"2026-01-01T00:00:00Z"}]}}`,
			want: `{"spec":{"updateStrategy":{"type":"ReCreate"}},
				"status":{"replicas":3,"updateRevision":"r","conditions":[{"type":"Progressing","status":"True","lastUpdateTime":"2026-01-01T00:00:00Z"}]}}`,
		},
	})
}

// The four template kinds; the specs are the same fields in both versions.
const unitedDeploymentTemplates = `"spec":{"replicas":4,"selector":{"matchLabels":{"a":"b"}},"template":{
	"statefulSetTemplate":{"metadata":{"labels":{"a":"b"}},"spec":{"serviceName":"s"}},
	"advancedStatefulSetTemplate":{"spec":{"serviceName":"s","reserveOrdinals":[1,"3-4"]}},
	"cloneSetTemplate":{"spec":{"updateStrategy":{"rollingUpdate":{"partition":1}}}},
	"deploymentTemplate":{"spec":{"minReadySeconds":2}}},
	"topology":{"subsets":[{"name":"x","replicas":"50%","patch":{"metadata":{"labels":{"c":"d"}}}}],"scheduleStrategy":{"type":"Adaptive","adaptive":{"unschedulableDuration":1}}},
	"updateStrategy":{"type":"Manual","manualUpdate":{"partitions":{"x":2}}}}`

func TestUnitedDeploymentUp(t *testing.T) {
	runShown[UnitedDeployment, v1beta1.UnitedDeployment](t, map[string]conversionCase{
		"spec field for field": {in: `{` + unitedDeploymentTemplates + `}`, want: `{` + unitedDeploymentTemplates + `}`},
		"the maps are merged into subsetStatuses": {
			in: `{"status":{"replicas":3,"subsetReplicas":{"b":2,"a":1},"updateStatus":{"updatedRevision":"r","currentPartitions":{"a":1,"c":3}},
				"subsetStatuses":[{"name":"a","replicas":9,"partition":9,"readyReplicas":1}]}}`,
			want: `{"status":{"replicas":3,"updatedRevision":"r","subsetStatuses":[{"name":"a","replicas":1,"partition":1,"readyReplicas":1},
				{"name":"b","replicas":2},{"name":"c","partition":3}]}}`,
		},
		"no updateStatus, no revision": {in: `{"status":{"currentRevision":"c"}}`, want: `{"status":{"currentRevision":"c"}}`},
	})
}

func TestUnitedDeploymentDown(t *testing.T) {
	runShown[v1beta1.UnitedDeployment, UnitedDeployment](t, map[string]conversionCase{
		"spec field for field": {in: `{` + unitedDeploymentTemplates + `}`, want: `{` + unitedDeploymentTemplates + `}`},
		"the maps are rebuilt from named subsets": {
			in: `{"status":{"updatedRevision":"r","subsetStatuses":[{"name":"a","replicas":1,"partition":1},{"replicas":5},{"name":"b"}]}}`,
			want: `{"status":{"subsetReplicas":{"a":1,"b":0},"updateStatus":{"updatedRevision":"r","currentPartitions":{"a":1,"b":0}},
				"subsetStatuses":[{"name":"a","replicas":1,"partition":1},{"replicas":5},{"name":"b"}]}}`,
		},
		"a revision alone":     {in: `{"status":{"updatedRevision":"r"}}`, want: `{"status":{"updateStatus":{"updatedRevision":"r"}}}`},
		"nameless subset only": {in: `{"status":{"subsetStatuses":[{"replicas":5}]}}`, want: `{"status":{"updateStatus":{},"subsetStatuses":[{"replicas":5}]}}`},
		"nothing":              {in: `{}`, want: `{}`},
	})
}
