// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package podtemplate

import (
	"math/rand"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/yaml"
)

// specDefaults is what every pod spec gets.
const specDefaults = `
  dnsPolicy: ClusterFirst
  restartPolicy: Always
  schedulerName: default-scheduler
  securityContext: {}
  terminationGracePeriodSeconds: 30
`

// containerDefaults is what every container gets.
const containerDefaults = `
    terminationMessagePath: /dev/termination-log
    terminationMessagePolicy: File
`

func TestDefault(t *testing.T) {
	cases := map[string]struct {
		in, want string
		opts     Options
	}{
		"empty":                 {in: `{}`, want: "spec:" + specDefaults},
		"what is set stays":     {in: `spec: {dnsPolicy: Default, restartPolicy: Never, schedulerName: s, terminationGracePeriodSeconds: 0, securityContext: {runAsUser: 1}}`, want: `spec: {dnsPolicy: Default, restartPolicy: Never, schedulerName: s, terminationGracePeriodSeconds: 0, securityContext: {runAsUser: 1}}`},
		"service account alone": {in: `spec: {serviceAccountName: a}`, want: "spec:\n  serviceAccountName: a" + specDefaults},
		"app containers always pull, init containers by tag": {
			in: `
spec:
  initContainers:
  - {name: a, image: "r:5000/a"}
  - {name: b, image: "r:5000/a:latest"}
  - {name: c, image: "a:1"}
  - {name: d, image: "a@sha256:0"}
  - {name: e, image: "a:latest@sha256:0"}
  containers:
  - {name: f, image: "a:1"}
  - {name: g, image: "a", imagePullPolicy: Never}
`, want: "spec:" + specDefaults + `
  initContainers:
  - name: a
    image: r:5000/a
    imagePullPolicy: Always` + containerDefaults + `
  - name: b
    image: r:5000/a:latest
    imagePullPolicy: Always` + containerDefaults + `
  - name: c
    image: a:1
    imagePullPolicy: IfNotPresent` + containerDefaults + `
  - name: d
    image: a@sha256:0
    imagePullPolicy: IfNotPresent` + containerDefaults + `
  - name: e
    image: a:latest@sha256:0
    imagePullPolicy: Always` + containerDefaults + `
  containers:
  - name: f
    image: a:1
    imagePullPolicy: Always` + containerDefaults + `
  - name: g
    image: a
    imagePullPolicy: Never` + containerDefaults,
		},
		"inside a container": {
			in: `
spec:
  containers:
  - name: a
    ports: [{containerPort: 80}, {containerPort: 81, protocol: UDP}]
    env: [{name: a, valueFrom: {fieldRef: {fieldPath: metadata.name}}}, {name: b, value: v}]
    resources: {requests: {cpu: "0.0001"}, limits: {memory: 1Gi}}
    livenessProbe: {httpGet: {port: 80}}
    readinessProbe: {grpc: {port: 80}, periodSeconds: 3}
    startupProbe: {exec: {command: [a]}}
    lifecycle: {postStart: {httpGet: {port: 80}}, preStop: {exec: {command: [a]}}}
`, want: "spec:" + specDefaults + `
  containers:
  - name: a
    imagePullPolicy: Always` + containerDefaults + `
    ports: [{containerPort: 80, protocol: TCP}, {containerPort: 81, protocol: UDP}]
    env: [{name: a, valueFrom: {fieldRef: {fieldPath: metadata.name, apiVersion: v1}}}, {name: b, value: v}]
    resources: {requests: {cpu: 1m}, limits: {memory: 1Gi}}
    livenessProbe: {httpGet: {port: 80, path: /, scheme: HTTP}, timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3}
    readinessProbe: {grpc: {port: 80, service: ""}, timeoutSeconds: 1, periodSeconds: 3, successThreshold: 1, failureThreshold: 3}
    startupProbe: {exec: {command: [a]}, timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3}
    lifecycle: {postStart: {httpGet: {port: 80, path: /, scheme: HTTP}}, preStop: {exec: {command: [a]}}}
`,
		},
		"volumes": {
			in: `
spec:
  volumes:
  - {name: a}
  - {name: b, hostPath: {path: /}}
  - {name: c, secret: {secretName: s}}
  - {name: d, configMap: {name: c, defaultMode: 256}}
  - {name: e, downwardAPI: {items: [{path: p, fieldRef: {fieldPath: metadata.name}}]}}
  - {name: f, projected: {sources: [{serviceAccountToken: {path: t}}, {downwardAPI: {items: [{path: p, fieldRef: {fieldPath: metadata.name}}]}}]}}
  - {name: g, ephemeral: {volumeClaimTemplate: {spec: {resources: {requests: {storage: "0.0001"}}}}}}
  - {name: h, iscsi: {targetPortal: p, iqn: i, lun: 0}}
`, want: "spec:" + specDefaults + `
  volumes:
  - {name: a, emptyDir: {}}
  - {name: b, hostPath: {path: /, type: ""}}
  - {name: c, secret: {secretName: s, defaultMode: 420}}
  - {name: d, configMap: {name: c, defaultMode: 256}}
  - {name: e, downwardAPI: {defaultMode: 420, items: [{path: p, fieldRef: {fieldPath: metadata.name, apiVersion: v1}}]}}
  - {name: f, projected: {defaultMode: 420, sources: [{serviceAccountToken: {path: t, expirationSeconds: 3600}}, {downwardAPI: {items: [{path: p, fieldRef: {fieldPath: metadata.name, apiVersion: v1}}]}}]}}
  - {name: g, ephemeral: {volumeClaimTemplate: {spec: {volumeMode: Filesystem, resources: {requests: {storage: 1m}}}}}}
  - {name: h, iscsi: {targetPortal: p, iqn: i, lun: 0, iscsiInterface: default}}
`,
		},
		"host ports on the host network, when asked for": {
			in:   "spec: {hostNetwork: true, containers: [{name: a, ports: [{containerPort: 80}, {containerPort: 81, hostPort: 82}]}]}",
			opts: Options{HostPorts: true},
			want: "spec:" + specDefaults + `
  hostNetwork: true
  containers:
  - name: a
    imagePullPolicy: Always` + containerDefaults + `
    ports: [{containerPort: 80, hostPort: 80, protocol: TCP}, {containerPort: 81, hostPort: 82, protocol: TCP}]
`,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var got, want corev1.PodTemplateSpec
			parse(t, c.in, &got)
			parse(t, c.want, &want)
			Default(&got, c.opts)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestDefaultClaim(t *testing.T) {
	var got, want corev1.PersistentVolumeClaim
	parse(t, `spec: {resources: {requests: {storage: "0.0001"}}}`, &got)
	parse(t, `{spec: {volumeMode: Filesystem, resources: {requests: {storage: 1m}}}, status: {phase: Pending}}`, &want)
	DefaultClaim(&got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Nil is nothing, and a second time changes nothing, whatever the template.
func TestDefaultIsIdempotent(t *testing.T) {
	Default(nil, Options{})
	DefaultClaim(nil)
	seed := rand.Int63()
	filler := fuzzer.FuzzerFor(metafuzzer.Funcs, rand.NewSource(seed), serializer.NewCodecFactory(runtime.NewScheme()))
	for range 300 {
		var template corev1.PodTemplateSpec
		var claim corev1.PersistentVolumeClaim
		filler.Fill(&template)
		filler.Fill(&claim)
		Default(&template, Options{HostPorts: true})
		DefaultClaim(&claim)
		once, onceClaim := template.DeepCopy(), claim.DeepCopy()
		Default(&template, Options{HostPorts: true})
		DefaultClaim(&claim)
		if diff := cmp.Diff(once, &template) + cmp.Diff(onceClaim, &claim); diff != "" {
			t.Fatalf("seed %d (-once +twice):\n%s", seed, diff)
		}
	}
}

func parse(t *testing.T, text string, into any) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(text), into); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
}
