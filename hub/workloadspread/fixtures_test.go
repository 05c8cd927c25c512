// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package workloadspread

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/yaml"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/hub/placement"
	"github.com/flotilla-sh/flotilla/hub/share"
)

func object(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	return u
}

// cloneSet makes the target.
func cloneSet(t testing.TB, replicas int32) *unstructured.Unstructured {
	t.Helper()
	return object(t, fmt.Sprintf(`
apiVersion: apps.kruise.io/v1beta1
kind: CloneSet
metadata: {name: web, namespace: shop, uid: uid-1, generation: 7}
spec: {replicas: %d, template: {metadata: {labels: {app: web}}}}`, replicas))
}

// spreading makes the WorkloadSpread; its spec without the target is given in YAML flow style.
func spreading(t testing.TB, spec string) *unstructured.Unstructured {
	t.Helper()
	u := object(t, `
apiVersion: apps.kruise.io/v1beta1
kind: WorkloadSpread
metadata: {name: web, namespace: shop, uid: uid-2, generation: 3, labels: {team: shop}, resourceVersion: "17", annotations: {fleet.kruise.io/x: y}}
spec: `+spec)
	u.Object["spec"].(map[string]any)["targetRef"] = map[string]any{"apiVersion": "apps.kruise.io/v1beta1", "kind": "CloneSet", "name": "web"}
	return u
}

// in is a required selector for zones, as a field of a subset in YAML flow style.
func in(zones ...string) string {
	return "requiredNodeSelector: {matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [" + strings.Join(zones, ", ") + "]}]}"
}

// at is one for clusters.
func at(clusters ...string) string {
	return "requiredNodeSelector: {matchExpressions: [{key: fleet.kruise.io/cluster, operator: In, values: [" + strings.Join(clusters, ", ") + "]}]}"
}

// cluster makes a chosen cluster of weight 1 with zones.
func cluster(name, zones string) share.Cluster {
	mc := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: clusterv1.ManagedClusterSpec{HubAcceptsClient: true}}
	mc.Status.ClusterClaims = []clusterv1.ManagedClusterClaim{{Name: "zones", Value: zones}}
	return share.Cluster{Selected: placement.Selected{Cluster: placement.FromManagedCluster(mc)}, Weight: 1}
}

func request(target *unstructured.Unstructured, clusters ...share.Cluster) share.Request {
	for i := range clusters {
		clusters[i].Object = target
	}
	return share.Request{
		Target: target, Mode: fleetv1alpha1.DivisionDivided, Clusters: clusters,
		Held: share.Holdings{}, Given: map[string]share.Terms{}, Left: map[string]string{},
	}
}

// inner stands for the divider of the target's kind: it keeps to the fixed shares, or copies.
type inner struct{}

func (inner) Divide(req share.Request) (share.Plan, error) {
	plan := share.Plan{Notes: []string{"inner"}}
	for _, c := range req.Clusters {
		one := share.Slice{Cluster: c.Name, Object: c.Object}
		if req.Fixed != nil {
			one.Split = []fleetv1alpha1.SubsetReplicas{{Subset: share.Whole, Replicas: req.Fixed[c.Name]}}
		}
		plan.Slices = append(plan.Slices, one)
	}
	return plan, nil
}

func (inner) Status(*unstructured.Unstructured, share.Summary) (map[string]any, error) {
	return nil, nil
}

var inZones = regexp.MustCompile(`{"matchExpressions":\[{"key":"topology.kubernetes.io/zone","operator":"In","values":(\[[^]]*\])}\]}`)

// show prints a plan's slices: cluster, replicas, what is held, and the subsets of the member's spread.
func show(p share.Plan) (out []string) {
	for _, s := range p.Slices {
		line := s.Cluster
		for _, part := range s.Split {
			line += fmt.Sprint(" ", part.Replicas)
		}
		if s.Held != nil {
			held, _ := json.Marshal(s.Held)
			line += " " + string(held)
		}
		for _, o := range s.Others {
			subsets, _, _ := unstructured.NestedSlice(o.Object, "spec", "subsets")
			data, _ := json.Marshal(subsets)
			line += " " + inZones.ReplaceAllString(string(data), "In$1")
		}
		out = append(out, line)
	}
	return out
}

// hold lets the clusters hold what a plan gives them.
func hold(req *share.Request, plan share.Plan) {
	req.Held, req.Given = share.Holdings{}, map[string]share.Terms{}
	for _, s := range plan.Slices {
		req.Held[s.Cluster], req.Given[s.Cluster] = s.Held, s.Terms
	}
}

func shuffled(list []share.Cluster, from int) []share.Cluster {
	out := slices.Clone(list)
	slices.Reverse(out)
	return append(out[from%max(len(out), 1):], out[:from%max(len(out), 1)]...)
}
