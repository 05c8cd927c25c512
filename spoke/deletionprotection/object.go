// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package deletionprotection

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// object is what is looked at of an object, of whatever kind and version.
type object struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     spec              `json:"-"`
}

// spec has the fields of workloads and of definitions, which have the same meaning in all their versions.
type spec struct {
	Replicas *int   `json:"replicas"`
	Group    string `json:"group"`
	Names    struct {
		Plural string `json:"plural"`
	} `json:"names"`
	Versions []struct {
		Name    string `json:"name"`
		Served  bool   `json:"served"`
		Storage bool   `json:"storage"`
	} `json:"versions"`
}

// decode reads an object; its spec only where Cascading looks at that.
func decode(raw []byte, on cascade) (*object, error) {
	obj := &object{}
	if err := json.Unmarshal(raw, obj); err != nil {
		return nil, err
	}
	if on != instances && on != replicas {
		return obj, nil
	}
	inner := struct {
		Spec *spec `json:"spec"`
	}{&obj.Spec}
	return obj, json.Unmarshal(raw, &inner)
}

// replicas are those asked for; none where the object does not say.
func (o *object) replicas() int {
	if o.Spec.Replicas == nil {
		return 0
	}
	return max(*o.Spec.Replicas, 0)
}

// listedAs is the version in which objects of a definition are listed; "" where none is served.
func (o *object) listedAs() string {
	out := ""
	for _, v := range o.Spec.Versions {
		if v.Served && (v.Storage || out == "") {
			out = v.Name
		}
	}
	return out
}
