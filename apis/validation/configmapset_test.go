// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

const soundConfigMapSet = `
metadata: {name: web-conf, namespace: default}
spec:
  selector: {matchLabels: {app: web}}
  data: {a.conf: "1"}
  containers: [{name: main, mountPath: /conf}]
`

func TestValidateConfigMapSet(t *testing.T) {
	const (
		update = "spec.updateStrategy."
		first  = "spec.containers[0]"
		reload = "spec.reloadSidecarConfig"
		effect = "spec.effectPolicy"
		from   = "spec.containers: [{mountPath: /c, nameFrom: {fieldRef: {fieldPath: "
	)
	validate := func(obj *v1alpha1.ConfigMapSet) field.ErrorList { return ValidateConfigMapSet(nil, obj) }
	runRows(t, soundConfigMapSet, validate, map[string]row{
		"sound":                good(),
		"name":                 bad("metadata.name: must not contain dots", "metadata.name: a.b"),
		"no selector":          bad("spec.selector: Required", "spec.selector:"),
		"no matchLabels":       bad("spec.selector.matchLabels: at least one label", "spec.selector: {matchExpressions: [{key: a, operator: Exists}]}"),
		"no data":              bad("spec.data: at least one key", "spec.data: {}"),
		"bad key":              bad("spec.data[a b]: config key", "spec.data: {'a b': c}"),
		"hidden key":           bad("spec.data[.a]: must not start with '.'", "spec.data: {.a: c}"),
		"no containers":        bad("spec.containers: at least one container", "spec.containers: []"),
		"neither name":         bad(first+": exactly one of name and nameFrom", "spec.containers: [{mountPath: /c}]"),
		"both names":           bad(first+": exactly one of name and nameFrom", "spec.containers: [{name: a, mountPath: /c, nameFrom: {fieldRef: {fieldPath: \"metadata.labels['a']\"}}}]"),
		"name twice":           bad("spec.containers[1].name: Duplicate", "spec.containers[1]: {name: main, mountPath: /d}"),
		"by label":             good(from + `"metadata.labels['a']"}}}]`),
		"by annotation":        good(from + `"metadata.annotations['cms/target']"}}}]`),
		"by node":              bad(first+".nameFrom.fieldRef.fieldPath: metadata.labels['key']", from+`spec.nodeName}}}]`),
		"by nothing":           bad(first+".nameFrom.fieldRef: a label or an annotation", "spec.containers: [{mountPath: /c, nameFrom: {}}]"),
		"by one label twice":   bad("spec.containers[1]: Duplicate", from+`"metadata.labels['a']"}}}, {mountPath: /c/, nameFrom: {fieldRef: {fieldPath: "metadata.labels['a']"}}}]`),
		"relative path":        bad(first+".mountPath: absolute path", first+".mountPath: conf"),
		"path upwards":         bad(first+".mountPath: '..'", first+".mountPath: /a/../b"),
		"path with dots":       good(first + ".mountPath: /a..b"),
		"sidecar type":         bad(reload+".type: supported values", reload+": {type: image}"),
		"k8s":                  good(reload + ": {type: k8s, config: {name: a, image: b, restartPolicy: Always, command: [c]}}"),
		"k8s without image":    bad(reload+".config.image: which image", reload+": {type: k8s, config: {name: a}}"),
		"k8s with a ConfigMap": bad(reload+".config.configMapRef: is not for type k8s", reload+": {type: k8s, config: {image: b, configMapRef: {name: a}}}"),
		"sidecarset":           good(reload + ": {type: sidecarset, config: {sidecarSetRef: {name: a, containerName: b}}}"),
		"sidecarset, no name":  bad(reload+".config.sidecarSetRef: name the SidecarSet", reload+": {type: sidecarset}"),
		"sidecarset, image":    bad(reload+".config.image: is not for type sidecarset", reload+": {type: sidecarset, config: {image: a, sidecarSetRef: {name: a, containerName: b}}}"),
		"custom":               good(reload + ": {type: custom, config: {configMapRef: {name: a, namespace: b}}}"),
		"custom, no name":      bad(reload+".config.configMapRef.name: name the ConfigMap", reload+": {type: custom, config: {configMapRef: {name: ''}}}"),
		"custom, SidecarSet":   bad(reload+".config.sidecarSetRef: is not for type custom", reload+": {config: {sidecarSetRef: {name: a, containerName: b}}}"),
		"effect":               good(effect + ": {type: HotUpdate}"),
		"effect Restart":       good(effect + ": {type: Restart}"),
		"effect restart":       good(effect + ": {type: restart}"),
		"effect unknown":       bad(effect+".type: supported values", effect+": {type: Reload}"),
		"hook":                 good(effect + ": {type: PostHook, postHook: {httpGet: [{path: /, port: 80}, {port: http, scheme: HTTPS, host: 127.0.0.1}]}}"),
		"hook by tcp":          good(effect + ": {type: posthook, postHook: {tcpSocket: [{port: 80}]}}"),
		"hook of ReStart":      bad(effect+".postHook: is for type PostHook only", effect+": {postHook: {tcpSocket: [{port: 80}]}}"),
		"no hook":              bad(effect+".postHook: exactly one", effect+": {type: PostHook}"),
		"empty hook":           bad(effect+".postHook: exactly one", effect+": {type: PostHook, postHook: {}}"),
		"two hooks":            bad(effect+".postHook: exactly one", effect+": {type: PostHook, postHook: {httpGet: [{port: 80}], tcpSocket: [{port: 80}]}}"),
		"hook elsewhere":       bad(effect+".postHook.httpGet[0].host: must be 127.0.0.1", effect+": {type: PostHook, postHook: {httpGet: [{port: 80, host: example.org}]}}"),
		"hook, bad port":       bad(effect+".postHook.tcpSocket[0].port: between 1 and 65535", effect+": {type: PostHook, postHook: {tcpSocket: [{port: 0}]}}"),
		"hook, bad scheme":     bad(effect+".postHook.httpGet[0].scheme: supported values", effect+": {type: PostHook, postHook: {httpGet: [{port: 80, scheme: FTP}]}}"),
		"history 1":            good("spec.revisionHistoryLimit: 1"),
		"history 0":            bad("spec.revisionHistoryLimit: between 1 and 100", "spec.revisionHistoryLimit: 0"),
		"history 101":          bad("spec.revisionHistoryLimit: between 1 and 100", "spec.revisionHistoryLimit: 101"),
		"partition":            good(update + "partition: 15"),
		"partition in quotes":  good(update + `partition: "3"`),
		"partition 100%":       good(update + "partition: 100%"),
		"partition 0%":         good(update + "partition: 0%"),
		"partition -1":         bad(update+"partition: 0 or more", update+"partition: -1"),
		"partition '-1'":       bad(update+"partition: 0 or more", update+`partition: "-1"`),
		"partition 101%":       bad(update+"partition: at most 100%", update+"partition: 101%"),
		"partition 1.5%":       bad(update+"partition: whole percentage", update+"partition: 1.5%"),
		"partition x":          bad(update+"partition: number (5)", update+"partition: x"),
		"maxUnavailable":       good(update + `maxUnavailable: "2"`),
		"maxUnavailable 0":     bad(update+"maxUnavailable: more than 0", update+"maxUnavailable: 0"),
		"maxUnavailable 0%":    bad(update+"maxUnavailable: at least 1%", update+"maxUnavailable: 0%"),
		"maxUnavailable 101%":  bad(update+"maxUnavailable: at most 100%", update+"maxUnavailable: 101%"),
		"groups":               good(update + "matchLabelKeys: [zone, a.io/b]"),
		"groups, bad key":      bad(update+"matchLabelKeys[0]: name part", update+"matchLabelKeys: ['a b']"),
		"groups twice":         bad(update+"matchLabelKeys[1]: Duplicate", update+"matchLabelKeys: [a, a]"),
		"groups, selected":     bad(update+"matchLabelKeys[0]: is in selector.matchLabels", update+"matchLabelKeys: [app]"),
		"nothing optional":     good(effect+":", "spec.updateStrategy:"),
	})
	old := edited[v1alpha1.ConfigMapSet](t, soundConfigMapSet)
	compare(t, ValidateConfigMapSet(old, edited[v1alpha1.ConfigMapSet](t, soundConfigMapSet, "spec.selector: {matchLabels: {app: db}}")), []string{"spec.selector: cannot be changed"})
	compare(t, ValidateConfigMapSet(old, edited[v1alpha1.ConfigMapSet](t, soundConfigMapSet, "spec.data: {b: c}", update+"paused: true", first+".mountPath: /d")), nil)
	broken := edited[v1alpha1.ConfigMapSet](t, soundConfigMapSet, update+"partition: x")
	compare(t, ValidateConfigMapSet(broken, broken), nil)
	ValidateConfigMapSet(nil, &v1alpha1.ConfigMapSet{}) // no panic
}

func TestValidateConfigMapSetHistory(t *testing.T) {
	entry := func(version, text string) v1alpha1.ConfigMapSetRevisionEntry {
		data := map[string]string{"a": text}
		return v1alpha1.ConfigMapSetRevisionEntry{Hash: v1alpha1.ConfigMapSetRevision(data), CustomVersion: version, Data: data}
	}
	v1, v2, large := entry("one", "1"), entry("", "2"), entry("", strings.Repeat("x", 500<<10))
	cases := map[string]struct {
		edits   []string
		history ConfigMapSetHistory
		status  v1alpha1.ConfigMapSetStatus
		want    []string
	}{
		"the first content": {},
		"one in use, room":  {edits: []string{"spec.data: {a: '3'}"}, history: ConfigMapSetHistory{Revisions: []v1alpha1.ConfigMapSetRevisionEntry{v1}, Pods: map[string][]string{v1.Hash: {"p"}}}},
		"all in use": {edits: []string{"spec.data: {a: '3'}", "spec.revisionHistoryLimit: 2"},
			history: ConfigMapSetHistory{Revisions: []v1alpha1.ConfigMapSetRevisionEntry{v1, v2}, Pods: map[string][]string{v1.Hash: {"p2", "p1"}}},
			status:  v1alpha1.ConfigMapSetStatus{UpdateRevision: v2.Hash, UpdatedReplicas: 1},
			want:    []string{"spec.revisionHistoryLimit: 2 revisions are in use besides the new one, by pods p1, p2"}},
		"many pods": {edits: []string{"spec.data: {a: '3'}", "spec.revisionHistoryLimit: 1"},
			history: ConfigMapSetHistory{Revisions: []v1alpha1.ConfigMapSetRevisionEntry{v1}, Pods: map[string][]string{v1.Hash: {"a", "b", "c", "d", "e", "f", "g"}}},
			want:    []string{"spec.revisionHistoryLimit: pods a, b, c, d, e and 2 more"}},
		"one free": {edits: []string{"spec.data: {a: '3'}", "spec.revisionHistoryLimit: 2"},
			history: ConfigMapSetHistory{Revisions: []v1alpha1.ConfigMapSetRevisionEntry{v1, v2}}, status: v1alpha1.ConfigMapSetStatus{CurrentRevision: v2.Hash}},
		"a target that no pod has": {edits: []string{"spec.data: {a: '3'}", "spec.revisionHistoryLimit: 1"},
			history: ConfigMapSetHistory{Revisions: []v1alpha1.ConfigMapSetRevisionEntry{v2}}, status: v1alpha1.ConfigMapSetStatus{UpdateRevision: v2.Hash}},
		"back to content that is kept": {edits: []string{"spec.data: {a: '1'}", "spec.revisionHistoryLimit: 2"},
			history: ConfigMapSetHistory{Revisions: []v1alpha1.ConfigMapSetRevisionEntry{v1, v2}, Pods: map[string][]string{v1.Hash: {"p"}, v2.Hash: {"q"}}}},
		"a limit below what is in use": {edits: []string{"spec.data: {a: '1'}", "spec.revisionHistoryLimit: 1"},
			history: ConfigMapSetHistory{Revisions: []v1alpha1.ConfigMapSetRevisionEntry{v1, v2}, Pods: map[string][]string{v2.Hash: {"q"}}},
			want:    []string{"spec.revisionHistoryLimit: by pods q"}},
		"a name that is taken": {edits: []string{"spec.data: {a: '2'}", "spec.customVersion: one"}, history: ConfigMapSetHistory{Revisions: []v1alpha1.ConfigMapSetRevisionEntry{v1}},
			want: []string{"spec.customVersion: names other content already"}},
		"no name twice":     {edits: []string{"spec.data: {a: '3'}"}, history: ConfigMapSetHistory{Revisions: []v1alpha1.ConfigMapSetRevisionEntry{v2}}},
		"the same, renamed": {edits: []string{"spec.data: {a: '1'}", "spec.customVersion: two"}, history: ConfigMapSetHistory{Revisions: []v1alpha1.ConfigMapSetRevisionEntry{v1}}},
		"large beside what is in use": {edits: []string{"spec.data: {a: " + strings.Repeat("y", 500<<10) + "}"},
			history: ConfigMapSetHistory{Revisions: []v1alpha1.ConfigMapSetRevisionEntry{large}, Pods: map[string][]string{large.Hash: {"p"}}},
			want:    []string{"spec.data: too large beside the 1 revisions in use"}},
		"large beside what is free": {edits: []string{"spec.data: {a: " + strings.Repeat("y", 500<<10) + "}"}, history: ConfigMapSetHistory{Revisions: []v1alpha1.ConfigMapSetRevisionEntry{large}}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			obj := edited[v1alpha1.ConfigMapSet](t, soundConfigMapSet, c.edits...)
			obj.Status = c.status
			compare(t, ValidateConfigMapSetHistory(obj, c.history), c.want)
		})
	}
}

func TestValidateReloadSidecar(t *testing.T) {
	set := func(edits ...string) *v1beta1.SidecarSet {
		return edited[v1beta1.SidecarSet](t, soundSidecarSet, edits...)
	}
	const (
		sidecarSet = "spec.reloadSidecarConfig: {type: sidecarset, config: {sidecarSetRef: {name: logs, containerName: log}}}"
		custom     = "spec.reloadSidecarConfig: {type: custom, config: {configMapRef: {name: c, namespace: d}}}"
		path       = "spec.reloadSidecarConfig.config."
	)
	cases := map[string]struct {
		edit     string
		facts    ReloadSidecarFacts
		want     []string
		warnings int
	}{
		"nothing":                 {edit: "spec.reloadSidecarConfig:"},
		"SidecarSet":              {edit: sidecarSet, facts: ReloadSidecarFacts{SidecarSet: set()}},
		"no SidecarSet":           {edit: sidecarSet, want: []string{path + "sidecarSetRef.name: Not found"}},
		"no such container":       {edit: sidecarSet, facts: ReloadSidecarFacts{SidecarSet: set("spec.containers[0].name: other")}, want: []string{path + "sidecarSetRef.containerName: must be a container"}},
		"no image":                {edit: sidecarSet, facts: ReloadSidecarFacts{SidecarSet: set("spec.containers[0].image:")}, want: []string{path + "sidecarSetRef.containerName: with an image"}},
		"native sidecar":          {edit: sidecarSet, facts: ReloadSidecarFacts{SidecarSet: set("spec.containers:", "spec.initContainers: [{name: log, image: a, restartPolicy: Always}]")}},
		"plain init container":    {edit: sidecarSet, facts: ReloadSidecarFacts{SidecarSet: set("spec.containers:", "spec.initContainers: [{name: log, image: a}]")}, want: []string{path + "sidecarSetRef.containerName: native sidecar"}},
		"its namespace":           {edit: sidecarSet, facts: ReloadSidecarFacts{SidecarSet: set("spec.namespaceSelector: {matchLabels: {a: b}}"), NamespaceLabels: map[string]string{"a": "b"}}},
		"another namespace":       {edit: sidecarSet, facts: ReloadSidecarFacts{SidecarSet: set("spec.namespaceSelector: {matchLabels: {a: b}}")}, want: []string{path + "sidecarSetRef.name: does not match the namespace"}},
		"perhaps not all pods":    {edit: sidecarSet, facts: ReloadSidecarFacts{SidecarSet: set("spec.selector: {matchLabels: {app: web, tier: front}}")}, warnings: 1},
		"by expressions":          {edit: sidecarSet, facts: ReloadSidecarFacts{SidecarSet: set("spec.selector: {matchExpressions: [{key: app, operator: Exists}]}")}, warnings: 1},
		"ConfigMap":               {edit: custom, facts: ReloadSidecarFacts{ConfigMap: map[string]string{"reload-sidecar": `{"name": "r", "image": "i"}`}}},
		"ConfigMap in YAML":       {edit: custom, facts: ReloadSidecarFacts{ConfigMap: map[string]string{"reload-sidecar": "name: r\nimage: i\ncommand:\n- a\n"}}},
		"no ConfigMap":            {edit: custom, want: []string{path + "configMapRef: Not found"}},
		"no default ConfigMap":    {edit: custom, facts: ReloadSidecarFacts{ConfigMapOptional: true}},
		"bad YAML":                {edit: custom, facts: ReloadSidecarFacts{ConfigMap: map[string]string{"reload-sidecar": "a: b: c\n- d"}}, want: []string{path + "configMapRef: key reload-sidecar"}},
		"no container":            {edit: custom, facts: ReloadSidecarFacts{ConfigMap: map[string]string{"reload-sidecar": "[1]"}}, want: []string{path + "configMapRef: key reload-sidecar is no container"}},
		"container without image": {edit: custom, facts: ReloadSidecarFacts{ConfigMap: map[string]string{"reload-sidecar": "name: a"}}, want: []string{path + "configMapRef: without an image"}},
		"another key":             {edit: custom, facts: ReloadSidecarFacts{ConfigMap: map[string]string{"other": "name: a"}}, want: []string{path + "configMapRef: key reload-sidecar"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			warnings, list := ValidateReloadSidecar(edited[v1alpha1.ConfigMapSet](t, soundConfigMapSet, c.edit), c.facts)
			compare(t, list, c.want)
			if len(warnings) != c.warnings {
				t.Errorf("got warnings %q, want %d", warnings, c.warnings)
			}
		})
	}
}

func TestConfigMapSetConflicts(t *testing.T) {
	peer := func(sidecar string, edits ...string) ConfigMapSetPeer {
		return ConfigMapSetPeer{Set: edited[v1alpha1.ConfigMapSet](t, soundConfigMapSet, edits...), Sidecar: sidecar}
	}
	const (
		other   = "metadata.name: other"
		path    = "spec.containers[0].mountPath: "
		dynamic = `spec.containers: [{mountPath: /conf, nameFrom: {fieldRef: {fieldPath: "metadata.labels['a']"}}}]`
	)
	cases := map[string]struct {
		obj, peer ConfigMapSetPeer
		want      []string
		warnings  int
	}{
		"itself":              {obj: peer("a"), peer: peer("a")},
		"one path":            {obj: peer("a"), peer: peer("b", other), want: []string{path + "is where ConfigMapSet other mounts"}},
		"a path below":        {obj: peer("a"), peer: peer("b", other, "spec.containers[0].mountPath: /conf/d"), want: []string{path + "is where ConfigMapSet other mounts"}},
		"a longer name":       {obj: peer("a"), peer: peer("b", other, "spec.containers[0].mountPath: /config")},
		"another container":   {obj: peer("a"), peer: peer("b", other, "spec.containers[0].name: side")},
		"one sidecar":         {obj: peer("a"), peer: peer("a", other, "spec.containers[0].mountPath: /d"), want: []string{"spec.reloadSidecarConfig: is the reload sidecar of ConfigMapSet other"}},
		"of SidecarSets":      {obj: peer(""), peer: peer("", other, "spec.containers[0].mountPath: /d")},
		"told apart by label": {obj: peer("a", "spec.selector.matchLabels: {env: a}"), peer: peer("a", other, "spec.selector.matchLabels: {env: b}")},
		"other labels":        {obj: peer("a", "spec.selector.matchLabels: {env: a}"), peer: peer("a", other, "spec.containers[0].mountPath: /d", "spec.selector.matchLabels: {tier: b}"), want: []string{"spec.reloadSidecarConfig: matches the same pods"}},
		"one label of pods":   {obj: peer("a", dynamic), peer: peer("b", other, dynamic), want: []string{path + "is where ConfigMapSet other mounts"}},
		"a label and a name":  {obj: peer("a", dynamic), peer: peer("b", other), warnings: 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			warnings, list := ConfigMapSetConflicts(c.obj, []ConfigMapSetPeer{c.peer})
			compare(t, list, c.want)
			if len(warnings) != c.warnings {
				t.Errorf("got warnings %q, want %d", warnings, c.warnings)
			}
		})
	}
}

func TestValidateConfigMapSetDeletion(t *testing.T) {
	label := func(value string) map[string]string {
		return map[string]string{"policy.kruise.io/delete-protection": value}
	}
	cases := map[string]struct {
		own, namespace map[string]string
		pods, refusals int
	}{
		"unprotected":               {pods: 3},
		"always":                    {own: label("Always"), refusals: 1},
		"cascading, pods":           {own: label("Cascading"), pods: 1, refusals: 1},
		"cascading, no pods":        {own: label("Cascading")},
		"by its namespace":          {namespace: label("Always"), refusals: 1},
		"by its namespace, no pods": {namespace: label("Cascading")},
		"another word":              {own: label("Maybe"), pods: 1},
	}
	got, want := map[string]int{}, map[string]int{}
	for name, c := range cases {
		obj := edited[v1alpha1.ConfigMapSet](t, soundConfigMapSet)
		obj.Labels = c.own
		got[name], want[name] = len(ValidateConfigMapSetDeletion(obj, c.namespace, c.pods)), c.refusals
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("refusals (-want +got):\n%s", diff)
	}
}
