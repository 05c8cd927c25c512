// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package slice

import (
	"fmt"
	"hash/fnv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// maxName is the longest name: members' objects carry it as a label value.
const maxName = 63

// Name of the slices of an object: <kind>.<namespace>.<name>, in lower case, cut and with a hash when it
// is too long. Kinds of groups other than apps.kruise.io carry a hash of the group when a kind of the
// same name is ours or the group is not built in.
func Name(gk schema.GroupKind, namespace, name string) string {
	kind := strings.ToLower(gk.Kind)
	if !plain(gk) {
		kind += "-" + hash(gk.Group)
	}
	full := kind + "." + namespace + "." + name
	if namespace == "" {
		full = kind + "." + name
	}
	if len(full) <= maxName {
		return full
	}
	suffix := "-" + hash(full)
	return strings.TrimRight(full[:maxName-len(suffix)], ".-") + suffix
}

func plain(gk schema.GroupKind) bool {
	switch gk.Group {
	case appsv1beta1.SchemeGroupVersion.Group, "":
		return true
	case "apps", "batch":
		return gk.Kind != "StatefulSet" && gk.Kind != "DaemonSet"
	default:
		return false
	}
}

func hash(text string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(text)) // a hash never fails to write
	return fmt.Sprintf("%08x", h.Sum32())
}
