// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sort"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
)

const (
	namespace  = "shop"
	fieldOwner = "demo"
	zoneLabel  = "topology.kubernetes.io/zone"
)

//go:embed manifests/*.yaml
var manifests embed.FS

// cluster is one API server.
type cluster struct {
	name       string
	kubeconfig string
	client.Client
}

// world is the hub and its members.
type world struct {
	options
	hub     cluster
	members []cluster
	// zoneOf maps cluster/node to zone; nodes do not move.
	zoneOf map[string]string
}

func openWorld(o options) (*world, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, appsv1beta1.AddToScheme, fleetv1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	w := &world{options: o, zoneOf: map[string]string{}}
	var err error
	if w.hub, err = openCluster(o.name, "hub", scheme); err != nil {
		return nil, err
	}
	for i := 1; i <= o.members; i++ {
		member, err := openCluster(o.name, fmt.Sprintf("member-%d", i), scheme)
		if err != nil {
			return nil, err
		}
		w.members = append(w.members, member)
	}
	return w, nil
}

func openCluster(set, name string, scheme *runtime.Scheme) (cluster, error) {
	file := filepath.Join(".clusters", set, name+".kubeconfig")
	cfg, err := clientcmd.BuildConfigFromFlags("", file)
	if err != nil {
		return cluster{}, err
	}
	cfg.QPS, cfg.Burst = 200, 400
	c, err := client.New(cfg, client.Options{Scheme: scheme})
	return cluster{name, file, c}, err
}

// apply applies a manifest file of the demo, changed by mutate, to a cluster.
func (w *world) apply(ctx context.Context, c cluster, file string, mutate func(*unstructured.Unstructured) error) error {
	data, err := manifests.ReadFile("manifests/" + file)
	if err != nil {
		return err
	}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
	for {
		obj := &unstructured.Unstructured{}
		if err := decoder.Decode(&obj.Object); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if mutate != nil {
			if err := mutate(obj); err != nil {
				return err
			}
		}
		if err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(obj), client.FieldOwner(fieldOwner), client.ForceOwnership); err != nil {
			return fmt.Errorf("applying %s %s to %s: %w", obj.GetKind(), obj.GetName(), c.name, err)
		}
	}
}

func (w *world) ensureNamespace(ctx context.Context, c cluster) error {
	ns := &corev1.Namespace{}
	ns.Name = namespace
	return client.IgnoreAlreadyExists(c.Create(ctx, ns))
}

// cell counts the pods of one zone of one cluster.
type cell struct{ pods, ready, updated int }

// place names a zone of a cluster.
type spot struct{ cluster, zone string }

// seen is what one look at the members shows of the pods with a label app.
type seen struct {
	cells map[spot]cell
	pods  map[string]corev1.Pod // by cluster/uid
}

func (s seen) total() cell {
	var t cell
	for _, c := range s.cells {
		t.pods, t.ready, t.updated = t.pods+c.pods, t.ready+c.ready, t.updated+c.updated
	}
	return t
}

func (s seen) spots() []spot {
	out := make([]spot, 0, len(s.cells))
	for k := range s.cells {
		out = append(out, k)
	}
	sort.Slice(out, func(i, j int) bool {
		if out[i].cluster != out[j].cluster {
			return out[i].cluster < out[j].cluster
		}
		return out[i].zone < out[j].zone
	})
	return out
}

// look counts the pods of an app in the clusters; those running image count as updated.
func (w *world) look(ctx context.Context, clusters []cluster, app, image string) (seen, error) {
	out := seen{cells: map[spot]cell{}, pods: map[string]corev1.Pod{}}
	for _, member := range clusters {
		var pods corev1.PodList
		if err := member.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabels{"app": app}); err != nil {
			return out, err
		}
		for _, pod := range pods.Items {
			if pod.DeletionTimestamp != nil {
				continue
			}
			zone, err := w.zone(ctx, member, pod.Spec.NodeName)
			if err != nil {
				return out, err
			}
			k := spot{member.name, zone}
			out.cells[k] = out.cells[k].plus(&pod, image)
			out.pods[member.name+"/"+string(pod.UID)] = pod
		}
	}
	return out, nil
}

func (c cell) plus(pod *corev1.Pod, image string) cell {
	c.pods++
	if isReady(pod) {
		c.ready++
	}
	if pod.Spec.Containers[0].Image == image {
		c.updated++
	}
	return c
}

func isReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func (w *world) zone(ctx context.Context, c cluster, node string) (string, error) {
	if node == "" {
		return "(unscheduled)", nil
	}
	key := c.name + "/" + node
	if zone, ok := w.zoneOf[key]; ok {
		return zone, nil
	}
	var n corev1.Node
	if err := c.Get(ctx, client.ObjectKey{Name: node}, &n); err != nil {
		return "", err
	}
	w.zoneOf[key] = n.Labels[zoneLabel]
	return w.zoneOf[key], nil
}
