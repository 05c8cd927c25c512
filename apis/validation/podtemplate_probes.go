// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func (p *problems) probes(path *field.Path, container *corev1.Container) {
	p.probe(path.Child("livenessProbe"), container.LivenessProbe, true)
	p.probe(path.Child("readinessProbe"), container.ReadinessProbe, false)
	p.probe(path.Child("startupProbe"), container.StartupProbe, true)
	if readiness := container.ReadinessProbe; readiness != nil && readiness.TerminationGracePeriodSeconds != nil {
		p.invalid(path.Child("readinessProbe", "terminationGracePeriodSeconds"), *readiness.TerminationGracePeriodSeconds,
			"a readiness probe stops nothing: take the field out")
	}
	if container.Lifecycle != nil {
		p.hook(path.Child("lifecycle", "postStart"), container.Lifecycle.PostStart)
		p.hook(path.Child("lifecycle", "preStop"), container.Lifecycle.PreStop)
	}
}

// noProbes wants an init container that runs to its end.
func (p *problems) noProbes(path *field.Path, container *corev1.Container) {
	for _, f := range []named[bool]{
		{"lifecycle", container.Lifecycle != nil}, {"livenessProbe", container.LivenessProbe != nil},
		{"readinessProbe", container.ReadinessProbe != nil}, {"startupProbe", container.StartupProbe != nil},
	} {
		if f.value {
			p.forbidden(path.Child(f.name), "only an init container with restartPolicy Always may have it")
		}
	}
}

// probe checks one probe; a decisive one (liveness, startup) acts on the first success.
func (p *problems) probe(path *field.Path, probe *corev1.Probe, decisive bool) {
	if probe == nil {
		return
	}
	for _, f := range []named[int32]{
		{"initialDelaySeconds", probe.InitialDelaySeconds}, {"timeoutSeconds", probe.TimeoutSeconds},
		{"periodSeconds", probe.PeriodSeconds}, {"failureThreshold", probe.FailureThreshold}, {"successThreshold", probe.SuccessThreshold},
	} {
		p.notNegative(path.Child(f.name), int64(f.value))
	}
	if decisive && probe.SuccessThreshold != 1 {
		p.invalid(path.Child("successThreshold"), probe.SuccessThreshold, "must be 1")
	}
	if seconds := probe.TerminationGracePeriodSeconds; seconds != nil && *seconds < 1 {
		p.invalid(path.Child("terminationGracePeriodSeconds"), *seconds, "must be 1 or more")
	}
	p.handler(path, handler{probe.Exec, probe.HTTPGet, probe.TCPSocket, probe.GRPC, nil})
}

func (p *problems) hook(path *field.Path, hook *corev1.LifecycleHandler) {
	if hook != nil {
		p.handler(path, handler{hook.Exec, hook.HTTPGet, hook.TCPSocket, nil, hook.Sleep})
	}
}

// handler is what probes and hooks do: exactly one of its fields.
type handler struct {
	exec  *corev1.ExecAction
	http  *corev1.HTTPGetAction
	tcp   *corev1.TCPSocketAction
	grpc  *corev1.GRPCAction
	sleep *corev1.SleepAction
}

func (p *problems) handler(path *field.Path, h handler) {
	set := 0
	for _, present := range []bool{h.exec != nil, h.http != nil, h.tcp != nil, h.grpc != nil, h.sleep != nil} {
		if present {
			set++
		}
	}
	if set != 1 {
		p.required(path, "set exactly one of exec, httpGet, tcpSocket, grpc (probes) and sleep (hooks)")
	}
	if h.exec != nil && len(h.exec.Command) == 0 {
		p.required(path.Child("exec", "command"), "say what to run")
	}
	if h.http != nil {
		p.port(path.Child("httpGet", "port"), h.http.Port)
		oneOf(p, path.Child("httpGet", "scheme"), h.http.Scheme, corev1.URISchemeHTTP, corev1.URISchemeHTTPS)
		for i := range h.http.HTTPHeaders {
			header := h.http.HTTPHeaders[i].Name
			p.check(path.Child("httpGet", "httpHeaders").Index(i).Child("name"), header, utilvalidation.IsHTTPHeaderName(header))
		}
	}
	if h.tcp != nil {
		p.port(path.Child("tcpSocket", "port"), h.tcp.Port)
	}
	if h.grpc != nil {
		p.port(path.Child("grpc", "port"), intstr.FromInt32(h.grpc.Port))
	}
}

// port wants a port's number or name.
func (p *problems) port(path *field.Path, port intstr.IntOrString) {
	if port.Type == intstr.Int {
		p.number(path, int64(port.IntVal), 1, 65535, "must be between 1 and 65535")
		return
	}
	p.check(path, port.StrVal, utilvalidation.IsValidPortName(port.StrVal))
}
