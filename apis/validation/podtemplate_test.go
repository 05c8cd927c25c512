// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const soundTemplate = `
metadata: {labels: {app: web}}
spec:
  initContainers: [{name: init, image: a}]
  containers: [{name: main, image: "web:1"}, {name: side, image: "side:1"}]
`

func validateTemplate(template *corev1.PodTemplateSpec) field.ErrorList {
	p := &problems{}
	p.podTemplate(field.NewPath("t"), template, nil)
	return p.list
}

func TestPodTemplateSettings(t *testing.T) {
	runRows(t, soundTemplate, validateTemplate, map[string]row{
		"sound":                          good(),
		"label":                          bad("t.metadata.labels: Invalid value", "metadata.labels: {app: 'a b'}"),
		"annotation":                     bad("t.metadata.annotations: Invalid value", "metadata.annotations: {'a b': c}"),
		"ephemeral containers":           bad("t.spec.ephemeralContainers: take them out", "spec.ephemeralContainers: [{name: e, image: a}]"),
		"restart policy":                 bad("t.spec.restartPolicy: supported values", "spec.restartPolicy: Sometimes"),
		"DNS policy":                     bad("t.spec.dnsPolicy: supported values", "spec.dnsPolicy: Some"),
		"DNS of one's own":               good("spec.dnsPolicy: None", "spec.dnsConfig: {nameservers: [10.0.0.1], options: [{name: ndots}]}"),
		"DNS of nobody":                  bad("t.spec.dnsConfig.nameservers: at least one name server", "spec.dnsPolicy: None"),
		"DNS server by name":             bad("t.spec.dnsConfig.nameservers[0]: Invalid value", "spec.dnsConfig: {nameservers: [dns]}"),
		"DNS option without a name":      bad("t.spec.dnsConfig.options[0].name: name the resolver option", "spec.dnsConfig: {options: [{}]}"),
		"names of others":                good("spec.serviceAccountName: a", "spec.nodeName: n.x", "spec.priorityClassName: p", "spec.runtimeClassName: r", "spec.hostname: h", "spec.subdomain: s"),
		"service account":                bad("t.spec.serviceAccountName: lower case", "spec.serviceAccountName: A"),
		"node":                           bad("t.spec.nodeName: lower case", "spec.nodeName: A"),
		"priority class":                 bad("t.spec.priorityClassName: lower case", "spec.priorityClassName: A"),
		"runtime class":                  bad("t.spec.runtimeClassName: lower case", "spec.runtimeClassName: A"),
		"hostname":                       bad("t.spec.hostname: must not contain dots", "spec.hostname: a.b"),
		"subdomain":                      bad("t.spec.subdomain: must not contain dots", "spec.subdomain: a.b"),
		"host aliases":                   good("spec.hostAliases: [{ip: 10.0.0.1, hostnames: [a.b]}]"),
		"host alias address":             bad("t.spec.hostAliases[0].ip: Invalid value", "spec.hostAliases: [{ip: a}]"),
		"host alias name":                bad("t.spec.hostAliases[0].hostnames[0]: lower case", "spec.hostAliases: [{ip: 10.0.0.1, hostnames: [A]}]"),
		"process namespace":              bad("t.spec.shareProcessNamespace: must be false", "spec.hostPID: true", "spec.shareProcessNamespace: true"),
		"readiness gates":                good("spec.readinessGates: [{conditionType: InPlaceUpdateReady}]"),
		"readiness gate":                 bad("t.spec.readinessGates[0].conditionType: Invalid value", "spec.readinessGates: [{conditionType: 'a b'}]"),
		"scheduling gate twice":          bad("t.spec.schedulingGates[1].name: Duplicate", "spec.schedulingGates: [{name: a}, {name: a}]"),
		"overhead":                       bad("t.spec.overhead[cpu]: 0 or more", "spec.overhead: {cpu: '-1'}"),
		"user":                           bad("t.spec.securityContext.runAsUser: between 0 and 2147483647", "spec.securityContext.runAsUser: -1"),
		"group":                          bad("t.spec.securityContext.supplementalGroups[0]: between 0 and 2147483647", "spec.securityContext.supplementalGroups: [-1]"),
		"node selector":                  bad("t.spec.nodeSelector: Invalid value", "spec.nodeSelector: {a: 'b c'}"),
		"toleration":                     bad("t.spec.tolerations[0].value: Invalid value", "spec.tolerations: [{key: a, value: 'b c'}]"),
		"toleration that compares":       good("spec.tolerations: [{key: a, operator: Gt, value: '1'}]"),
		"node affinity":                  good("spec.affinity.nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}]}, preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {}}]}"),
		"node affinity without terms":    bad("t.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: at least one term", "spec.affinity.nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: []}}"),
		"node affinity's weight":         bad("t.spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: between 1 and 100", "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution: [{weight: 0, preference: {}}]"),
		"node by a bad name":             bad("t.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[0].values[0]: lower case", "spec.affinity.nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [A]}]}]}}"),
		"node by two names":              bad("t.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[0].values: exactly one node name", "spec.affinity.nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [a, b]}]}]}}"),
		"pod affinity":                   good("spec.affinity.podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone, labelSelector: {matchLabels: {a: b}}, namespaces: [x]}]}"),
		"pod affinity without a domain":  bad("t.spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: which node label", "spec.affinity.podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: ''}]}"),
		"pod affinity's selector":        bad("t.spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector.matchExpressions[0].operator: not a valid", "spec.affinity.podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: z, labelSelector: {matchExpressions: [{key: a, operator: Like}]}}]}"),
		"pod affinity's namespace":       bad("t.spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].namespaces[0]: lower case", "spec.affinity.podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: z, namespaces: [A]}]}"),
		"pod affinity's weight":          bad("t.spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: between 1 and 100", "spec.affinity.podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 101, podAffinityTerm: {topologyKey: z}}]}"),
		"spread":                         good("spec.topologySpreadConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: DoNotSchedule, minDomains: 2}]"),
		"spread without skew":            bad("t.spec.topologySpreadConstraints[0].maxSkew: 1 or more", "spec.topologySpreadConstraints: [{maxSkew: 0, topologyKey: z, whenUnsatisfiable: DoNotSchedule}]"),
		"spread without a domain":        bad("t.spec.topologySpreadConstraints[0].topologyKey: which node label", "spec.topologySpreadConstraints: [{maxSkew: 1, topologyKey: '', whenUnsatisfiable: DoNotSchedule}]"),
		"spread with an unknown outcome": bad("t.spec.topologySpreadConstraints[0].whenUnsatisfiable: supported values", "spec.topologySpreadConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: Cry}]"),
		"spread twice":                   bad("t.spec.topologySpreadConstraints[1]: Duplicate", "spec.topologySpreadConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: DoNotSchedule}, {maxSkew: 2, topologyKey: z, whenUnsatisfiable: DoNotSchedule}]"),
		"spread over too few":            bad("t.spec.topologySpreadConstraints[0].minDomains: 1 or more", "spec.topologySpreadConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: DoNotSchedule, minDomains: 0}]"),
		"spread that may fail":           bad("t.spec.topologySpreadConstraints[0].minDomains: take it out", "spec.topologySpreadConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: ScheduleAnyway, minDomains: 1}]"),
	})
}

func TestPodTemplateContainers(t *testing.T) {
	const first, at = "spec.containers[0].", "t.spec.containers[0]."
	runRows(t, soundTemplate, validateTemplate, map[string]row{
		"no containers":              bad("t.spec.containers: at least one container", "spec.containers: []"),
		"no name":                    bad(at+"name: name the container", first+"name: ''"),
		"bad name":                   bad(at+"name: lower case", first+"name: Main"),
		"name twice":                 bad("t.spec.containers[1].name: Duplicate", "spec.containers[1].name: main"),
		"name of an init container":  bad("t.spec.initContainers[0].name: Duplicate", "spec.initContainers[0].name: main"),
		"no image":                   bad(at+"image: which image", first+"image:"),
		"pull policy":                bad(at+"imagePullPolicy: supported values", first+"imagePullPolicy: Maybe"),
		"message policy":             bad(at+"terminationMessagePolicy: supported values", first+"terminationMessagePolicy: Shout"),
		"ports":                      good(first + "ports: [{name: http, containerPort: 80, hostPort: 80}, {containerPort: 80, protocol: UDP, hostPort: 80}]"),
		"port name":                  bad(at+"ports[0].name: Invalid value", first+"ports: [{name: much-too-long-a-name, containerPort: 80}]"),
		"port name twice":            bad(at+"ports[1].name: Duplicate", first+"ports: [{name: a, containerPort: 80}, {name: a, containerPort: 81}]"),
		"port out of range":          bad(at+"ports[0].containerPort: between 1 and 65535", first+"ports: [{containerPort: 0}]"),
		"host port out of range":     bad(at+"ports[0].hostPort: between 1 and 65535", first+"ports: [{containerPort: 1, hostPort: 65536}]"),
		"protocol":                   bad(at+"ports[0].protocol: supported values", first+"ports: [{containerPort: 1, protocol: ICMP}]"),
		"host port twice":            bad("t.spec.containers[1].ports[0].hostPort: Duplicate", first+"ports: [{containerPort: 1, hostPort: 5}]", "spec.containers[1].ports: [{containerPort: 2, hostPort: 5}]"),
		"host network's other port":  bad(at+"ports[0].hostPort: leave it out", "spec.hostNetwork: true", first+"ports: [{containerPort: 1, hostPort: 5}]"),
		"host network":               good("spec.hostNetwork: true", first+"ports: [{containerPort: 5}, {containerPort: 6, hostPort: 6}]"),
		"variables":                  good(first + "env: [{name: a.b-c, value: v}, {name: d, valueFrom: {fieldRef: {fieldPath: \"metadata.labels['x']\"}}}, {name: e, valueFrom: {secretKeyRef: {name: s, key: k}}}]"),
		"variable without a name":    bad(at+"env[0].name: name the variable", first+"env: [{name: ''}]"),
		"variable with a bad name":   bad(at+"env[0].name: Invalid value", first+"env: [{name: 'a=b'}]"),
		"variable by two ways":       bad(at+"env[0].valueFrom: keep one of the two", first+"env: [{name: a, value: b, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]"),
		"variable by no source":      bad(at+"env[0].valueFrom: exactly one of", first+"env: [{name: a, valueFrom: {}}]"),
		"variable by two sources":    bad(at+"env[0].valueFrom: exactly one of", first+"env: [{name: a, valueFrom: {fieldRef: {fieldPath: metadata.name}, configMapKeyRef: {name: c, key: k}}}]"),
		"variable of no field":       bad(at+"env[0].valueFrom.fieldRef.fieldPath: which field", first+"env: [{name: a, valueFrom: {fieldRef: {fieldPath: ''}}}]"),
		"variable of another field":  bad(at+"env[0].valueFrom.fieldRef.fieldPath: supported values", first+"env: [{name: a, valueFrom: {fieldRef: {fieldPath: spec.containers}}}]"),
		"variable of no resource":    bad(at+"env[0].valueFrom.resourceFieldRef.resource: which resource", first+"env: [{name: a, valueFrom: {resourceFieldRef: {resource: ''}}}]"),
		"variable of no secret":      bad(at+"env[0].valueFrom.secretKeyRef.name: name the object", first+"env: [{name: a, valueFrom: {secretKeyRef: {key: k}}}]"),
		"variable of no key":         bad(at+"env[0].valueFrom.configMapKeyRef.key: which key", first+"env: [{name: a, valueFrom: {configMapKeyRef: {name: c, key: ''}}}]"),
		"variables of an object":     good(first + "envFrom: [{prefix: P_, configMapRef: {name: c}}]"),
		"variables of nothing":       bad(at+"envFrom[0]: exactly one of", first+"envFrom: [{}]"),
		"variables of no ConfigMap":  bad(at+"envFrom[0].configMapRef.name: name the ConfigMap", first+"envFrom: [{configMapRef: {}}]"),
		"variables of no Secret":     bad(at+"envFrom[0].secretRef.name: name the Secret", first+"envFrom: [{secretRef: {}}]"),
		"variables' prefix":          bad(at+"envFrom[0].prefix: Invalid value", first+"envFrom: [{prefix: 'a=', secretRef: {name: s}}]"),
		"resources":                  good(first + "resources: {requests: {cpu: 1, example.com/gpu: 1}, limits: {cpu: 2, example.com/gpu: 1}}"),
		"resource below zero":        bad(at+"resources.limits[cpu]: 0 or more", first+"resources: {limits: {cpu: '-1'}}"),
		"request above its limit":    bad(at+"resources.requests[cpu]: must not exceed the limit of 1", first+"resources: {requests: {cpu: 2}, limits: {cpu: 1}}"),
		"resource with an odd name":  bad(at+"resources.requests[a b]: Invalid value", first+"resources: {requests: {'a b': 1}}"),
		"user":                       bad(at+"securityContext.runAsUser: between 0 and", first+"securityContext.runAsUser: -1"),
		"privileged but not allowed": bad(at+"securityContext.allowPrivilegeEscalation: cannot be false", first+"securityContext: {privileged: true, allowPrivilegeEscalation: false}"),

		"probes":                          good(first+"livenessProbe: {httpGet: {port: http}}", first+"readinessProbe: {tcpSocket: {port: 80}, successThreshold: 3}", first+"startupProbe: {grpc: {port: 80}}", first+"lifecycle: {preStop: {sleep: {seconds: 1}}}"),
		"probe without a handler":         bad(at+"livenessProbe: exactly one of", first+"livenessProbe: {}"),
		"probe with two handlers":         bad(at+"readinessProbe: exactly one of", first+"readinessProbe: {tcpSocket: {port: 80}, exec: {command: [a]}}"),
		"probe below zero":                bad(at+"startupProbe.periodSeconds: 0 or more", first+"startupProbe: {tcpSocket: {port: 80}, periodSeconds: -1}"),
		"liveness twice":                  bad(at+"livenessProbe.successThreshold: must be 1", first+"livenessProbe: {tcpSocket: {port: 80}, successThreshold: 2}"),
		"probe's grace":                   bad(at+"livenessProbe.terminationGracePeriodSeconds: 1 or more", first+"livenessProbe: {tcpSocket: {port: 80}, terminationGracePeriodSeconds: 0}"),
		"readiness has no grace":          bad(at+"readinessProbe.terminationGracePeriodSeconds: take the field out", first+"readinessProbe: {tcpSocket: {port: 80}, terminationGracePeriodSeconds: 5}"),
		"probe on no port":                bad(at+"readinessProbe.httpGet.port: between 1 and 65535", first+"readinessProbe: {httpGet: {port: 0}}"),
		"probe on a port by a bad name":   bad(at+"readinessProbe.tcpSocket.port: Invalid value", first+"readinessProbe: {tcpSocket: {port: a.b}}"),
		"probe by another scheme":         bad(at+"readinessProbe.httpGet.scheme: supported values", first+"readinessProbe: {httpGet: {port: 80, scheme: FTP}}"),
		"probe with an odd header":        bad(at+"readinessProbe.httpGet.httpHeaders[0].name: Invalid value", first+"readinessProbe: {httpGet: {port: 80, httpHeaders: [{name: 'a b', value: c}]}}"),
		"probe by no command":             bad(at+"readinessProbe.exec.command: what to run", first+"readinessProbe: {exec: {}}"),
		"hook without a handler":          bad(at+"lifecycle.preStop: exactly one of", first+"lifecycle: {preStop: {}}"),
		"init container that is probed":   bad("t.spec.initContainers[0].livenessProbe: restartPolicy Always", "spec.initContainers[0].livenessProbe: {tcpSocket: {port: 80}}"),
		"init container that stays":       good("spec.initContainers[0].restartPolicy: Always", "spec.initContainers[0].livenessProbe: {tcpSocket: {port: 80}}"),
		"init container that stays badly": bad("t.spec.initContainers[0].livenessProbe: exactly one of", "spec.initContainers[0].restartPolicy: Always", "spec.initContainers[0].livenessProbe: {}"),
	})
}

func TestPodTemplateVolumes(t *testing.T) {
	const first, at = "spec.containers[0].", "t.spec.containers[0]."
	volume := func(source string) string { return "spec.volumes: [{name: v, " + source + "}]" }
	runRows(t, soundTemplate, validateTemplate, map[string]row{
		"mounted":                     good("spec.volumes: [{name: v}]", first+"volumeMounts: [{name: v, mountPath: /a, subPath: b/c}, {name: v, mountPath: /b}]"),
		"no name":                     bad("t.spec.volumes[0].name: name the volume", "spec.volumes: [{name: ''}]"),
		"bad name":                    bad("t.spec.volumes[0].name: lower case", "spec.volumes: [{name: V}]"),
		"name twice":                  bad("t.spec.volumes[1].name: Duplicate", "spec.volumes: [{name: v}, {name: v}]"),
		"two sources":                 bad("t.spec.volumes[0]: one source", volume("emptyDir: {}, hostPath: {path: /a}")),
		"host path":                   bad("t.spec.volumes[0].hostPath.path: which path", volume("hostPath: {path: ''}")),
		"claim":                       bad("t.spec.volumes[0].persistentVolumeClaim.claimName: name the claim", volume("persistentVolumeClaim: {claimName: ''}")),
		"size":                        bad("t.spec.volumes[0].emptyDir.sizeLimit: 0 or more", volume("emptyDir: {sizeLimit: '-1'}")),
		"driver":                      bad("t.spec.volumes[0].csi.driver: name the driver", volume("csi: {driver: ''}")),
		"claim to make":               bad("t.spec.volumes[0].ephemeral.volumeClaimTemplate: what claim", volume("ephemeral: {}")),
		"secret":                      bad("t.spec.volumes[0].secret.secretName: name the Secret", volume("secret: {}")),
		"config map":                  bad("t.spec.volumes[0].configMap.name: name the ConfigMap", volume("configMap: {}")),
		"mode":                        bad("t.spec.volumes[0].secret.defaultMode: 0777", volume("secret: {secretName: s, defaultMode: 512}")),
		"files":                       good(volume("configMap: {name: c, items: [{key: k, path: a/b}]}")),
		"file of no key":              bad("t.spec.volumes[0].configMap.items[0].key: which key", volume("configMap: {name: c, items: [{key: '', path: a}]}")),
		"file at no path":             bad("t.spec.volumes[0].secret.items[0].path: at which path", volume("secret: {secretName: s, items: [{key: k, path: ''}]}")),
		"file outside":                bad("t.spec.volumes[0].secret.items[0].path: must not contain '..'", volume("secret: {secretName: s, items: [{key: k, path: a/../../b}]}")),
		"projected by two":            bad("t.spec.volumes[0].projected.sources[0]: keep one kind", volume("projected: {sources: [{secret: {name: s}, configMap: {name: c}}]}")),
		"mount without a volume":      bad(at+"volumeMounts[0].name: Not found", first+"volumeMounts: [{name: v, mountPath: /a}]"),
		"mount without a name":        bad(at+"volumeMounts[0].name: name a volume", first+"volumeMounts: [{name: '', mountPath: /a}]"),
		"mount at no path":            bad(at+"volumeMounts[0].mountPath: at which path", "spec.volumes: [{name: v}]", first+"volumeMounts: [{name: v, mountPath: ''}]"),
		"mounts at one path":          bad(at+"volumeMounts[1].mountPath: Duplicate", "spec.volumes: [{name: v}]", first+"volumeMounts: [{name: v, mountPath: /a}, {name: v, mountPath: /a}]"),
		"mount of a path outside":     bad(at+"volumeMounts[0].subPath: must not contain '..'", "spec.volumes: [{name: v}]", first+"volumeMounts: [{name: v, mountPath: /a, subPath: ../b}]"),
		"mount of an absolute path":   bad(at+"volumeMounts[0].subPathExpr: relative", "spec.volumes: [{name: v}]", first+"volumeMounts: [{name: v, mountPath: /a, subPathExpr: /b}]"),
		"mount of two paths":          bad(at+"volumeMounts[0].subPathExpr: keep one of the two", "spec.volumes: [{name: v}]", first+"volumeMounts: [{name: v, mountPath: /a, subPath: b, subPathExpr: c}]"),
		"device":                      good(volume("persistentVolumeClaim: {claimName: c}"), first+"volumeDevices: [{name: v, devicePath: /dev/x}]"),
		"device of files":             bad(at+"volumeDevices[0].name: mount it by volumeMounts", volume("emptyDir: {}"), first+"volumeDevices: [{name: v, devicePath: /dev/x}]"),
		"device without a volume":     bad(at+"volumeDevices[0].name: Not found", first+"volumeDevices: [{name: v, devicePath: /dev/x}]"),
		"device at no path":           bad(at+"volumeDevices[0].devicePath: at which path", volume("ephemeral: {volumeClaimTemplate: {spec: {}}}"), first+"volumeDevices: [{name: v, devicePath: ''}]"),
		"device twice":                bad(at+"volumeDevices[1].name: Duplicate", volume("persistentVolumeClaim: {claimName: c}"), first+"volumeDevices: [{name: v, devicePath: /a}, {name: v, devicePath: /b}]"),
		"device and mount of one":     bad(at+"volumeMounts[0].name: block device of this container", volume("persistentVolumeClaim: {claimName: c}"), first+"volumeDevices: [{name: v, devicePath: /a}]", first+"volumeMounts: [{name: v, mountPath: /b}]"),
		"device and mount, one place": bad(at+"volumeMounts[0].mountPath: Duplicate", "spec.volumes: [{name: v, persistentVolumeClaim: {claimName: c}}, {name: w}]", first+"volumeDevices: [{name: v, devicePath: /a}]", first+"volumeMounts: [{name: w, mountPath: /a}]"),
	})
}
