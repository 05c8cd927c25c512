// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/flotilla-sh/flotilla/internal/features"
	"github.com/flotilla-sh/flotilla/spoke/podmarks"
)

func addPodMarks(mgr manager.Manager) error {
	return podmarks.Add(mgr, podmarks.Options{Serverless: serverlessProbes()})
}

// serverlessProbes says whether virtual kubelets run probes.
func serverlessProbes() bool {
	return features.Enabled(features.PodProbeMarkerGate) && features.Enabled(features.EnablePodProbeMarkerOnServerless)
}
