// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package manifests

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// heard are the warnings that a client was sent, in order.
type heard []string

// HandleWarningHeader implements rest.WarningHandler.
func (h *heard) HandleWarningHeader(_ int, _ string, text string) { *h = append(*h, text) }

// fullOf is the object of a kind that says most, in a version.
func fullOf(t *testing.T, plural, version string) *unstructured.Unstructured {
	t.Helper()
	for _, object := range objectsOf(t, plural) {
		if object.GetName() == "full-"+version {
			unstructured.RemoveNestedField(object.Object, "status")
			return object
		}
	}
	t.Fatalf("no full-%s of %s", version, plural)
	return nil
}

// try creates an object without storing it, and returns what the API server says.
func try(t *testing.T, c client.Client, warnings *heard, object *unstructured.Unstructured) ([]string, error) {
	t.Helper()
	*warnings = nil
	strict := client.WithFieldValidation(client.NewDryRunClient(c), metav1.FieldValidationWarn)
	err := strict.Create(t.Context(), object)
	return *warnings, err
}

// warnsOfUnknownFields: who misspells a field where the schema keeps everything is told, and let in.
func warnsOfUnknownFields(t *testing.T, c client.Client, warnings *heard) {
	for _, w := range []struct{ plural, version, field string }{
		{"clonesets", "v1beta1", "spec.template.spec.containres"},
		{"clonesets", "v1alpha1", "spec.template.spec.containers[0].Image"},
		{"sidecarsets", "v1beta1", "spec.containers[0].imagePullPolice"},
		{"sidecarsets", "v1alpha1", "spec.containers[0].imagePullPolice"},
		{"uniteddeployments", "v1beta1", "spec.template.advancedStatefulSetTemplate.spec.template.spec.containres"},
		{"statefulsets", "v1beta1", "spec.volumeClaimTemplates[0].spec.accessMode"},
	} {
		object := soundOf(t, w.plural, w.version)
		set(t, object.Object, w.field, "x")
		got, err := try(t, c, warnings, object)
		if want := `unknown field "` + w.field + `"`; err != nil || len(got) != 1 || got[0] != want {
			t.Errorf("%s %s: %v, warned of %q, not of %q", w.plural, w.version, err, got, want)
		}
	}
	object := soundOf(t, "clonesets", "v1beta1")
	if got, err := try(t, c, warnings, object); err != nil || len(got) > 0 {
		t.Errorf("%v, warned of %q", err, got)
	}
}

// soundOf is fullOf without what no type knows.
func soundOf(t *testing.T, plural, version string) *unstructured.Unstructured {
	t.Helper()
	object := fullOf(t, plural, version)
	drop(object.Object, "fromTheFuture")
	return object
}

// drop takes a field out wherever it is.
func drop(in any, name string) {
	switch value := in.(type) {
	case map[string]any:
		delete(value, name)
		for _, inner := range value {
			drop(inner, name)
		}
	case []any:
		for _, inner := range value {
			drop(inner, name)
		}
	}
}

// values are fields that take a few values only, with one of them. Those that OpenKruise does not look at are
// warned of.
var values = []struct {
	plural, versions, field, one string
	warned                       bool
}{
	{"advancedcronjobs", "v1alpha1 v1beta1", "spec.concurrencyPolicy", "Forbid", false},
	{"batchreleases", "v1alpha1 v1beta1", "spec.releasePlan.finalizingPolicy", "WaitResume", false},
	{"batchreleases", "v1beta1", "spec.releasePlan.rollingStyle", "BlueGreen", true},
	{"broadcastjobs", "v1alpha1 v1beta1", "spec.completionPolicy.type", "Never", true},
	{"broadcastjobs", "v1alpha1 v1beta1", "spec.failurePolicy.type", "Continue", true},
	{"broadcastjobs", "v1alpha1 v1beta1", "spec.template.spec.restartPolicy", "OnFailure", false},
	{"clonesets", "v1alpha1", "spec.updateStrategy.type", "InPlaceOnly", false},
	{"clonesets", "v1beta1", "spec.updateStrategy.type", "OnDelete", false},
	{"clonesets", "v1beta1", "spec.updateStrategy.rollingUpdate.podUpdatePolicy", "InPlaceOnly", false},
	{"configmapsets", "v1alpha1", "spec.reloadSidecarConfig.type", "sidecarset", false},
	{"configmapsets", "v1alpha1", "spec.effectPolicy.type", "HotUpdate", false},
	{"containerrecreaterequests", "v1alpha1 v1beta1", "spec.strategy.failurePolicy", "Ignore", false},
	{"daemonsets", "v1alpha1 v1beta1", "spec.updateStrategy.type", "OnDelete", false},
	{"daemonsets", "v1alpha1 v1beta1", "spec.updateStrategy.rollingUpdate.rollingUpdateType", "InPlaceIfPossible", false},
	{"ephemeraljobs", "v1alpha1", "spec.template.ephemeralContainers[0].imagePullPolicy", "Never", false},
	{"imagelistpulljobs", "v1alpha1 v1beta1", "spec.completionPolicy.type", "Never", false},
	{"imagelistpulljobs", "v1alpha1 v1beta1", "spec.imagePullPolicy", "IfNotPresent", false},
	{"imagepulljobs", "v1alpha1 v1beta1", "spec.completionPolicy.type", "Never", false},
	{"imagepulljobs", "v1alpha1 v1beta1", "spec.imagePullPolicy", "IfNotPresent", false},
	{"nodeimages", "v1alpha1 v1beta1", "spec.images[docker.io/library/nginx].tags[0].imagePullPolicy", "IfNotPresent", false},
	{"persistentpodstates", "v1alpha1 v1beta1", "spec.persistentPodStateRetentionPolicy", "WhenDeleted", false},
	{"podprobemarkers", "v1alpha1", "spec.probes[0].markerPolicy[0].state", "Failed", false},
	{"podunavailablebudgets", "v1beta1", "spec.protectOperations[0]", "EVICT", false},
	{"rollouts", "v1alpha1", "spec.strategy.canary.steps[1].matches[0].headers[0].type", "RegularExpression", false},
	{"rollouts", "v1beta1", "spec.strategy.canary.steps[2].matches[0].headers[0].type", "RegularExpression", false},
	{"rollouts", "v1beta1", "spec.strategy.canary.steps[2].matches[0].path.type", "PathPrefix", false},
	{"sidecarsets", "v1alpha1 v1beta1", "spec.containers[0].podInjectPolicy", "AfterAppContainer", false},
	{"sidecarsets", "v1alpha1 v1beta1", "spec.containers[0].shareVolumePolicy.type", "disabled", false},
	{"sidecarsets", "v1alpha1 v1beta1", "spec.containers[0].shareVolumeDevicePolicy.type", "disabled", true},
	{"sidecarsets", "v1alpha1 v1beta1", "spec.containers[0].upgradeStrategy.upgradeType", "ColdUpgrade", true},
	{"sidecarsets", "v1alpha1 v1beta1", "spec.injectionStrategy.revision.policy", "Partial", false},
	{"sidecarsets", "v1alpha1 v1beta1", "spec.patchPodMetadata[0].patchPolicy", "Overwrite", false},
	{"sidecarsets", "v1alpha1 v1beta1", "spec.updateStrategy.type", "NotUpdate", false},
	{"statefulsets", "v1alpha1 v1beta1", "spec.podManagementPolicy", "OrderedReady", false},
	{"statefulsets", "v1alpha1 v1beta1", "spec.updateStrategy.type", "OnDelete", false},
	{"statefulsets", "v1alpha1 v1beta1", "spec.updateStrategy.rollingUpdate.podUpdatePolicy", "InPlaceOnly", false},
	{"statefulsets", "v1beta1", "spec.persistentVolumeClaimRetentionPolicy.whenDeleted", "Retain", false},
	{"uniteddeployments", "v1alpha1 v1beta1", "spec.topology.scheduleStrategy.type", "Adaptive", false},
	{"uniteddeployments", "v1alpha1 v1beta1", "spec.updateStrategy.type", "Manual", false},
	{"workloadspreads", "v1alpha1 v1beta1", "spec.scheduleStrategy.type", "Fixed", false},
}

// namesSupportedValues: who writes a value that means nothing is told the field, and what it may be.
func namesSupportedValues(t *testing.T, c client.Client, warnings *heard) {
	for _, v := range values {
		for version := range strings.FieldsSeq(v.versions) {
			object := soundOf(t, v.plural, version)
			set(t, object.Object, v.field, "Wrong")
			warned, err := try(t, c, warnings, object)
			said := strings.Join(warned, "\n")
			if !v.warned && err != nil {
				said = err.Error()
			}
			if v.warned == (err != nil) || !strings.Contains(said, v.field) || !strings.Contains(said, v.one) {
				t.Errorf("%s %s: %s: %v, warned of %q", v.plural, version, v.field, err, warned)
			}
		}
	}
}

var pathParts = regexp.MustCompile(`[^.\[\]]+|\[[^\]]+\]`)

// set writes a value at a path like spec.containers[0].image; what is missing on the way is made.
func set(t *testing.T, object map[string]any, path string, value any) {
	t.Helper()
	parts := pathParts.FindAllString(path, -1)
	var at any = object
	for i, part := range parts {
		key, last := strings.Trim(part, "[]"), i == len(parts)-1
		switch in := at.(type) {
		case map[string]any:
			if last {
				in[key] = value
			} else if in[key] == nil {
				in[key] = map[string]any{}
			}
			at = in[key]
		case []any:
			index, err := strconv.Atoi(key)
			if err != nil || index >= len(in) {
				t.Fatalf("%s: no %s", path, part)
			}
			if last {
				in[index] = value
			}
			at = in[index]
		default:
			t.Fatalf("%s: %s is in %T", path, part, at)
		}
	}
}
