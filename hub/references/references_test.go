// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package references

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func TestOf(t *testing.T) {
	for name, tc := range map[string]struct {
		object string
		want   []string
	}{
		"nothing":     {`{apiVersion: v1, kind: ConfigMap, data: {containers: x}}`, nil},
		"no pod spec": {`{kind: X, spec: {containers: 3, volumes: [a], imagePullSecrets: {}}}`, nil},
		"each way that a pod names one": {`
kind: CloneSet
spec:
  template:
    spec:
      imagePullSecrets: [{name: pull}]
      initContainers: [{name: i, envFrom: [{configMapRef: {name: all}}, {secretRef: {name: hidden}}]}]
      containers:
      - name: main
        env:
        - {name: A, valueFrom: {configMapKeyRef: {name: one, key: a}}}
        - {name: B, valueFrom: {secretKeyRef: {name: two, key: b}}}
        - {name: C, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
        - {name: D, value: plain}
      volumes:
      - {name: c, configMap: {name: files}}
      - {name: s, secret: {secretName: keys}}
      - {name: d, csi: {driver: d, nodePublishSecretRef: {name: csi}}}
      - {name: p, projected: {sources: [{configMap: {name: part}}, {secret: {name: partly}}, {serviceAccountToken: {path: t}}]}}
      - {name: e, emptyDir: {}}
`, []string{"ConfigMap/all", "ConfigMap/files", "ConfigMap/one", "ConfigMap/part", "Secret/csi", "Secret/hidden", "Secret/keys", "Secret/partly", "Secret/pull", "Secret/two"}},
		"templates and patches of subsets": {`
kind: UnitedDeployment
spec:
  template: {deploymentTemplate: {spec: {template: {spec: {containers: [{name: main, envFrom: [{configMapRef: {name: base}}]}]}}}}}
  topology:
    subsets:
    - {name: a, patch: {spec: {template: {spec: {containers: [{name: main, env: [{name: A, valueFrom: {configMapKeyRef: {name: zone-a, key: x}}}]}]}}}}}
    - {name: b, patch: {spec: {template: {spec: {volumes: [{name: s, secret: {secretName: zone-b}}]}}}}}
`, []string{"ConfigMap/base", "ConfigMap/zone-a", "Secret/zone-b"}},
		"jobs of a schedule": {`{kind: AdvancedCronJob, spec: {template: {jobTemplate: {spec: {template: {spec: {containers: [{name: m, envFrom: [{secretRef: {name: s}}]}]}}}}}}}`,
			[]string{"Secret/s"}},
		"what every namespace has, and twice the same": {`
kind: Deployment
spec: {template: {spec: {containers: [{name: a, envFrom: [{configMapRef: {name: x}}]}, {name: b, envFrom: [{configMapRef: {name: x}}]}],
  volumes: [{name: ca, configMap: {name: kube-root-ca.crt}}]}}}`, []string{"ConfigMap/x"}},
		"what cannot be read hides nothing else": {`
kind: Deployment
spec: {template: {spec: {containers: [{name: 7, env: 3}, {name: b, envFrom: [{configMapRef: {name: x}}]}, text], volumes: [{name: s, secret: {secretName: z}}, 3]}}}`,
			[]string{"ConfigMap/x", "Secret/z"}},
	} {
		t.Run(name, func(t *testing.T) {
			object := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(tc.object), &object.Object); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, Of(object)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParse(t *testing.T) {
	for text, ok := range map[string]bool{"ConfigMap/a": true, "Secret/b.c": true, "Secret/": false, "Pod/a": false, "Secret": false, "": false} {
		r, got := Parse(text)
		if got != ok || ok && r.String() != text {
			t.Errorf("%q: %v, %v", text, r, got)
		}
	}
}
