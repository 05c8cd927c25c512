// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

const soundRequest = `
metadata: {name: r, namespace: default, labels: {crr.apps.kruise.io/pod-uid: u, crr.apps.kruise.io/node-name: n}}
spec: {podName: web-0, containers: [{name: app}], strategy: {failurePolicy: Fail}}
`

func TestValidateContainerRecreateRequest(t *testing.T) {
	validate := func(obj *v1beta1.ContainerRecreateRequest) field.ErrorList {
		return ValidateContainerRecreateRequest(nil, obj)
	}
	runRows(t, soundRequest, validate, map[string]row{
		"sound":              good(),
		"no strategy":        good("spec.strategy:"),
		"no pod":             bad("spec.podName: podName can not be empty", "spec.podName: ''"),
		"no containers":      bad("spec.containers: containers list can not be null", "spec.containers: []"),
		"deadline":           good("spec.activeDeadlineSeconds: 3"),
		"deadline too short": bad("spec.activeDeadlineSeconds: activeDeadlineSeconds can not be less than 3s", "spec.activeDeadlineSeconds: 2"),
		"grace period":       bad("spec.strategy.terminationGracePeriodSeconds: terminationGracePeriodSeconds must be non-negative integer", "spec.strategy.terminationGracePeriodSeconds: -1"),
		"unready period":     bad("spec.strategy.unreadyGracePeriodSeconds: unreadyGracePeriodSeconds must be non-negative integer", "spec.strategy.unreadyGracePeriodSeconds: -1"),
		"policy Ignore":      good("spec.strategy.failurePolicy: Ignore"),
		"policy unknown":     bad("spec.strategy.failurePolicy: unknown failurePolicy Sometimes", "spec.strategy.failurePolicy: Sometimes"),
		"all at once, in order": {edits: []string{"spec.podName: ''", "spec.containers: []", "spec.activeDeadlineSeconds: 1"},
			want: []string{"spec.podName: empty", "spec.containers: null", "spec.activeDeadlineSeconds: 3s"}},
	})
}

func TestValidateContainerRecreateRequestUpdate(t *testing.T) {
	cases := map[string]struct {
		edits, want []string
	}{
		"nothing":                        {},
		"other label":                    {edits: []string{"metadata.labels.a: b"}},
		"spec":                           {edits: []string{"spec.podName: web-1"}, want: []string{"spec: spec of ContainerRecreateRequest is immutable"}},
		"pod":                            {edits: []string{"metadata.labels: {crr.apps.kruise.io/node-name: n}"}, want: []string{"metadata.labels[crr.apps.kruise.io/pod-uid]: immutable label crr.apps.kruise.io/pod-uid"}},
		"node":                           {edits: []string{"metadata.labels: {crr.apps.kruise.io/pod-uid: u}"}, want: []string{"metadata.labels[crr.apps.kruise.io/node-name]: immutable label crr.apps.kruise.io/node-name"}},
		"a broken object stays editable": {edits: []string{"metadata.labels.c: d"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			old, obj := edited[v1beta1.ContainerRecreateRequest](t, soundRequest), edited[v1beta1.ContainerRecreateRequest](t, soundRequest, c.edits...)
			compare(t, ValidateContainerRecreateRequest(old, obj), c.want)
			oldest, newest := edited[v1alpha1.ContainerRecreateRequest](t, soundRequest), edited[v1alpha1.ContainerRecreateRequest](t, soundRequest, c.edits...)
			compare(t, ValidateOldContainerRecreateRequest(oldest, newest), c.want)
		})
	}
	const since = "2026-01-02T03:04:05Z"
	old, obj := edited[v1alpha1.ContainerRecreateRequest](t, soundRequest), edited[v1alpha1.ContainerRecreateRequest](t, soundRequest)
	obj.Annotations = map[string]string{v1beta1.ContainerRecreateRequestUnreadyAcquiredKey: since}
	compare(t, ValidateOldContainerRecreateRequest(old, obj), nil)
	compare(t, ValidateOldContainerRecreateRequest(obj, old), []string{"metadata.annotations[crr.apps.kruise.io/unready-acquired]: immutable annotation"})
}

func TestValidateContainerRecreateRequestPod(t *testing.T) {
	const soundPod = `
spec: {nodeName: n, containers: [{name: app}, {name: new}, {name: starting}], initContainers: [{name: init}]}
status: {phase: Running, containerStatuses: [{name: app, containerID: "c://1"}, {name: starting}]}
`
	cases := map[string]struct {
		pod, edits, want []string
	}{
		"sound":             {},
		"finished":          {pod: []string{"status.phase: Succeeded"}, want: []string{"spec.podName: not allowed to recreate containers in an inactive Pod"}},
		"finished early":    {pod: []string{"status.phase: Succeeded", `status.conditions: [{type: SidecarTerminated, status: "True"}]`}},
		"being deleted":     {pod: []string{`metadata.deletionTimestamp: "2026-01-02T03:04:05Z"`}, want: []string{"spec.podName: inactive Pod"}},
		"not scheduled":     {pod: []string{"spec.nodeName:"}, want: []string{"spec.podName: not allowed to recreate containers in a pending Pod"}},
		"twice":             {edits: []string{"spec.containers[1]: {name: app}"}, want: []string{"spec.containers[1].name: can not recreate app multi times"}},
		"preStop":           {edits: []string{"spec.containers[0].preStop: {exec: {command: [a]}}"}, want: []string{"spec.containers[0]: preStop, ports, statusContext in container are ready-only fields"}},
		"context":           {edits: []string{"spec.containers[0].statusContext: {containerID: a, restartCount: 1}"}, want: []string{"spec.containers[0]: ready-only fields"}},
		"not in the pod":    {edits: []string{"spec.containers[0].name: b"}, want: []string{"spec.containers[0].name: container b not found in Pod"}},
		"not made yet":      {edits: []string{"spec.containers[0].name: new"}, want: []string{"spec.containers[0].name: not found new containerStatus in Pod Status"}},
		"no instance yet":   {edits: []string{"spec.containers[0].name: starting"}, want: []string{"spec.containers[0].name: no containerID in starting containerStatus, maybe the container has not been initialized"}},
		"an init container": {edits: []string{"spec.containers[0].name: init"}, want: []string{"spec.containers[0].name: not found init containerStatus in Pod Status"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			obj := edited[v1beta1.ContainerRecreateRequest](t, soundRequest, c.edits...)
			compare(t, ValidateContainerRecreateRequestPod(obj, edited[corev1.Pod](t, soundPod, c.pod...)), c.want)
		})
	}
	compare(t, ValidateContainerRecreateRequestPod(edited[v1beta1.ContainerRecreateRequest](t, soundRequest), nil), []string{"spec.podName: no found Pod named web-0"})
}

const soundPullJob = `
metadata: {name: j, namespace: default}
spec: {image: "nginx:1.25", completionPolicy: {type: Always}, pullSecrets: [a]}
`

// pullRows are the rules that both kinds of jobs share.
func pullRows() map[string]row {
	return map[string]row{
		"sound":                 good(),
		"no type":               good("spec.completionPolicy: {}"),
		"names":                 good("spec.selector: {names: [a, b]}"),
		"labels":                good("spec.selector: {matchLabels: {a: b}}"),
		"all nodes":             good("spec.selector: {}"),
		"names and labels":      bad("spec.selector: can not set both names and labelSelector in this spec.selector", "spec.selector: {names: [a], matchLabels: {a: b}}"),
		"names twice":           bad("spec.selector.names[1]: duplicated name in selector names", "spec.selector: {names: [a, a]}"),
		"bad selector":          bad("spec.selector.matchExpressions[0].operator: not a valid", "spec.selector: {matchExpressions: [{key: a, operator: Sideways}]}"),
		"pods":                  good("spec.podSelector: {matchLabels: {a: b}}"),
		"pods and nodes":        bad("spec.podSelector: can not set both selector and podSelector", "spec.selector: {names: [a]}", "spec.podSelector: {matchLabels: {a: b}}"),
		"bad podSelector":       bad("spec.podSelector: invalid podSelector", "spec.podSelector: {matchExpressions: [{key: b, operator: NotIn, values: ['a b']}]}"),
		"parallelism":           good("spec.parallelism: 0"),
		"parallelism in quotes": good(`spec.parallelism: "5"`),
		"parallelism, percent":  bad("spec.parallelism: parallelism does not support percentage value", "spec.parallelism: 10%"),
		"parallelism, a word":   bad("spec.parallelism: parallelism must be a valid integer", "spec.parallelism: many"),
		"parallelism, negative": bad("spec.parallelism: parallelism must be non-negative", "spec.parallelism: -1"),
		"Never":                 good("spec.completionPolicy.type: Never"),
		"Never with a deadline": bad("spec.completionPolicy: can only work with Always CompletionPolicyType", "spec.completionPolicy: {type: Never, activeDeadlineSeconds: 5}"),
		"Never with a ttl":      bad("spec.completionPolicy: can only work with Always CompletionPolicyType", "spec.completionPolicy: {type: Never, ttlSecondsAfterFinished: 5}"),
		"type":                  bad("spec.completionPolicy.type: unknown type of completionPolicy: Often", "spec.completionPolicy.type: Often"),
		"pull policy":           bad("spec.imagePullPolicy: supported values", "spec.imagePullPolicy: Never"),
	}
}

func TestValidateImagePullJob(t *testing.T) {
	validate := func(obj *v1beta1.ImagePullJob) field.ErrorList { return ValidateImagePullJob(nil, obj) }
	runRows(t, soundPullJob, validate, pullRows())
	const deadline = "spec.completionPolicy.activeDeadlineSeconds: "
	runRows(t, soundPullJob, validate, map[string]row{
		"no image":                   bad("spec.image: image can not be empty", "spec.image: ''"),
		"bad image":                  bad("spec.image: invalid image Nginx", "spec.image: Nginx"),
		"deadline of the default":    good(deadline + "600"),
		"deadline below the default": bad("spec.completionPolicy.activeDeadlineSeconds: must be greater than pullPolicy.timeoutSeconds(default 600)", deadline+"599"),
		"deadline of its timeout":    good(deadline+"5", "spec.pullPolicy.timeoutSeconds: 5"),
		"deadline below its timeout": bad("spec.completionPolicy.activeDeadlineSeconds: must be greater", deadline+"4", "spec.pullPolicy.timeoutSeconds: 5"),
	})
	old := func(obj *v1alpha1.ImagePullJob) field.ErrorList { return ValidateOldImagePullJob(nil, obj) }
	runRows(t, soundPullJob, old, map[string]row{"sound": good(), "no image": bad("spec.image: empty", "spec.image: ''")})
	job, other := edited[v1beta1.ImagePullJob](t, soundPullJob), edited[v1beta1.ImagePullJob](t, soundPullJob, "spec.pullSecrets: [b]")
	compare(t, ValidateImagePullJob(job, other), []string{"spec.pullSecrets: spec.pullSecrets is immutable"})
	// A completed job is not acted on again, so nothing may be asked of it (IP-04).
	over := func(edits ...string) *v1beta1.ImagePullJob {
		return edited[v1beta1.ImagePullJob](t, soundPullJob, append(edits, "status: {desired: 1, completionTime: '2026-01-02T03:04:05Z'}")...)
	}
	const overWords = ": the job has completed and would not act on it"
	compare(t, ValidateImagePullJob(over(), over("spec.image: redis")), []string{"spec.image" + overWords})
	compare(t, ValidateImagePullJob(over(), over("spec.selector: {names: [other]}")), []string{"spec.selector" + overWords})
	compare(t, ValidateImagePullJob(over(), over("spec.podSelector: {matchLabels: {a: b}}")), []string{"spec.podSelector" + overWords})
	compare(t, ValidateImagePullJob(over(), over("spec.completionPolicy.ttlSecondsAfterFinished: 1")), nil)
	broken := edited[v1beta1.ImagePullJob](t, soundPullJob, "spec.parallelism: -1")
	compare(t, ValidateImagePullJob(broken, edited[v1beta1.ImagePullJob](t, soundPullJob, "spec.parallelism: -1", "metadata.labels: {a: b}")), nil)
}

func TestValidateImageListPullJob(t *testing.T) {
	base := strings.Replace(soundPullJob, `image: "nginx:1.25"`, `images: ["nginx:1.25", redis]`, 1)
	validate := func(obj *v1beta1.ImageListPullJob) field.ErrorList { return ValidateImageListPullJob(nil, obj) }
	many := func(n int) string {
		var images []string
		for i := range n {
			images = append(images, fmt.Sprintf("i%d", i))
		}
		return "spec.images: [" + strings.Join(images, ", ") + "]"
	}
	runRows(t, base, validate, pullRows())
	runRows(t, base, validate, map[string]row{
		"no images":        bad("spec.images: image can not be empty", "spec.images: []"),
		"an empty image":   bad("spec.images[0]: image can not be empty", "spec.images: ['']"),
		"bad image":        bad("spec.images[1]: invalid image a b", "spec.images: [a, 'a b']"),
		"twice":            bad("spec.images[1]: images cannot have duplicate values", "spec.images: [a, a]"),
		"255":              good(many(255)),
		"256":              bad("spec.images: the maximum number of images cannot > 255", many(256)),
		"a short deadline": good("spec.completionPolicy.activeDeadlineSeconds: 1"),
	})
	old := func(obj *v1alpha1.ImageListPullJob) field.ErrorList { return ValidateOldImageListPullJob(nil, obj) }
	runRows(t, base, old, map[string]row{"sound": good(), "twice": bad("spec.images[1]: duplicate values", "spec.images: [a, a]")})
	compare(t, ValidateImageListPullJob(edited[v1beta1.ImageListPullJob](t, base), edited[v1beta1.ImageListPullJob](t, base, "spec.pullSecrets: [b]")), nil)
}

func TestValidateNodeImage(t *testing.T) {
	const base = `
metadata: {name: n}
spec: {images: {nginx: {tags: [{tag: "1", createdAt: "2026-01-02T03:04:05Z", version: 0, pullPolicy: {ttlSecondsAfterFinished: 5}}]}}}
`
	const first = "spec.images.nginx.tags[0]."
	validate := func(obj *v1beta1.NodeImage) field.ErrorList { return ValidateNodeImage(nil, obj) }
	runRows(t, base, validate, map[string]row{
		"sound":     good(),
		"nothing":   good("spec.images:"),
		"no tag":    bad("spec.images[nginx].tags[0].tag: name the tag", first+"tag: ''"),
		"tag twice": bad("spec.images[nginx].tags[1].tag: Duplicate", `spec.images.nginx.tags[1]: {tag: "1", createdAt: "2026-01-02T03:04:05Z", pullPolicy: {ttlSecondsAfterFinished: 5}}`),
		"no time":   bad("spec.images[nginx].tags[0].createdAt: asked for", first+"createdAt:"),
		"version":   bad("spec.images[nginx].tags[0].version: 0 or more", first+"version: -1"),
		"no policy": bad("spec.images[nginx].tags[0].pullPolicy: how long", first+"pullPolicy:"),
		"no ttl":    bad("spec.images[nginx].tags[0].pullPolicy.ttlSecondsAfterFinished: dropped", first+"pullPolicy: {timeoutSeconds: 5}"),
		"policy":    bad("spec.images[nginx].tags[0].imagePullPolicy: supported values", first+"imagePullPolicy: Never"),
	})
	nameless := edited[v1beta1.NodeImage](t, base)
	nameless.Spec.Images[""] = v1beta1.ImageSpec{}
	compare(t, ValidateNodeImage(nil, nameless), []string{"spec.images[]: name the image"})
	compare(t, ValidateNodeImage(nameless, nameless), nil)
	for i := range 256 {
		nameless.Spec.Images[fmt.Sprint("i", i)] = v1beta1.ImageSpec{}
	}
	compare(t, ValidateNodeImage(nil, nameless), []string{"spec.images: Too many"})
	compare(t, ValidateOldNodeImage(nil, edited[v1alpha1.NodeImage](t, base, first+"version: -1")), []string{"spec.images[nginx].tags[0].version: 0 or more"})
}

func TestValidatePodProbeMarker(t *testing.T) {
	const base = `
metadata: {name: m, namespace: default}
spec:
  selector: {matchLabels: {app: web}}
  probes: [{name: healthy, containerName: main, probe: {exec: {command: [a]}}, podConditionType: game.io/healthy}]
`
	const (
		first = "spec.probes[0]."
		probe = first + "probe"
	)
	validate := func(obj *v1alpha1.PodProbeMarker) field.ErrorList { return ValidatePodProbeMarker(nil, obj) }
	runRows(t, base, validate, map[string]row{
		"sound":                good(),
		"no selector":          bad("spec.selector: Required", "spec.selector:"),
		"empty selector":       bad("spec.selector: must not be empty", "spec.selector: {}"),
		"no probes":            bad("spec.probes: at least one", "spec.probes: []"),
		"no name":              bad(first+"name: name the probe", first+"name: ''"),
		"a name with #":        bad(first+"name: '#'", first+"name: 'a#b'"),
		"a name that is taken": bad(first+"name: is taken", first+"name: KruisePodReady"),
		"name twice":           bad("spec.probes[1].name: Duplicate", "spec.probes[1]: {name: healthy, containerName: b, probe: {exec: {command: [a]}}, podConditionType: other}"),
		"no container":         bad(first+"containerName: name the container to probe", first+"containerName: ''"),
		"no handler":           bad(probe+": exactly one", probe+": {}"),
		"two handlers":         bad(probe+": exactly one", probe+": {exec: {command: [a]}, tcpSocket: {port: 1}}"),
		"grpc":                 good(probe + ": {grpc: {port: 1, service: a.B}}"),
		"grpc, bad port":       bad(probe+".grpc.port: between 1 and 65535", probe+": {grpc: {port: 0}}"),
		"grpc and another":     bad(probe+": exactly one", probe+": {exec: {command: [a]}, grpc: {port: 1}}"),
		"no command":           bad(probe+".exec.command: what to run", probe+": {exec: {}}"),
		"http":                 good(probe + ": {httpGet: {path: /a, port: http, scheme: HTTP}}"),
		"http without path":    bad(probe+".httpGet.path: which path", probe+": {httpGet: {port: 80, scheme: HTTP}}"),
		"http without scheme":  bad(probe+".httpGet.scheme: supported values", probe+": {httpGet: {path: /, port: 80}}"),
		"http, bad path":       bad(probe+".httpGet.path: must be the path of a URL", probe+": {httpGet: {path: '%zz', port: 80, scheme: HTTP}}"),
		"http to a host":       bad(probe+".httpGet.host: take the field out", probe+": {httpGet: {path: /, port: 80, scheme: HTTP, host: a}}"),
		"http, bad port":       bad(probe+".httpGet.port: between 1 and 65535", probe+": {httpGet: {path: /, port: 0, scheme: HTTP}}"),
		"http, bad header":     bad(probe+".httpGet.httpHeaders[0].name: HTTP header", probe+": {httpGet: {path: /, port: 80, scheme: HTTP, httpHeaders: [{name: 'a b'}]}}"),
		"tcp":                  good(probe + ": {tcpSocket: {port: 1}}"),
		"tcp to a host":        bad(probe+".tcpSocket.host: take the field out", probe+": {tcpSocket: {port: 1, host: a}}"),
		"negative":             bad(probe+".periodSeconds: 0 or more", probe+".periodSeconds: -1"),
		"nowhere to go":        bad("spec.probes[0]: set podConditionType or markerPolicy", first+"podConditionType:"),
		"condition":            bad(first+"podConditionType: name part", first+"podConditionType: 'a b'"),
		"a taken condition":    bad(first+"podConditionType: is a pod condition that Kubernetes or Flotilla writes", first+"podConditionType: KruisePodReady"),
		"condition twice":      bad("spec.probes[1].podConditionType: Duplicate", "spec.probes[1]: {name: b, containerName: b, probe: {exec: {command: [a]}}, podConditionType: game.io/healthy}"),
		"markers":              good(first + "markerPolicy: [{state: Succeeded, labels: {a: b}}, {state: Failed, annotations: {c: d}}]"),
		"markers, state":       bad(first+"markerPolicy[0].state: marker policy state must be 'True' or 'False'", first+"markerPolicy: [{state: Unknown, labels: {a: b}}]"),
		"markers twice":        bad(first+"markerPolicy[1].state: Duplicate", first+"markerPolicy: [{state: Failed, labels: {a: b}}, {state: Failed, labels: {a: b}}]"),
		"no markers":           bad(first+"markerPolicy[0]: nothing to mark", first+"markerPolicy: [{state: Failed}]"),
		"bad marker":           bad(first+"markerPolicy[0].labels: name part", first+"markerPolicy: [{state: Failed, labels: {'a b': c}}]"),
	})
	old, obj := edited[v1alpha1.PodProbeMarker](t, base), edited[v1alpha1.PodProbeMarker](t, base, "spec.selector: {matchLabels: {app: db}}")
	compare(t, ValidatePodProbeMarker(old, obj), []string{"spec.selector: cannot be changed"})
	compare(t, ValidatePodProbeMarker(old, edited[v1alpha1.PodProbeMarker](t, base, first+"containerName: other")), nil)

	// Nodes get a marker's probes once for each pod. A stored one that has more bytes than may be gets no larger.
	command := func(n int) string { return probe + ": {exec: {command: [" + strings.Repeat("x", n) + "]}}" }
	compare(t, validate(edited[v1alpha1.PodProbeMarker](t, base, command(16<<10-100))), nil)
	compare(t, validate(edited[v1alpha1.PodProbeMarker](t, base, command(16<<10))), []string{"spec.probes: at most 16384 may be"})
	old = edited[v1alpha1.PodProbeMarker](t, base, command(20_000))
	compare(t, ValidatePodProbeMarker(old, edited[v1alpha1.PodProbeMarker](t, base, command(19_000))), nil)
	compare(t, ValidatePodProbeMarker(old, edited[v1alpha1.PodProbeMarker](t, base, command(20_001))), []string{"spec.probes: make a second PodProbeMarker"})

	// Stored ones that have a taken condition stay changeable; none gets one.
	const taken = first + "podConditionType: PodReadyToStartContainers"
	old = edited[v1alpha1.PodProbeMarker](t, base, taken)
	compare(t, ValidatePodProbeMarker(old, edited[v1alpha1.PodProbeMarker](t, base, taken, first+"containerName: other")), nil)
	compare(t, ValidatePodProbeMarker(old, edited[v1alpha1.PodProbeMarker](t, base, first+"podConditionType: Ready")), []string{first + "podConditionType: choose another"})
}

// Objects with nothing in them are complained of, and crash nothing.
func TestMinimalOperations(t *testing.T) {
	ValidateSidecarSet(nil, &v1beta1.SidecarSet{}, &SidecarSetFacts{Others: []v1beta1.SidecarSet{{}}})
	ValidateSidecarSet(&v1beta1.SidecarSet{}, &v1beta1.SidecarSet{}, &SidecarSetFacts{})
	ValidateOldSidecarSet(nil, &v1alpha1.SidecarSet{}, nil)
	ValidateContainerRecreateRequest(nil, &v1beta1.ContainerRecreateRequest{})
	ValidateContainerRecreateRequestPod(&v1beta1.ContainerRecreateRequest{}, &corev1.Pod{})
	ValidateImagePullJob(nil, &v1beta1.ImagePullJob{})
	ValidateImageListPullJob(nil, &v1beta1.ImageListPullJob{})
	ValidateNodeImage(nil, &v1beta1.NodeImage{})
	ValidatePodProbeMarker(nil, &v1alpha1.PodProbeMarker{})
	var set v1beta1.SidecarSet
	if err := yaml.Unmarshal([]byte(`{spec: {containers: [{}], initContainers: [{resourcesPolicy: {}}], patchPodMetadata: [{}], updateStrategy: {priorityStrategy: {}}}}`), &set); err != nil {
		t.Fatal(err)
	}
	if len(ValidateSidecarSet(nil, &set, nil)) == 0 {
		t.Error("want complaints")
	}
}
