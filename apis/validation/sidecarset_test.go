// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

const soundSidecarSet = `
metadata: {name: logs}
spec:
  selector: {matchLabels: {app: web}}
  containers: [{name: log, image: "log:1"}]
`

func TestValidateSidecarSet(t *testing.T) {
	const (
		update = "spec.updateStrategy."
		first  = "spec.containers[0]."
		policy = first + "resourcesPolicy"
		canary = `metadata.annotations: {apps.kruise.io/sidecarset-canary: "true", apps.kruise.io/sidecarset-base: `
		native = "spec.initContainers: [{name: i, image: a, restartPolicy: Always}]"
	)
	validate := func(obj *v1beta1.SidecarSet) field.ErrorList { return ValidateSidecarSet(nil, obj, nil) }
	runRows(t, soundSidecarSet, validate, map[string]row{
		"sound":                            good(),
		"name of capitals":                 good("metadata.name: Logs"),
		"name with a dot":                  bad("metadata.name: 1 to 63 letters", "metadata.name: a.b"),
		"name too long":                    bad("metadata.name: 1 to 63 letters", "metadata.name: "+strings.Repeat("a", 64)),
		"no selector":                      bad("spec.selector: Required", "spec.selector:"),
		"empty selector":                   bad("spec.selector: must not be empty", "spec.selector: {}"),
		"namespaces":                       good("spec.namespaceSelector: {matchLabels: {a: b}}"),
		"empty namespaceSelector":          bad("spec.namespaceSelector: must not be empty", "spec.namespaceSelector: {}"),
		"canary":                           good(canary+"base}", update+"type: NotUpdate"),
		"canary of itself":                 bad("metadata.annotations[apps.kruise.io/sidecarset-base]: another SidecarSet", canary+"logs}", update+"type: NotUpdate"),
		"canary that updates":              bad(update+"type: must be NotUpdate", canary+"base}"),
		"no canary without a base":         good(canary + `""}`),
		"type":                             bad(update+"type: supported values", update+"type: Rolling"),
		"native sidecar, updated":          bad("spec.initContainers[0].restartPolicy: set updateStrategy.type to NotUpdate", native),
		"native sidecar, left":             good(native, update+"type: NotUpdate"),
		"plain init container":             good("spec.initContainers: [{name: i, image: a}]"),
		"revision":                         good("spec.injectionStrategy.revision: {customVersion: v}"),
		"revision without a name":          bad("spec.injectionStrategy.revision: set revisionName or customVersion", "spec.injectionStrategy.revision: {policy: Always}"),
		"revision policy":                  bad("spec.injectionStrategy.revision.policy: supported values", "spec.injectionStrategy.revision: {customVersion: v, policy: Often}"),
		"partition":                        good(update + "partition: 50%"),
		"partition in fractions":           bad(update+"partition: whole percentage", update+"partition: 1.5%"),
		"partition below zero":             bad(update+"partition: 0 or more", update+"partition: -1"),
		"partition, NotUpdate":             good(update+"partition: -1", update+"type: NotUpdate"),
		"maxUnavailable 0":                 good(update + "maxUnavailable: 0"),
		"maxUnavailable a word":            bad(update+"maxUnavailable: number (5)", update+"maxUnavailable: many"),
		"update selector":                  good(update+"selector: {matchLabels: {a: b}}", update+"partition: 0"),
		"update selector and partition":    bad(update+"partition: cannot be set together with selector", update+"selector: {matchLabels: {a: b}}", update+"partition: 1"),
		"update selector and zero percent": bad(update+"partition: cannot be set together with selector", update+"selector: {matchLabels: {a: b}}", update+"partition: 0%"),
		"empty update selector":            bad(update+"selector: must not be empty", update+"selector: {}"),
		"weights":                          bad(update+"priorityStrategy.weightPriority[0].weight: between 0 and 100", update+"priorityStrategy.weightPriority: [{weight: 101, matchSelector: {matchLabels: {a: b}}}]"),
		"scatter twice":                    bad(update+"scatterStrategy[1]: Duplicate", update+"scatterStrategy: [{key: a, value: '*'}, {key: a, value: '*'}]"),
		"no containers":                    bad("spec.containers: at least one container", "spec.containers:"),
		"init containers alone":            good("spec.containers:", "spec.initContainers: [{name: i, image: a}]"),
		"container without image":          bad(first+"image: which image", first+"image:"),
		"container twice":                  bad("spec.containers[1].name: Duplicate", "spec.containers[1]: {name: log, image: a}"),
		"unknown volume":                   bad(first+"volumeMounts[0].name: Not found", first+"volumeMounts: [{name: v, mountPath: /v}]"),
		"volume":                           good(first+"volumeMounts: [{name: v, mountPath: /v}]", "spec.volumes: [{name: v}]"),
		"two sources":                      bad("spec.volumes[0]: one source", "spec.volumes: [{name: v, emptyDir: {}, hostPath: {path: /}}]"),
		"inject policy":                    good(first + "podInjectPolicy: AfterAppContainer"),
		"inject policy unknown":            bad(first+"podInjectPolicy: supported values", first+"podInjectPolicy: Beside"),
		"share policy unknown":             bad(first+"shareVolumePolicy.type: supported values", first+"shareVolumePolicy.type: sure"),
		"init containers may say anything": good("spec.initContainers: [{name: i, image: a, podInjectPolicy: Beside}]"),
		"environment by label":             good(first + `transferEnv: [{sourceContainerNameFrom: {fieldRef: {fieldPath: "metadata.labels['a']"}}, envName: x}]`),
		"environment by annotation":        good(first + `transferEnv: [{sourceContainerNameFrom: {fieldRef: {fieldPath: "metadata.annotations['a.io/B']"}}}]`),
		"environment by name":              bad(first+"transferEnv[0].sourceContainerNameFrom.fieldRef.fieldPath: metadata.labels['key']", first+`transferEnv: [{sourceContainerNameFrom: {fieldRef: {fieldPath: metadata.name}}}]`),
		"environment, bad key":             bad(first+"transferEnv[0].sourceContainerNameFrom.fieldRef.fieldPath: name part", first+`transferEnv: [{sourceContainerNameFrom: {fieldRef: {fieldPath: "metadata.labels['a b']"}}}]`),
		"environment, bad version":         bad(first+"transferEnv[0].sourceContainerNameFrom.fieldRef.apiVersion: must be v1", first+`transferEnv: [{sourceContainerNameFrom: {fieldRef: {apiVersion: v2, fieldPath: "metadata.labels['a']"}}}]`),
		"resources":                        good(policy + `: {targetContainersMode: sum, targetContainersNameRegex: ".*", resourcesExpr: {limits: {cpu: "max(cpu*50%, 50m)", memory: 200Mi}}}`),
		"resources, cpu twice":             good(policy + `: {targetContainersMode: max, targetContainersNameRegex: a, resourcesExpr: {requests: {cpu: cpu*cpu, memory: 1/memory}}}`),
		"resources, other variable":        bad(policy+".resourcesExpr.limits.cpu: undefined variable memory", policy+`: {targetContainersMode: sum, targetContainersNameRegex: a, resourcesExpr: {limits: {cpu: memory}}}`),
		"resources below zero":             bad(policy+".resourcesExpr.requests.memory: negative", policy+`: {targetContainersMode: sum, targetContainersNameRegex: a, resourcesExpr: {requests: {memory: memory-2}}}`),
		"resources, mode":                  bad(policy+".targetContainersMode: supported values", policy+`: {targetContainersMode: avg, targetContainersNameRegex: a, resourcesExpr: {limits: {}}}`),
		"resources, no pattern":            bad(policy+".targetContainersNameRegex: .* means all", policy+`: {targetContainersMode: sum, resourcesExpr: {limits: {}}}`),
		"resources, bad pattern":           bad(policy+".targetContainersNameRegex: regular expression", policy+`: {targetContainersMode: sum, targetContainersNameRegex: "(", resourcesExpr: {limits: {}}}`),
		"resources, nothing":               bad(policy+".resourcesExpr: set limits or requests", policy+`: {targetContainersMode: sum, targetContainersNameRegex: a, resourcesExpr: {}}`),
		"resources, both ways":             bad(policy+": cannot be configured together", policy+`: {targetContainersMode: avg, resourcesExpr: {}}`, first+"resources: {limits: {cpu: 1}}"),
		"resources of init containers": bad("spec.initContainers[0].resourcesPolicy: restartPolicy Always",
			`spec.initContainers: [{name: i, image: a, resourcesPolicy: {targetContainersMode: sum, resourcesExpr: {}}}]`),
		"resources of native sidecars": good(update+"type: NotUpdate",
			`spec.initContainers: [{name: i, image: a, restartPolicy: Always, resourcesPolicy: {targetContainersMode: sum, targetContainersNameRegex: a, resourcesExpr: {limits: {cpu: cpu}}}}]`),
		"annotations":         good("spec.patchPodMetadata: [{annotations: {a: b}}, {annotations: {c: d}, patchPolicy: MergePatchJson}]"),
		"no annotations":      bad("spec.patchPodMetadata[0].annotations: at least one", "spec.patchPodMetadata: [{patchPolicy: Retain}]"),
		"annotations twice":   bad("spec.patchPodMetadata[1].annotations[a]: Duplicate", "spec.patchPodMetadata: [{annotations: {a: b}}, {annotations: {a: c}}]"),
		"annotations, policy": bad("spec.patchPodMetadata[0].patchPolicy: supported values", "spec.patchPodMetadata: [{annotations: {a: b}, patchPolicy: Merge}]"),
		"annotations, key":    bad("spec.patchPodMetadata[0].annotations: name part", "spec.patchPodMetadata: [{annotations: {'a b': c}}]"),
		"privileged, no say":  good(first + "securityContext: {privileged: true}"),
	})
}

func TestValidateSidecarSetFacts(t *testing.T) {
	other := func(edits ...string) v1beta1.SidecarSet {
		return *edited[v1beta1.SidecarSet](t, soundSidecarSet, append([]string{"metadata.name: other", "spec.containers[0].name: theirs"}, edits...)...)
	}
	rules := func(text string) *v1beta1.SidecarSetPatchMetadataWhiteList {
		var list v1beta1.SidecarSetPatchMetadataWhiteList
		if err := yaml.UnmarshalStrict([]byte(text), &list); err != nil {
			t.Fatal(err)
		}
		return &list
	}
	const (
		metadata  = "spec.patchPodMetadata: [{annotations: {a.io/b: c}}]"
		overwrite = "spec.patchPodMetadata: [{annotations: {a: b}, patchPolicy: Overwrite}]"
		merge     = "spec.patchPodMetadata: [{annotations: {a: b}, patchPolicy: MergePatchJson}]"
		canary    = `metadata.annotations: {apps.kruise.io/sidecarset-canary: "true", apps.kruise.io/sidecarset-base: other}`
		notUpdate = "spec.updateStrategy.type: NotUpdate"
	)
	cases := map[string]struct {
		edits []string
		facts SidecarSetFacts
		want  []string
	}{
		"alone":          {},
		"beside another": {facts: SidecarSetFacts{Others: []v1beta1.SidecarSet{other()}}},
		"the same container": {facts: SidecarSetFacts{Others: []v1beta1.SidecarSet{other("spec.containers[0].name: log")}},
			want: []string{"spec.containers[0].name: container log already exist in other"}},
		"the same container, other pods": {facts: SidecarSetFacts{Others: []v1beta1.SidecarSet{other("spec.containers[0].name: log", "spec.selector: {matchLabels: {app: db}}")}}},
		"the same container, other namespaces": {edits: []string{"spec.namespaceSelector: {matchLabels: {ns: a}}"},
			facts: SidecarSetFacts{Others: []v1beta1.SidecarSet{other("spec.containers[0].name: log", "spec.namespaceSelector: {matchLabels: {ns: b}}")}}},
		"the same container, one for all namespaces": {edits: []string{"spec.namespaceSelector: {matchLabels: {ns: a}}"},
			facts: SidecarSetFacts{Others: []v1beta1.SidecarSet{other("spec.containers[0].name: log")}},
			want:  []string{"spec.containers[0].name: already exist in other"}},
		"the same init container": {edits: []string{"spec.initContainers: [{name: i, image: a}]"},
			facts: SidecarSetFacts{Others: []v1beta1.SidecarSet{other("spec.initContainers: [{name: i, image: a}]")}},
			want:  []string{"spec.initContainers[0].name: already exist in other"}},
		"the same volume": {edits: []string{"spec.volumes: [{name: v}]"},
			facts: SidecarSetFacts{Others: []v1beta1.SidecarSet{other("spec.volumes: [{name: v, emptyDir: {}}]")}}},
		"another volume": {edits: []string{"spec.volumes: [{name: v}]"},
			facts: SidecarSetFacts{Others: []v1beta1.SidecarSet{other("spec.volumes: [{name: v, hostPath: {path: /}}]")}},
			want:  []string{"spec.volumes[0].name: is another volume in SidecarSet other"}},
		"overwritten annotations": {edits: []string{overwrite},
			facts: SidecarSetFacts{MetadataAllowed: true, Others: []v1beta1.SidecarSet{other(merge)}},
			want:  []string{"spec.patchPodMetadata[0].annotations[a]: is set by SidecarSet other"}},
		"merged annotations":      {edits: []string{merge}, facts: SidecarSetFacts{MetadataAllowed: true, Others: []v1beta1.SidecarSet{other(merge)}}},
		"retained annotations":    {edits: []string{overwrite}, facts: SidecarSetFacts{MetadataAllowed: true, Others: []v1beta1.SidecarSet{other("spec.patchPodMetadata: [{annotations: {a: b}}]")}}},
		"canary beside its base":  {edits: []string{canary, notUpdate}, facts: SidecarSetFacts{Others: []v1beta1.SidecarSet{other("spec.containers[0].name: log")}}},
		"canary without its base": {edits: []string{canary, notUpdate}, want: []string{"metadata.annotations[apps.kruise.io/sidecarset-base]: Not found"}},
		"canary of a canary": {edits: []string{canary, notUpdate},
			facts: SidecarSetFacts{Others: []v1beta1.SidecarSet{other(`metadata.annotations: {apps.kruise.io/sidecarset-canary: "true", apps.kruise.io/sidecarset-base: third}`)}},
			want:  []string{"metadata.annotations[apps.kruise.io/sidecarset-base]: is a canary itself"}},
		"revision":            {edits: []string{"spec.injectionStrategy.revision: {customVersion: v}"}, facts: SidecarSetFacts{Revisions: []SidecarSetRevision{{Name: "r", CustomVersion: "v"}}}},
		"revisions not known": {edits: []string{"spec.injectionStrategy.revision: {customVersion: v}"}, facts: SidecarSetFacts{RevisionsUnknown: true}},
		"revision not there": {edits: []string{"spec.injectionStrategy.revision: {customVersion: v, revisionName: x}"}, facts: SidecarSetFacts{Revisions: []SidecarSetRevision{{Name: "r", CustomVersion: "v"}}},
			want: []string{"spec.injectionStrategy.revision.revisionName: Not found"}},
		"version not there": {edits: []string{"spec.injectionStrategy.revision: {customVersion: w}"}, facts: SidecarSetFacts{Revisions: []SidecarSetRevision{{Name: "r", CustomVersion: "v"}}},
			want: []string{"spec.injectionStrategy.revision.customVersion: Not found"}},
		"no list":                   {edits: []string{metadata}, want: []string{"spec.patchPodMetadata: whitelist not found"}},
		"no list, gate":             {edits: []string{metadata}, facts: SidecarSetFacts{MetadataAllowed: true}},
		"listed":                    {edits: []string{metadata}, facts: SidecarSetFacts{WhiteList: rules(`rules: [{allowedAnnotationKeyExprs: ["^a.io/"]}]`)}},
		"listed, a part of the key": {edits: []string{metadata}, facts: SidecarSetFacts{WhiteList: rules(`rules: [{allowedAnnotationKeyExprs: [io]}]`)}},
		"not listed": {edits: []string{metadata}, facts: SidecarSetFacts{MetadataAllowed: true, WhiteList: rules(`rules: [{allowedAnnotationKeyExprs: ["^b"]}]`)},
			want: []string{"spec.patchPodMetadata[0].annotations[a.io/b]: annotation(a.io/b) is not allowed"}},
		"listed for others": {edits: []string{metadata}, facts: SidecarSetFacts{WhiteList: rules(`rules: [{selector: {matchLabels: {a: b}}, allowedAnnotationKeyExprs: [a]}]`)},
			want: []string{"spec.patchPodMetadata: annotation is not allowed"}},
		"listed for others, gate": {edits: []string{metadata}, facts: SidecarSetFacts{MetadataAllowed: true, WhiteList: rules(`rules: [{selector: {matchLabels: {a: b}}, allowedAnnotationKeyExprs: [x]}]`)}},
		"listed for it":           {edits: []string{metadata, "metadata.labels: {a: b}"}, facts: SidecarSetFacts{WhiteList: rules(`rules: [{selector: {matchLabels: {a: b}}, allowedAnnotationKeyExprs: [a]}]`)}},
		"privileged": {edits: []string{"spec.containers[0].securityContext: {privileged: true}"}, facts: SidecarSetFacts{PrivilegedDenied: true},
			want: []string{"spec.containers[0].securityContext.privileged: disallowed"}},
		"facts count only for a sound object": {edits: []string{"spec.selector: {}"}, facts: SidecarSetFacts{Others: []v1beta1.SidecarSet{other("spec.containers[0].name: log")}},
			want: []string{"spec.selector: must not be empty"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			compare(t, ValidateSidecarSet(nil, edited[v1beta1.SidecarSet](t, soundSidecarSet, c.edits...), &c.facts), c.want)
		})
	}
}

func TestValidateSidecarSetUpdate(t *testing.T) {
	cases := map[string]struct {
		old, obj []string
		want     []string
	}{
		"image":                 {obj: []string{"spec.containers[0].image: 'log:2'", "spec.updateStrategy.paused: true"}},
		"init containers":       {obj: []string{"spec.initContainers: [{name: i, image: a}]"}},
		"a container taken out": {old: []string{"spec.containers[1]: {name: b, image: a}"}},
		"a container added":     {obj: []string{"spec.containers[1]: {name: b, image: a}"}, want: []string{"spec.containers[1].name: container b is not found"}},
		"a container renamed":   {obj: []string{"spec.containers[0].name: b"}, want: []string{"spec.containers[0].name: container b is not found"}},
		"upgradeType":           {obj: []string{"spec.containers[0].upgradeStrategy: {upgradeType: HotUpgrade, hotUpgradeEmptyImage: e}"}, want: []string{"spec.containers[0].upgradeStrategy.upgradeType: upgradeType is immutable"}},
		"upgradeType, filled":   {obj: []string{"spec.containers[0].upgradeStrategy: {upgradeType: ColdUpgrade}"}},
		"base": {
			old:  []string{`metadata.annotations: {apps.kruise.io/sidecarset-canary: "true", apps.kruise.io/sidecarset-base: a}`, "spec.updateStrategy.type: NotUpdate"},
			obj:  []string{`metadata.annotations: {apps.kruise.io/sidecarset-canary: "true", apps.kruise.io/sidecarset-base: b}`, "spec.updateStrategy.type: NotUpdate"},
			want: []string{"metadata.annotations[apps.kruise.io/sidecarset-base]: cannot be changed"}},
		"a broken object, another field touched": {old: []string{"spec.selector: {}"}, obj: []string{"spec.selector: {}", "metadata.labels: {a: b}"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			old, obj := edited[v1beta1.SidecarSet](t, soundSidecarSet, c.old...), edited[v1beta1.SidecarSet](t, soundSidecarSet, c.obj...)
			old.ResourceVersion, obj.ResourceVersion = "1", "1"
			before := obj.DeepCopy()
			compare(t, ValidateSidecarSet(old, obj, nil), c.want)
			if !equalObjects(before, obj) {
				t.Error("validation changed the object")
			}
		})
	}
}

func TestValidateOldSidecarSet(t *testing.T) {
	validate := func(obj *v1alpha1.SidecarSet) field.ErrorList { return ValidateOldSidecarSet(nil, obj, nil) }
	runRows(t, soundSidecarSet, validate, map[string]row{
		"sound":     good("spec.namespace: default"),
		"unchanged": bad("spec.selector: must not be empty", "spec.selector: {}"),
	})
}

func TestOverlap(t *testing.T) {
	cases := map[string]struct {
		a, b string
		want bool
	}{
		"the same":                 {a: `{matchLabels: {a: x}}`, b: `{matchLabels: {a: x}}`, want: true},
		"other values":             {a: `{matchLabels: {a: x}}`, b: `{matchLabels: {a: y}}`},
		"other keys":               {a: `{matchLabels: {a: x}}`, b: `{matchLabels: {b: y}}`, want: true},
		"one of two keys":          {a: `{matchLabels: {a: x, b: y}}`, b: `{matchLabels: {b: z}}`},
		"In, one in common":        {a: `{matchExpressions: [{key: a, operator: In, values: [x, y]}]}`, b: `{matchLabels: {a: y}}`, want: true},
		"In, none in common":       {a: `{matchExpressions: [{key: a, operator: In, values: [x, y]}]}`, b: `{matchLabels: {a: z}}`},
		"NotIn all":                {a: `{matchExpressions: [{key: a, operator: NotIn, values: [x, y]}]}`, b: `{matchLabels: {a: y}}`},
		"NotIn others":             {a: `{matchExpressions: [{key: a, operator: NotIn, values: [x]}]}`, b: `{matchExpressions: [{key: a, operator: In, values: [x, y]}]}`, want: true},
		"Exists and a value":       {a: `{matchExpressions: [{key: a, operator: Exists}]}`, b: `{matchLabels: {a: y}}`, want: true},
		"Exists and nothing":       {a: `{matchExpressions: [{key: a, operator: Exists}]}`, b: `{matchLabels: {b: y}}`},
		"DoesNotExist and a value": {a: `{matchExpressions: [{key: a, operator: DoesNotExist}]}`, b: `{matchLabels: {a: y}}`},
		"DoesNotExist and Exists":  {a: `{matchExpressions: [{key: a, operator: DoesNotExist}]}`, b: `{matchExpressions: [{key: a, operator: Exists}]}`},
		"DoesNotExist and NotIn":   {a: `{matchExpressions: [{key: a, operator: DoesNotExist}]}`, b: `{matchExpressions: [{key: a, operator: NotIn, values: [x]}]}`, want: true},
		"two requirements":         {a: `{matchExpressions: [{key: a, operator: In, values: [x, y]}, {key: a, operator: In, values: [y, z]}]}`, b: `{matchLabels: {a: x}}`},
	}
	for name, c := range cases {
		var a, b metav1.LabelSelector
		for text, into := range map[string]*metav1.LabelSelector{c.a: &a, c.b + " ": &b} {
			if err := yaml.UnmarshalStrict([]byte(text), into); err != nil {
				t.Fatal(err)
			}
		}
		if overlap(&a, &b) != c.want || overlap(&b, &a) != c.want {
			t.Errorf("%s: want %v both ways round", name, c.want)
		}
	}
}
