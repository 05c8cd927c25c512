// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/flotilla-sh/flotilla/internal/features"
	"github.com/flotilla-sh/flotilla/spoke/podmarks"
)

// withProbes adds a controller of custom probes where their gate is on; it goes off with KruiseDaemon.
func withProbes(add func(manager.Manager) error) func(manager.Manager) error {
	return func(mgr manager.Manager) error {
		if !features.Enabled(features.PodProbeMarkerGate) {
			return nil
		}
		return add(mgr)
	}
}

func addPodMarks(mgr manager.Manager) error {
	return podmarks.Add(mgr, podmarks.Options{Serverless: serverlessProbes()})
}

// serverlessProbes says whether virtual kubelets run probes.
func serverlessProbes() bool {
	return features.Enabled(features.PodProbeMarkerGate) && features.Enabled(features.EnablePodProbeMarkerOnServerless)
}
