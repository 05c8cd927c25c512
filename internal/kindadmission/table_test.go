// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package kindadmission

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const job = `{apiVersion: apps.kruise.io/v1beta1, kind: BroadcastJob, metadata: {name: j, namespace: default, resourceVersion: "1"},
  spec: {failurePolicy: {type: %}, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}`

// TestUnsupportedValuesAreWarnedOf once, and let in.
func TestUnsupportedValuesAreWarnedOf(t *testing.T) {
	of := func(policy string) string { return strings.Replace(job, "%", policy, 1) }
	warning := []string{`spec.failurePolicy.type: Unsupported value: "fast": supported values: "FailFast", "Continue", "Pause"`}
	for name, c := range map[string]struct {
		old, object string
		want        []string
	}{
		"sound":        {"", of("Pause"), nil},
		"new":          {"", of("fast"), warning},
		"changed":      {of("Pause"), of("fast"), warning},
		"as it was":    {of("fast"), of("fast"), nil},
		"sound by now": {of("fast"), of("Pause"), nil},
	} {
		response := ask(t, hooks("hub")["/validate-apps-kruise-io-broadcastjob"], c.old, c.object)
		if diff := cmp.Diff(c.want, response.Warnings); !response.Allowed || diff != "" {
			t.Errorf("%s: %+v\n%s", name, response.Result, diff)
		}
	}
}

// TestLongNamesOfCloneSetsAreWarnedOf in both versions.
func TestLongNamesOfCloneSetsAreWarnedOf(t *testing.T) {
	for version, path := range map[string]string{"v1beta1": "/validate-apps-kruise-io-cloneset", "v1alpha1": "/validate-apps-kruise-io-v1alpha1-cloneset"} {
		object := strings.NewReplacer("v1alpha1", version, "name: web", "name: "+strings.Repeat("w", 58), "%p", "").Replace(oldCloneSet)
		response := ask(t, hooks("hub")[path], "", object)
		if !response.Allowed || len(response.Warnings) != 1 || !strings.Contains(response.Warnings[0], "57 characters") {
			t.Errorf("%s: %+v, warnings %v", version, response.Result, response.Warnings)
		}
	}
}
