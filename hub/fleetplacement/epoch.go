// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleetplacement

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

const (
	// EpochConfigMap in the hub's namespace holds the fleet's epoch under key EpochKey. It begins at
	// 1. After a hub was restored from a backup, the operator raises it: members delete nothing on the
	// word of a hub with a lower epoch than they have seen. So a running hub never lowers it: it makes a
	// ConfigMap that was deleted anew with the epoch it knows, and takes no lower number.
	EpochConfigMap = "flotilla-hub-epoch"
	// EpochKey in the ConfigMap; a number of at least 1.
	EpochKey = "epoch"

	// epochInterval is how often the ConfigMap is read.
	epochInterval = 10 * time.Second
)

// Epoch knows the fleet's epoch.
type Epoch struct {
	// Reader reads the ConfigMap from the API server itself; Writer makes it when there is none.
	Reader client.Reader
	Writer client.Writer
	// Namespace of the hub.
	Namespace string
	// Clock tells when to read again.
	Clock clock.Clock

	mu    sync.Mutex
	known int64
}

// Current returns the epoch, at most some seconds old. An error says that the ConfigMap cannot be read or
// holds no epoch: then nothing may be written.
func (e *Epoch) Current(ctx context.Context) (int64, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.known > 0 {
		return e.known, nil
	}
	known, err := e.read(ctx, 1)
	e.known = known
	return known, err
}

// Watch reads the ConfigMap now and then until the context ends, and calls changed after each change.
func (e *Epoch) Watch(ctx context.Context, changed func()) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-e.Clock.After(epochInterval):
		}
		now, err := e.read(ctx, e.atLeast())
		if err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "the fleet's epoch stays as it was")
			continue
		}
		if e.raise(now) {
			changed()
		}
	}
}

// atLeast is the epoch that a ConfigMap made now begins with.
func (e *Epoch) atLeast() int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return max(e.known, 1)
}

func (e *Epoch) raise(now int64) (changed bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	changed = e.known < now
	e.known = max(e.known, now)
	return changed
}

// read reads the epoch, or makes it with the least it may be when there is none. A lower one is an error.
func (e *Epoch) read(ctx context.Context, least int64) (int64, error) {
	cm := &corev1.ConfigMap{}
	err := e.Reader.Get(ctx, client.ObjectKey{Namespace: e.Namespace, Name: EpochConfigMap}, cm)
	if apierrors.IsNotFound(err) {
		cm = &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: e.Namespace, Name: EpochConfigMap},
			Data:       map[string]string{EpochKey: strconv.FormatInt(least, 10)},
		}
		// Reading our own write back would take a watch on ConfigMaps, which the hub has no right to.
		err = e.Writer.Create(ctx, cm, client.DisableReadYourWritesConsistency)
	}
	if err != nil {
		return 0, fmt.Errorf("reading the fleet's epoch: %w", err)
	}
	epoch, err := strconv.ParseInt(cm.Data[EpochKey], 10, 64)
	if err != nil || epoch < 1 {
		return 0, fmt.Errorf("ConfigMap %s/%s: key %q must be a number of at least 1, is %q", e.Namespace, EpochConfigMap, EpochKey, cm.Data[EpochKey])
	}
	if epoch < least {
		return 0, fmt.Errorf("ConfigMap %s/%s: key %q is %d, but the hub has written %d: members would delete nothing any more; set it to that at least",
			e.Namespace, EpochConfigMap, EpochKey, epoch, least)
	}
	return epoch, nil
}
