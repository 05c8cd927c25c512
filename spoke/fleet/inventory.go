// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// inventoryName is the ConfigMap, in the spoke's namespace, that outlives the agent.
const inventoryName = "flotilla-fleet"

// inventory remembers, in the member, the highest epoch of the hub and the kinds of which the fleet
// has had objects here: a new process must know where to look, and whose word counts. What was told
// is stored before it is acted on.
type inventory struct {
	client    client.Client
	namespace string

	mu     sync.Mutex
	loaded bool
	epoch  int64
	kinds  map[schema.GroupVersionKind]bool
}

func newInventory(c client.Client, namespace string) *inventory {
	return &inventory{client: c, namespace: namespace, kinds: map[schema.GroupVersionKind]bool{}}
}

// note takes an epoch and kinds in and stores them if they are news.
func (i *inventory) note(ctx context.Context, epoch int64, kinds ...schema.GroupVersionKind) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if err := i.load(ctx); err != nil {
		return err
	}
	known := maps.Clone(i.kinds)
	for _, kind := range kinds {
		known[kind] = true
	}
	if epoch <= i.epoch && len(known) == len(i.kinds) {
		return nil
	}
	epoch = max(epoch, i.epoch)
	if err := i.store(ctx, epoch, known); err != nil {
		return fmt.Errorf("remembering epoch and kinds: %w", err)
	}
	i.epoch, i.kinds = epoch, known
	return nil
}

// read returns the highest epoch and all kinds noted so far.
func (i *inventory) read(ctx context.Context) (int64, []schema.GroupVersionKind, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if err := i.load(ctx); err != nil {
		return 0, nil, err
	}
	return i.epoch, slices.SortedFunc(maps.Keys(i.kinds), func(a, b schema.GroupVersionKind) int {
		return strings.Compare(a.String(), b.String())
	}), nil
}

// load reads the ConfigMap once.
func (i *inventory) load(ctx context.Context) error {
	if i.loaded {
		return nil
	}
	var stored corev1.ConfigMap
	err := i.client.Get(ctx, client.ObjectKey{Namespace: i.namespace, Name: inventoryName}, &stored)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading ConfigMap %s/%s: %w", i.namespace, inventoryName, err)
	}
	if text := stored.Data["epoch"]; text != "" {
		if i.epoch, err = strconv.ParseInt(text, 10, 64); err != nil {
			return fmt.Errorf("ConfigMap %s/%s: epoch: %w", i.namespace, inventoryName, err)
		}
	}
	for line := range strings.Lines(stored.Data["kinds"]) {
		if kind, ok := parseKind(strings.TrimSpace(line)); ok {
			i.kinds[kind] = true
		}
	}
	i.loaded = true
	return nil
}

func (i *inventory) store(ctx context.Context, epoch int64, kinds map[schema.GroupVersionKind]bool) error {
	lines := make([]string, 0, len(kinds))
	for kind := range kinds {
		lines = append(lines, printKind(kind))
	}
	slices.Sort(lines)
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"namespace": i.namespace, "name": inventoryName},
		"data":     map[string]any{"epoch": strconv.FormatInt(epoch, 10), "kinds": strings.Join(lines, "\n")},
	}}
	return inNamespace(ctx, i.client, i.namespace, func() error {
		return i.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(obj.DeepCopy()), client.FieldOwner(agentOwner), client.ForceOwnership)
	})
}

// printKind and parseKind write a kind as group/version/kind.
func printKind(kind schema.GroupVersionKind) string {
	return kind.Group + "/" + kind.Version + "/" + kind.Kind
}

func parseKind(text string) (schema.GroupVersionKind, bool) {
	parts := strings.Split(text, "/")
	if len(parts) != 3 || parts[1] == "" || parts[2] == "" {
		return schema.GroupVersionKind{}, false
	}
	return schema.GroupVersionKind{Group: parts[0], Version: parts[1], Kind: parts[2]}, true
}

// inNamespace makes a request and, when it fails because its namespace is not there, creates the
// namespace and makes the request again.
func inNamespace(ctx context.Context, c client.Client, namespace string, do func() error) error {
	err := do()
	if namespace == "" || !lacksNamespace(err, namespace) {
		return err
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if err := c.Create(ctx, ns, client.FieldOwner(agentOwner)); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating namespace %s: %w", namespace, err)
	}
	return do()
}

func lacksNamespace(err error, namespace string) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) {
		return false
	}
	status, _ = err.(apierrors.APIStatus)
	if status == nil || status.Status().Details == nil {
		return false
	}
	details := status.Status().Details
	return details.Kind == "namespaces" && details.Name == namespace
}
