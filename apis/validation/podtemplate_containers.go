// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// containers checks init and app containers, whose names share one space.
func (p *problems) containers(path *field.Path, spec *corev1.PodSpec, volumes map[string]volumeKind) {
	names := map[string]bool{}
	if len(spec.Containers) == 0 {
		p.required(path.Child("containers"), "a pod needs at least one container")
	}
	hostPorts := map[hostPort]bool{}
	for i := range spec.Containers {
		at, container := path.Child("containers").Index(i), &spec.Containers[i]
		p.container(at, container, volumes)
		unique(p, names, at.Child("name"), container.Name)
		p.ports(at.Child("ports"), container.Ports, hostPorts, spec.HostNetwork)
		p.probes(at, container)
	}
	for i := range spec.InitContainers {
		at, container := path.Child("initContainers").Index(i), &spec.InitContainers[i]
		p.container(at, container, volumes)
		unique(p, names, at.Child("name"), container.Name)
		p.ports(at.Child("ports"), container.Ports, map[hostPort]bool{}, false)
		if container.RestartPolicy != nil && *container.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			p.probes(at, container)
		} else {
			p.noProbes(at, container)
		}
	}
}

func (p *problems) container(path *field.Path, container *corev1.Container, volumes map[string]volumeKind) {
	if container.Name == "" {
		p.required(path.Child("name"), "name the container")
	} else {
		p.check(path.Child("name"), container.Name, utilvalidation.IsDNS1123Label(container.Name))
	}
	if container.Image == "" {
		p.required(path.Child("image"), "say which image the container runs")
	}
	oneOf(p, path.Child("imagePullPolicy"), container.ImagePullPolicy, corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever)
	oneOf(p, path.Child("terminationMessagePolicy"), container.TerminationMessagePolicy,
		corev1.TerminationMessageReadFile, corev1.TerminationMessageFallbackToLogsOnError)
	p.env(path.Child("env"), container.Env)
	p.envFrom(path.Child("envFrom"), container.EnvFrom)
	p.mounts(path, container, volumes)
	p.resources(path.Child("resources"), &container.Resources)
	p.containerSecurity(path.Child("securityContext"), container.SecurityContext)
}

// hostPort is a port of the node, of which there is one.
type hostPort struct {
	protocol corev1.Protocol
	ip       string
	port     int32
}

func (p *problems) ports(path *field.Path, ports []corev1.ContainerPort, taken map[hostPort]bool, hostNetwork bool) {
	names := map[string]bool{}
	for i, port := range ports {
		at := path.Index(i)
		if port.Name != "" {
			p.check(at.Child("name"), port.Name, utilvalidation.IsValidPortName(port.Name))
			unique(p, names, at.Child("name"), port.Name)
		}
		p.number(at.Child("containerPort"), int64(port.ContainerPort), 1, 65535, "must be between 1 and 65535")
		oneOf(p, at.Child("protocol"), port.Protocol, corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP)
		if port.HostPort == 0 {
			continue
		}
		p.number(at.Child("hostPort"), int64(port.HostPort), 1, 65535, "must be between 1 and 65535")
		unique(p, taken, at.Child("hostPort"), hostPort{port.Protocol, port.HostIP, port.HostPort})
		if hostNetwork && port.HostPort != port.ContainerPort {
			p.invalid(at.Child("hostPort"), port.HostPort, "must equal containerPort on the host's network: leave it out")
		}
	}
}

func (p *problems) mounts(path *field.Path, container *corev1.Container, volumes map[string]volumeKind) {
	paths := map[string]bool{}
	devices := map[string]bool{}
	for i := range container.VolumeDevices {
		at, device := path.Child("volumeDevices").Index(i), &container.VolumeDevices[i]
		p.volumeName(at.Child("name"), device.Name, volumes)
		unique(p, devices, at.Child("name"), device.Name)
		if kind, known := volumes[device.Name]; known && kind != claimVolume {
			p.invalid(at.Child("name"), device.Name, "only a volume of a claim can be a block device: mount it by volumeMounts")
		}
		if device.DevicePath == "" {
			p.required(at.Child("devicePath"), "say at which path the device appears")
		}
		unique(p, paths, at.Child("devicePath"), device.DevicePath)
	}
	for i := range container.VolumeMounts {
		at, mount := path.Child("volumeMounts").Index(i), &container.VolumeMounts[i]
		p.volumeName(at.Child("name"), mount.Name, volumes)
		if devices[mount.Name] {
			p.invalid(at.Child("name"), mount.Name, "is a block device of this container already: keep one of the two")
		}
		if mount.MountPath == "" {
			p.required(at.Child("mountPath"), "say at which path the volume appears")
		}
		unique(p, paths, at.Child("mountPath"), mount.MountPath)
		p.subPaths(at, mount)
	}
}

func (p *problems) volumeName(path *field.Path, name string, volumes map[string]volumeKind) {
	if name == "" {
		p.required(path, "name a volume of the template or a claim template")
	} else if _, known := volumes[name]; !known {
		p.list = append(p.list, field.NotFound(path, name))
	}
}

func (p *problems) subPaths(path *field.Path, mount *corev1.VolumeMount) {
	if mount.SubPath != "" && mount.SubPathExpr != "" {
		p.invalid(path.Child("subPathExpr"), mount.SubPathExpr, "cannot be set together with subPath: keep one of the two")
	}
	p.descending(path.Child("subPath"), mount.SubPath)
	p.descending(path.Child("subPathExpr"), mount.SubPathExpr)
}

// descending wants a relative path that never goes up.
func (p *problems) descending(path *field.Path, value string) {
	if strings.HasPrefix(value, "/") {
		p.invalid(path, value, "must be a relative path")
	}
	for part := range strings.SplitSeq(filepath.ToSlash(value), "/") {
		if part == ".." {
			p.invalid(path, value, "must not contain '..'")
			return
		}
	}
}

func (p *problems) containerSecurity(path *field.Path, security *corev1.SecurityContext) {
	if security == nil {
		return
	}
	p.userID(path.Child("runAsUser"), security.RunAsUser)
	p.userID(path.Child("runAsGroup"), security.RunAsGroup)
	if security.Privileged != nil && *security.Privileged &&
		security.AllowPrivilegeEscalation != nil && !*security.AllowPrivilegeEscalation {
		p.invalid(path.Child("allowPrivilegeEscalation"), false, "cannot be false for a privileged container")
	}
}
