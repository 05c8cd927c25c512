// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	imageV1 = "web:v1"
	imageV2 = "web:v2"
)

// replicas of the fleet's workload: real nodes carry fewer.
func (w *world) replicas() int64 {
	if w.real {
		return 8
	}
	return 12
}

func (w *world) web(image string) func(*unstructured.Unstructured) error {
	return func(obj *unstructured.Unstructured) error {
		if err := unstructured.SetNestedField(obj.Object, w.replicas(), "spec", "replicas"); err != nil {
			return err
		}
		return setImage(obj, image, "spec", "template", "cloneSetTemplate", "spec", "template", "spec", "containers")
	}
}

func setImage(obj *unstructured.Unstructured, image string, path ...string) error {
	containers, _, err := unstructured.NestedSlice(obj.Object, path...)
	if err != nil {
		return err
	}
	containers[0].(map[string]any)["image"] = image
	return unstructured.SetNestedSlice(obj.Object, containers, path...)
}

// place applies one UnitedDeployment and one FleetPlacement on the hub.
func place(ctx context.Context, w *world, f *figures) error {
	say("2. One UnitedDeployment of %d replicas and one FleetPlacement, on the hub", w.replicas())
	if err := w.ensureNamespace(ctx, w.hub); err != nil {
		return err
	}
	began := time.Now()
	if err := w.apply(ctx, w.hub, "web.yaml", w.web(imageV1)); err != nil {
		return err
	}
	if err := w.apply(ctx, w.hub, "placement.yaml", nil); err != nil {
		return err
	}
	s, err := w.until(ctx, "all pods ready in the members", w.lookWeb(imageV1), func(s seen) bool {
		t := s.total()
		return t.pods == int(w.replicas()) && t.ready == t.pods && t.updated == t.pods
	})
	f.placed, f.first = time.Since(began), s
	return err
}

// update changes the image on the hub.
func update(ctx context.Context, w *world, f *figures) error {
	say("3. The image changes on the hub: %s to %s, InPlaceIfPossible", imageV1, imageV2)
	began := time.Now()
	if err := w.apply(ctx, w.hub, "web.yaml", w.web(imageV2)); err != nil {
		return err
	}
	s, err := w.until(ctx, "all pods updated and ready", w.lookWeb(imageV2), func(s seen) bool {
		t := s.total()
		return t.pods == int(w.replicas()) && t.ready == t.pods && t.updated == t.pods && restarted(f.first, s) == t.pods
	})
	f.updated, f.last = time.Since(began), s
	return err
}

// restarted counts the pods of before whose container restarted.
func restarted(before, after seen) int {
	n := 0
	for key, pod := range after.pods {
		old, ok := before.pods[key]
		if ok && containerID(&old) != containerID(&pod) {
			n++
		}
	}
	return n
}

func containerID(pod *corev1.Pod) string {
	if len(pod.Status.ContainerStatuses) == 0 {
		return ""
	}
	return pod.Status.ContainerStatuses[0].ContainerID
}

func (w *world) lookWeb(image string) func(context.Context) (seen, error) {
	return func(ctx context.Context) (seen, error) { return w.look(ctx, w.members, "web", image) }
}

// oldManifest runs a v1alpha1 CloneSet on a member: first two pods, then all.
func oldManifest(ctx context.Context, w *world, f *figures) error {
	member := w.members[0]
	say("4. A CloneSet of today's users (v1alpha1, partition 8 of 10), straight on %s", member.name)
	if err := w.ensureNamespace(ctx, member); err != nil {
		return err
	}
	look := func(ctx context.Context) (seen, error) {
		return w.look(ctx, []cluster{member}, "guestbook", imageV2)
	}
	var before seen
	for _, step := range []struct {
		image     string
		partition int64
		updated   int
	}{{imageV1, 8, 0}, {imageV2, 8, 2}, {imageV2, 4, 6}, {imageV2, 0, 10}} {
		fmt.Printf("   image %s, partition %d: %d of 10 to be updated\n", step.image, step.partition, step.updated)
		if err := w.apply(ctx, member, "cloneset-v1alpha1.yaml", guestbook(step.image, step.partition)); err != nil {
			return err
		}
		s, err := w.until(ctx, fmt.Sprintf("%d of 10 updated and all ready", step.updated), look, func(s seen) bool {
			t := s.total()
			return t.pods == 10 && t.ready == 10 && t.updated == step.updated && (step.updated == 0 || restarted(before, s) == step.updated)
		})
		if err != nil {
			return err
		}
		if step.updated == 0 {
			before = s
		}
		f.guestbook = append(f.guestbook, step.updated)
	}
	return nil
}

func guestbook(image string, partition int64) func(*unstructured.Unstructured) error {
	return func(obj *unstructured.Unstructured) error {
		if err := unstructured.SetNestedField(obj.Object, partition, "spec", "updateStrategy", "partition"); err != nil {
			return err
		}
		return setImage(obj, image, "spec", "template", "spec", "containers")
	}
}
