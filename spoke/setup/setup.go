// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/component-base/featuregate"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/features"
	"github.com/flotilla-sh/flotilla/internal/ownership"
	"github.com/flotilla-sh/flotilla/internal/protectionlog"
	"github.com/flotilla-sh/flotilla/internal/webhookserver"
	"github.com/flotilla-sh/flotilla/spoke/cloneset"
	"github.com/flotilla-sh/flotilla/spoke/containerrecreaterequest"
	"github.com/flotilla-sh/flotilla/spoke/ephemeraljob"
	"github.com/flotilla-sh/flotilla/spoke/fleet"
	"github.com/flotilla-sh/flotilla/spoke/launchpriority"
	"github.com/flotilla-sh/flotilla/spoke/nodepodprobe"
	"github.com/flotilla-sh/flotilla/spoke/podprobe"
	"github.com/flotilla-sh/flotilla/spoke/podprobemarker"
	"github.com/flotilla-sh/flotilla/spoke/podreadiness"
	"github.com/flotilla-sh/flotilla/spoke/resourcedistribution"
	"github.com/flotilla-sh/flotilla/spoke/uniteddeployment"
	"github.com/flotilla-sh/flotilla/spoke/workload"
)

// entry is one controller.
type entry struct {
	name string
	add  func(manager.Manager) error
}

// controllers is every controller of the spoke, in the order in which they are added.
func controllers(b *budgets, opts *Options) []entry {
	return []entry{
		{"podreadiness", podreadiness.Add},
		{"launchpriority", launchpriority.Add},
		{"ephemeraljob", ephemeraljob.Add},
		{"containerrecreaterequest", containerrecreaterequest.Add},
		{"podprobemarker", either(features.PodProbeMarkerGate, podprobemarker.Add, podprobemarker.AddOff)}, // goes off with KruiseDaemon
		{"nodepodprobe", when(features.PodProbeMarkerGate, nodepodprobe.Add)},
		{"podmarks", when(features.PodProbeMarkerGate, addPodMarks)},
		{"resourcedistribution", when(features.ResourceDistributionGate, addResourceDistribution)},
		{"cloneset", func(mgr manager.Manager) error { return b.addCloneSet(mgr, opts) }},
		{"uniteddeployment", func(mgr manager.Manager) error { return uniteddeployment.Add(mgr, uniteddeployment.Options{}) }},
		{"podunavailablebudget", b.addController},
	}
}

// when adds a controller where its gate is on.
func when(gate featuregate.Feature, add func(manager.Manager) error) func(manager.Manager) error {
	return func(mgr manager.Manager) error {
		if !features.Enabled(gate) {
			return nil
		}
		return add(mgr)
	}
}

// either adds one controller where a gate is on, and another where it is off.
func either(gate featuregate.Feature, on, off func(manager.Manager) error) func(manager.Manager) error {
	return func(mgr manager.Manager) error {
		if features.Enabled(gate) {
			return on(mgr)
		}
		return off(mgr)
	}
}

func addResourceDistribution(mgr manager.Manager) error {
	return resourcedistribution.Add(context.Background(), mgr)
}

// pullers are the controllers that have nodes pull images ahead, each with the gate that it needs.
var pullers = []struct {
	name string
	gate featuregate.Feature
	add  func(manager.Manager, pulling) error
}{
	{"nodeimage", features.KruiseDaemon, addNodeImage},
	{"imagepulljob", features.ImagePullJobGate, addImagePullJob},
	{"imagelistpulljob", features.ImagePullJobGate, addImageListPullJob},
}

// Add puts everything the spoke does into the manager.
func Add(mgr manager.Manager, hooks *webhookserver.Options, opts Options) error {
	if err := opts.validate(); err != nil {
		return err
	}
	if err := addIndexes(mgr.GetFieldIndexer()); err != nil {
		return err
	}
	log, err := protectionlog.Open(opts.ProtectionLogPath)
	if err != nil {
		return err
	}
	b, err := newBudgets(mgr, log)
	if err != nil {
		return wrap("budgets", err)
	}
	if err := addWebhooks(mgr, hooks, admitters{b, log}); err != nil {
		return err
	}
	for _, c := range controllers(b, &opts) {
		if err := c.add(mgr); err != nil {
			return wrap(c.name, err)
		}
	}
	if err := addPulling(mgr, opts); err != nil {
		return err
	}
	return addFleet(mgr, hooks.Namespace, opts)
}

// addFleet adds the part that speaks with the hub; without a hub there is none.
func addFleet(mgr manager.Manager, namespace string, opts Options) error {
	if opts.HubKubeconfig == "" {
		return nil
	}
	err := fleet.Add(mgr, fleet.Options{
		ClusterName: opts.ClusterName, HubKubeconfig: opts.HubKubeconfig, UserAgent: "flotilla-spoke",
		Namespace: namespace, HeartbeatInterval: opts.HeartbeatInterval,
	})
	if err != nil {
		return wrap("fleet", err)
	}
	return nil
}

// indexed are the kinds that controllers list by the uid of their owner.
var indexed = []client.Object{&corev1.Pod{}}

func addIndexes(indexer client.FieldIndexer) error {
	objects := indexed
	if features.Enabled(features.PreDownloadImageForInPlaceUpdate) {
		objects = append(slices.Clone(indexed), &appsv1beta1.ImagePullJob{})
	}
	for _, obj := range objects {
		if err := indexer.IndexField(context.Background(), obj, ownership.ControllerUIDIndex, ownership.IndexByController); err != nil {
			return wrap("index", err)
		}
	}
	if features.Enabled(features.PodProbeMarkerGate) {
		if err := podprobe.AddIndexes(context.Background(), indexer); err != nil {
			return err
		}
	}
	return workload.AddIndexes(context.Background(), indexer)
}

// addCloneSet hands the gates that CloneSets read to their controller.
func (b *budgets) addCloneSet(mgr manager.Manager, opts *Options) error {
	resizes, err := resizesPods(mgr)
	if err != nil {
		return err
	}
	return cloneset.Add(context.Background(), mgr, cloneset.Options{
		ShortHash:               features.Enabled(features.CloneSetShortHash),
		ExcludePreparingDelete:  opts.ExcludePreparingDelete,
		PartitionRollback:       features.Enabled(features.CloneSetPartitionRollback),
		PreparingUpdateAsUpdate: features.Enabled(features.PreparingUpdateAsUpdate),
		RecreateOnClaimChange:   features.Enabled(features.RecreatePodWhenChangeVCTInCloneSetGate),
		EnvFromMetadata:         features.Enabled(features.InPlaceUpdateEnvFromMetadata),
		VerticalScaling:         resizes,
		PreDownload:             features.Enabled(features.PreDownloadImageForInPlaceUpdate),
		Guard:                   b.updateGuard(),
	})
}

// resizesPods says whether changed resources of a template are an update in place: the gate asks for it, and the API
// server can do it, which it can from Kubernetes 1.32 on.
func resizesPods(mgr manager.Manager) (bool, error) {
	if !features.Enabled(features.InPlaceWorkloadVerticalScaling) {
		return false, nil
	}
	found, err := discovery.NewDiscoveryClientForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return false, wrap("discovery", err)
	}
	core, err := found.ServerResourcesForGroupVersion("v1")
	if err != nil {
		return false, wrap("discovery", err)
	}
	for i := range core.APIResources {
		if core.APIResources[i].Name == "pods/resize" {
			return true, nil
		}
	}
	mgr.GetLogger().Info("this API server cannot resize pods: changed resources recreate them", "gate", features.InPlaceWorkloadVerticalScaling)
	return false, nil
}
