// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

const soundCronJob = `
metadata: {name: nightly, namespace: default}
spec:
  schedule: "0 4 * * *"
  template:
    broadcastJobTemplate:
      spec:
        template:
          spec:
            restartPolicy: Never
            containers: [{name: main, image: "job:1"}]
`

const soundCronPull = `
metadata: {name: nightly, namespace: default}
spec:
  schedule: "@daily"
  template:
    imageListPullJobTemplate: {spec: {images: ["a:1", "registry.example.com:5000/b/c_d@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"]}}
`

func newCronJob(obj *v1beta1.AdvancedCronJob) field.ErrorList {
	return ValidateAdvancedCronJob(nil, obj)
}

func TestValidateAdvancedCronJob(t *testing.T) {
	const pod = "{spec: {containers: [{name: a, image: b}]}}"
	runRows(t, soundCronJob, newCronJob, map[string]row{
		"sound":                       good(),
		"name of 64":                  bad("metadata.name: at most 63", "metadata.name: "+strings.Repeat("a", 64)),
		"name with a dot":             bad("metadata.name: no dots", "metadata.name: a.b"),
		"no schedule":                 bad("spec.schedule: say when to run", "spec.schedule: ''"),
		"four fields":                 bad("spec.schedule: five fields", "spec.schedule: '0 4 * *'"),
		"time zone in the schedule":   good("spec.schedule: TZ=Asia/Tokyo 0 4 * * *"),
		"time zone":                   good("spec.timeZone: Asia/Shanghai"),
		"time zone twice":             bad("spec.schedule: take one out", "spec.schedule: TZ=UTC 0 0 * * *", "spec.timeZone: UTC"),
		"time zone empty":             bad("spec.timeZone: must name a time zone", "spec.timeZone: ''"),
		"time zone Local":             bad("spec.timeZone: leave the field out", "spec.timeZone: LOCAL"),
		"time zone unknown":           bad("spec.timeZone: IANA", "spec.timeZone: Mars/Olympus"),
		"concurrency":                 good("spec.concurrencyPolicy: Forbid"),
		"concurrency unknown":         bad("spec.concurrencyPolicy: supported values", "spec.concurrencyPolicy: Sometimes"),
		"deadline below zero":         bad("spec.startingDeadlineSeconds: 0 or more", "spec.startingDeadlineSeconds: -1"),
		"limit of successes":          bad("spec.successfulJobsHistoryLimit: 0 or more", "spec.successfulJobsHistoryLimit: -1"),
		"limit of failures":           bad("spec.failedJobsHistoryLimit: 0 or more", "spec.failedJobsHistoryLimit: -1"),
		"no template":                 bad("spec.template: exactly one", "spec.template: {}"),
		"two templates":               bad("spec.template: exactly one", "spec.template.jobTemplate: {spec: {template: "+pod+"}}"),
		"Job":                         good("spec.template: {jobTemplate: {spec: {template: " + pod + "}}}"),
		"Job that no pod can have":    bad("spec.template.jobTemplate.spec.template.spec.containers: at least one", "spec.template: {jobTemplate: {spec: {template: {}}}}"),
		"the restart policy is not":   good("spec.template.broadcastJobTemplate.spec.template.spec.restartPolicy: Always"),
		"BroadcastJob that cannot be": bad("spec.template.broadcastJobTemplate.spec.template.spec.containers[0].name: name the container", "spec.template.broadcastJobTemplate.spec.template.spec.containers[0].name: ''"),
	})
}

func TestValidateCronPull(t *testing.T) {
	const spec = "spec.template.imageListPullJobTemplate.spec."
	many := "[" + strings.Repeat("a, ", 255) + "a]"
	runRows(t, soundCronPull, newCronJob, map[string]row{
		"sound":                       good(),
		"Forbid":                      good("spec.concurrencyPolicy: Forbid"),
		"Allow":                       bad("spec.concurrencyPolicy: must be Replace or Forbid", "spec.concurrencyPolicy: Allow"),
		"no image":                    bad(spec+"images: at least one", spec+"images: []"),
		"an image twice":              bad(spec+"images[1]: Duplicate", spec+"images: [a, a]"),
		"no image at all":             bad(spec+"images[0]: the name of an image", spec+"images: ['A b']"),
		"an image without a name":     bad(spec+"images[0]: the name of an image", spec+"images: [':1']"),
		"pods":                        good(spec + "podSelector: {matchLabels: {a: b}}"),
		"pods and nodes":              bad(spec+"podSelector: keep one of the two", spec+"podSelector: {matchLabels: {a: b}}", spec+"selector: {names: [a]}"),
		"nodes by name":               good(spec + "selector: {names: [a, b]}"),
		"nodes by name twice":         bad(spec+"selector.names[1]: Duplicate", spec+"selector: {names: [a, a]}"),
		"nodes by name and label":     bad(spec+"selector.names: keep one of the two", spec+"selector: {names: [a], matchLabels: {a: b}}"),
		"type Never":                  bad(spec+"completionPolicy.type: supported values", spec+"completionPolicy.type: Never"),
		"TTL":                         bad(spec+"completionPolicy.ttlSecondsAfterFinished: history limits", spec+"completionPolicy.ttlSecondsAfterFinished: 1"),
		"deadline":                    good(spec + "completionPolicy.activeDeadlineSeconds: 86400"),
		"deadline beyond a day":       bad(spec+"completionPolicy.activeDeadlineSeconds: a day", spec+"completionPolicy.activeDeadlineSeconds: 86401"),
		"deadline below the default":  bad(spec+"completionPolicy.activeDeadlineSeconds: not be less than pullPolicy.timeoutSeconds (600)", spec+"completionPolicy.activeDeadlineSeconds: 599"),
		"deadline equal to a timeout": good(spec+"completionPolicy.activeDeadlineSeconds: 5", spec+"pullPolicy.timeoutSeconds: 5"),
	})
	got := newCronJob(edited[v1beta1.AdvancedCronJob](t, soundCronPull, spec+"images: "+many))
	if len(got) == 0 || got[0].Type != field.ErrorTypeTooMany {
		t.Errorf("256 images: %v", got)
	}
}

func TestValidateAdvancedCronJobUpdate(t *testing.T) {
	const pull = "spec.template.imageListPullJobTemplate"
	cases := map[string]struct {
		base        string
		edits, want []string
	}{
		"everything that may change": {base: soundCronJob, edits: []string{"spec.schedule: '@hourly'", "spec.timeZone: UTC", "spec.concurrencyPolicy: Replace", "spec.paused: true",
			"spec.startingDeadlineSeconds: 1", "spec.successfulJobsHistoryLimit: 1", "spec.failedJobsHistoryLimit: 0"}},
		"template of BroadcastJobs": {base: soundCronJob, edits: []string{"spec.template.broadcastJobTemplate.spec.paused: true"}, want: []string{"spec.template.broadcastJobTemplate: cannot be changed"}},
		"another kind of template": {base: soundCronJob, edits: []string{"spec.template: {jobTemplate: {spec: {template: {spec: {containers: [{name: a, image: b}]}}}}}"},
			want: []string{"spec.template.jobTemplate: cannot be changed", "spec.template.broadcastJobTemplate: cannot be changed"}},
		"template of pulls":            {base: soundCronPull, edits: []string{pull + ".spec.images: [b]"}},
		"template of pulls, taken out": {base: soundCronPull, edits: []string{pull + ":"}, want: []string{pull + ": neither added nor taken out", "spec.template: exactly one"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			old, obj := edited[v1beta1.AdvancedCronJob](t, c.base), edited[v1beta1.AdvancedCronJob](t, c.base, c.edits...)
			old.ResourceVersion, obj.ResourceVersion = "1", "1"
			compare(t, ValidateAdvancedCronJob(old, obj), c.want)
		})
	}
}

func TestCheckSchedule(t *testing.T) {
	for _, schedule := range []string{
		"* * * * *", "0 4 1 1 0", "59 23 31 12 6", "*/15 0-6/2 1,15 jan-Mar MON-fri", "? ? ? ? ?", "5/10 * * * *", "  0  4 * * *  ",
		"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly", "@every 1h30m",
		"TZ=Asia/Tokyo 0 4 * * *", "CRON_TZ=UTC @daily",
	} {
		if err := checkSchedule(schedule); err != nil {
			t.Errorf("%q %v", schedule, err)
		}
	}
	for schedule, want := range map[string]string{
		"* * * *":                "not 4",
		"* * * * * *":            "not 6",
		"":                       "not 0",
		"60 * * * *":             `"60" for minute, which must be between 0 and 59`,
		"* 24 * * *":             "hour",
		"* * 0 * *":              "day of month",
		"* * * 13 *":             "month",
		"* * * * 7":              "day of week",
		"a * * * *":              `"a" for minute`,
		"-1 * * * *":             `"" for minute`,
		"5-1 * * * *":            "starts after its end",
		"1-2-3 * * * *":          `"2-3" for minute`,
		"*/0 * * * *":            "a step",
		"*/x * * * *":            "a step",
		"1/2/3 * * * *":          "a step",
		", * * * *":              "an empty field for minute",
		"99999999999 * * * *":    "between 0 and 59",
		"@often":                 "one of @yearly",
		"@every":                 "one of @yearly",
		"@every never":           "a duration",
		"TZ=UTC":                 "no fields after it",
		"TZ=Mars/Base 0 0 * * *": `"Mars/Base"`,
		"TZ=UTC ":                "not 0",
	} {
		if err := checkSchedule(schedule); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gives %v, want %q", schedule, err, want)
		}
	}
}
