// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/spf13/pflag"
	"go.uber.org/zap/zapcore"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/flotilla-sh/flotilla/internal/features"
	"github.com/flotilla-sh/flotilla/internal/lenient"
)

// DefaultNamespace is where Flotilla runs unless told otherwise.
const DefaultNamespace = "flotilla-system"

// Options are the settings every component has.
type Options struct {
	// Component is the user agent and the leader election name: flotilla-hub, flotilla-spoke.
	Component string
	// Namespace the component runs in: its Lease, Secret and ConfigMaps are there.
	Namespace string
	// Kubeconfig file; empty means in-cluster, then KUBECONFIG.
	Kubeconfig string
	// MetricsAddr and HealthAddr are host:port; "0" turns the server off.
	MetricsAddr, HealthAddr string
	// LeaderElect makes only one replica act. Webhooks run on all.
	LeaderElect bool
	// LeaderElectionID and LeaderElectionNamespace name the Lease that the acting replica holds; empty:
	// Component and Namespace. Whoever holds it keeps others from acting, another program as well.
	LeaderElectionID, LeaderElectionNamespace string
	// ProfileAddr is the host:port where net/http/pprof answers; "0" turns it off, and so does Profiles being false.
	ProfileAddr string
	Profiles    bool
	// QPS and Burst bound the requests a second to the API server. A QPS of 0 leaves that to the API server's
	// Priority and Fairness, which knows how busy it is.
	QPS   float32
	Burst int
	// LeaseDuration, RenewDeadline and RetryPeriod are the times of leader election.
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
	// SyncPeriod is how often everything is looked at once more though nothing changed, beside what controllers do of
	// themselves; 0: every 10 hours. CacheSyncTimeout is how long a controller waits at its start for what it reads.
	SyncPeriod, CacheSyncTimeout time.Duration
	// Concurrency is how many objects of a kind are worked on at once, by names as CloneSet.apps.kruise.io; of other kinds
	// it is 3, where their controller says nothing else.
	Concurrency map[string]int

	zap   zap.Options
	gates *features.Flag
}

// NewOptions returns the defaults of a component.
func NewOptions(component string) *Options {
	return &Options{
		Component: component, Namespace: envOr("POD_NAMESPACE", DefaultNamespace),
		MetricsAddr: ":8080", HealthAddr: ":8000", ProfileAddr: "0", Profiles: true, LeaderElect: true,
		LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second, CacheSyncTimeout: 2 * time.Minute,
		zap: zap.Options{TimeEncoder: zapcore.ISO8601TimeEncoder},
	}
}

// AddFlags binds the options to flags.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Kubeconfig, "kubeconfig", o.Kubeconfig, "kubeconfig file; empty: in-cluster, then $KUBECONFIG")
	fs.StringVar(&o.Namespace, "namespace", o.Namespace, "namespace of this component's own objects (env POD_NAMESPACE)")
	fs.StringVar(&o.MetricsAddr, "metrics-addr", o.MetricsAddr, "address of the metrics endpoint; 0 turns it off")
	fs.StringVar(&o.HealthAddr, "health-probe-addr", o.HealthAddr, "address of /healthz and /readyz; 0 turns it off")
	fs.BoolVar(&o.LeaderElect, "enable-leader-election", o.LeaderElect, "let only one replica act at a time")
	fs.StringVar(&o.LeaderElectionID, "leader-election-id", o.LeaderElectionID, "name of the Lease that the acting replica holds; empty: "+o.Component)
	fs.StringVar(&o.LeaderElectionNamespace, "leader-election-namespace", o.LeaderElectionNamespace, "namespace of that Lease; empty: that of --namespace")
	fs.Float32Var(&o.QPS, "rest-config-qps", o.QPS, "requests a second to the API server, on average; 0: as many as it takes")
	fs.IntVar(&o.Burst, "rest-config-burst", o.Burst, "requests a second to the API server, at most, where --rest-config-qps is set; 0: twice that")
	fs.StringVar(&o.ProfileAddr, "pprof-addr", o.ProfileAddr, "address where CPU and memory profiles are served; 0 turns it off")
	fs.DurationVar(&o.LeaseDuration, "leader-election-lease-duration", o.LeaseDuration, "how long others wait for a replica that does not renew its Lease")
	fs.DurationVar(&o.RenewDeadline, "leader-election-renew-deadline", o.RenewDeadline, "how long the acting replica tries to renew its Lease before it gives up; less than the duration")
	fs.DurationVar(&o.RetryPeriod, "leader-election-retry-period", o.RetryPeriod, "how often replicas try to get or renew the Lease")
	fs.DurationVar(&o.SyncPeriod, "sync-period", o.SyncPeriod, "how often every object is looked at once more though it did not change; 0: every 10 hours")
	fs.DurationVar(&o.CacheSyncTimeout, "controller-cache-sync-timeout", o.CacheSyncTimeout, "how long a controller waits at its start for what it reads")
	fs.BoolVar(&o.Profiles, "enable-pprof", o.Profiles, "false turns --pprof-addr off")
	o.gates = features.AddFlag(fs)
	zapFlags := flag.NewFlagSet("log", flag.ContinueOnError)
	o.zap.BindFlags(zapFlags)
	fs.AddGoFlagSet(zapFlags)
	AddFlagsWithoutEffect(fs, "use --zap-encoder and --zap-log-level", logFlags...)
}

// Complete makes the options' logger the one of this process, sets the gates that others demand or forbid, and
// logs which are so, and which have no effect. Call it once, after parsing.
func (o *Options) Complete() error {
	ctrl.SetLogger(zap.New(zap.UseFlagOptions(&o.zap)))
	if o.gates == nil {
		return nil
	}
	for _, name := range o.gates.Idle() {
		ctrl.Log.Info("Feature gate has no effect here yet", "gate", name)
	}
	changes, err := o.gates.Settle()
	for _, c := range changes {
		ctrl.Log.Info("Feature gate is not as asked for", "gate", c.Gate, "on", c.On, "because", c.Because)
	}
	return err
}

// RESTConfig loads the API server's address and credentials.
func (o *Options) RESTConfig() (*rest.Config, error) {
	cfg, err := LoadConfig(o.Kubeconfig)
	if err != nil {
		return nil, err
	}
	o.Tune(cfg)
	return cfg, nil
}

// Tune gives a client configuration this component's user agent and limits.
func (o *Options) Tune(cfg *rest.Config) {
	cfg.UserAgent = o.Component
	cfg.QPS, cfg.Burst = o.QPS, o.Burst
	switch {
	case o.QPS <= 0:
		cfg.QPS = -1 // for client-go 0 means 5
	case o.Burst <= 0:
		cfg.Burst = max(int(2*o.QPS), 1) // and 10 here
	}
}

// LoadConfig reads a kubeconfig file; an empty path means in-cluster, then $KUBECONFIG.
func LoadConfig(path string) (*rest.Config, error) {
	if path == "" && os.Getenv(clientcmd.RecommendedConfigPathEnvVar) == "" {
		if cfg, err := rest.InClusterConfig(); err == nil {
			return cfg, nil
		}
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = path
	cfg, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("no API server to talk to (set --kubeconfig, KUBECONFIG, or run in a cluster): %w", err)
	}
	return cfg, nil
}

// Manager builds the manager. Reads wait for this process's own writes to reach the cache, and
// cached objects carry no managedFields. An object of our kinds that cannot be read is left out. byObject narrows what is cached.
func (o *Options) Manager(cfg *rest.Config, scheme *runtime.Scheme, server webhook.Server, byObject map[client.Object]cache.ByObject) (manager.Manager, error) {
	informers, err := lenient.Informers(cfg, scheme)
	if err != nil {
		return nil, fmt.Errorf("starting the manager: %w", err)
	}
	mgr, err := manager.New(cfg, manager.Options{
		Scheme: scheme,
		Cache: cache.Options{
			DefaultTransform: cache.TransformStripManagedFields(), ByObject: byObject, NewInformer: informers, SyncPeriod: o.syncPeriod(),
		},
		Client:                        client.Options{Cache: &client.CacheOptions{Unstructured: true, EnableReadYourWritesConsistency: ptr.To(true)}},
		LeaderElection:                o.LeaderElect,
		LeaderElectionID:              cmp.Or(o.LeaderElectionID, o.Component),
		LeaderElectionNamespace:       cmp.Or(o.LeaderElectionNamespace, o.Namespace),
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 &o.LeaseDuration,
		RenewDeadline:                 &o.RenewDeadline,
		RetryPeriod:                   &o.RetryPeriod,
		Metrics:                       metricsserver.Options{BindAddress: o.MetricsAddr},
		HealthProbeBindAddress:        o.HealthAddr,
		PprofBindAddress:              o.profileAddr(),
		WebhookServer:                 server,
		GracefulShutdownTimeout:       ptr.To(10 * time.Second),
		Controller: config.Controller{
			MaxConcurrentReconciles: 3, RecoverPanic: ptr.To(true), GroupKindConcurrency: o.Concurrency, CacheSyncTimeout: o.CacheSyncTimeout,
		},
	})
	if err != nil {
		return nil, fmt.Errorf("starting the manager: %w", err)
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return nil, err
	}
	return mgr, nil
}

func (o *Options) profileAddr() string {
	if o.Profiles {
		return o.ProfileAddr
	}
	return "0"
}

// syncPeriod is nil for the library's own, 10 hours, which costs next to nothing and mends what a lost event left.
func (o *Options) syncPeriod() *time.Duration {
	if o.SyncPeriod <= 0 {
		return nil
	}
	return &o.SyncPeriod
}

func envOr(name, fallback string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	return fallback
}
