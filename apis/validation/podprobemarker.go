// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// takenNames are the conditions that no probe may be called after.
var takenNames = map[string]bool{
	string(corev1.PodScheduled): true, string(corev1.PodInitialized): true, string(corev1.PodReady): true,
	string(corev1.ContainersReady): true, v1beta1.KruisePodReadyConditionType: true, v1beta1.InPlaceUpdateReady: true,
}

// ValidatePodProbeMarker says what is wrong with a PodProbeMarker. A nil old means that the object is new.
func ValidatePodProbeMarker(old, obj *v1alpha1.PodProbeMarker) field.ErrorList {
	p := podProbeMarker(obj)
	if old == nil {
		p.probesSize(maxProbesBytes, obj.Spec.Probes)
		return p.list
	}
	updates := problems{}
	updates.probesSize(max(maxProbesBytes, bytesOf(old.Spec.Probes)), obj.Spec.Probes)
	if !equality.Semantic.DeepEqual(old.Spec.Selector, obj.Spec.Selector) {
		updates.forbidden(field.NewPath("spec", "selector"), "cannot be changed: make another PodProbeMarker")
	}
	return append(updates.list, p.since(podProbeMarker(old).list)...)
}

// maxProbesBytes bounds what a marker asks for: nodes get it once for each pod.
const maxProbesBytes = 16 << 10

// probesSize wants no more than so many bytes. A marker that is stored with more may keep them, and get no larger.
func (p *problems) probesSize(most int, probes []v1alpha1.PodContainerProbe) {
	if size := bytesOf(probes); size > most {
		p.forbidden(field.NewPath("spec", "probes"), fmt.Sprintf("names and probes take %d bytes, at most %d may be: put long commands into the image, or make a second PodProbeMarker",
			size, most))
	}
}

// bytesOf is how many bytes of JSON the nodes get, marks are not among them.
func bytesOf(probes []v1alpha1.PodContainerProbe) int {
	sum := 0
	for i := range probes {
		text, err := json.Marshal(v1alpha1.ContainerProbe{Name: probes[i].Name, ContainerName: probes[i].ContainerName, Probe: probes[i].Probe})
		if err != nil {
			return math.MaxInt
		}
		sum += len(text)
	}
	return sum
}

func podProbeMarker(obj *v1alpha1.PodProbeMarker) *problems {
	p := &problems{}
	path := field.NewPath("spec")
	p.selector(path.Child("selector"), obj.Spec.Selector)
	if len(obj.Spec.Probes) == 0 {
		p.required(path.Child("probes"), "name at least one probe")
	}
	names, conditions := map[string]bool{}, map[string]bool{}
	for i := range obj.Spec.Probes {
		at, probe := path.Child("probes").Index(i), &obj.Spec.Probes[i]
		p.probeName(at.Child("name"), probe.Name)
		unique(p, names, at.Child("name"), probe.Name)
		if probe.ContainerName == "" {
			p.required(at.Child("containerName"), "name the container to probe")
		}
		p.customProbe(at.Child("probe"), &probe.Probe)
		if probe.PodConditionType == "" && len(probe.MarkerPolicy) == 0 {
			p.required(at, "set podConditionType or markerPolicy: the result would go nowhere")
		}
		p.probeCondition(at.Child("podConditionType"), probe.PodConditionType)
		unique(p, conditions, at.Child("podConditionType"), probe.PodConditionType)
		p.markers(at.Child("markerPolicy"), probe.MarkerPolicy)
	}
	return p
}

func (p *problems) probeName(path *field.Path, name string) {
	switch {
	case name == "":
		p.required(path, "name the probe")
	case strings.Contains(name, "#"):
		p.invalid(path, name, "must not contain '#'")
	case takenNames[name]:
		p.invalid(path, name, "is the type of a pod condition that is taken: choose another name")
	}
}

func (p *problems) probeCondition(path *field.Path, kind string) {
	switch {
	case kind == "":
	case v1alpha1.TakenPodCondition(kind):
		p.invalid(path, kind, "is a pod condition that Kubernetes or Flotilla writes: choose another, for example example.com/"+kind)
	default:
		p.check(path, kind, utilvalidation.IsQualifiedName(kind))
	}
}

// customProbe wants a probe that needs no defaults: none are filled.
func (p *problems) customProbe(path *field.Path, probe *corev1.Probe) {
	p.probe(path, probe, false)
	if get := probe.HTTPGet; get != nil {
		if get.Path == "" {
			p.required(path.Child("httpGet", "path"), "say which path to ask for")
		} else if _, err := url.Parse(get.Path); err != nil {
			p.invalid(path.Child("httpGet", "path"), get.Path, "must be the path of a URL: "+err.Error())
		}
		p.noHost(path.Child("httpGet", "host"), get.Host)
	}
	if probe.TCPSocket != nil {
		p.noHost(path.Child("tcpSocket", "host"), probe.TCPSocket.Host)
	}
}

func (p *problems) noHost(path *field.Path, host string) {
	if host != "" {
		p.forbidden(path, "only the pod itself is probed: take the field out")
	}
}

func (p *problems) markers(path *field.Path, policies []v1alpha1.ProbeMarkerPolicy) {
	states := map[v1alpha1.ProbeState]bool{}
	for i := range policies {
		at, policy := path.Index(i), &policies[i]
		if policy.State != v1alpha1.ProbeSucceeded && policy.State != v1alpha1.ProbeFailed {
			p.invalid(at.Child("state"), policy.State, "marker policy state must be 'True' or 'False': write Succeeded or Failed")
		}
		unique(p, states, at.Child("state"), policy.State)
		if len(policy.Labels)+len(policy.Annotations) == 0 {
			p.required(at, "set labels or annotations: there is nothing to mark with")
		}
		p.add(metav1validation.ValidateLabels(policy.Labels, at.Child("labels")))
		p.add(apivalidation.ValidateAnnotations(policy.Annotations, at.Child("annotations")))
	}
}
