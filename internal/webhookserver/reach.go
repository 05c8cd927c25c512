// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package webhookserver

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/flotilla-sh/flotilla/internal/events"
)

const (
	// reachAgain is how long after the start the first probe is made, and after one that failed the next.
	reachAgain = 5 * time.Second
	// reachTimeout bounds one probe; the webhook's own time is half of it.
	reachTimeout = 10 * time.Second
)

var (
	reachable = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "flotilla_webhook_reachable", Help: "1 if the API server reached the webhooks when it was last asked to, and trusts all of them. Only the replica that acts asks.",
	}, []string{"component"})
	reachChecked = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "flotilla_webhook_reach_check_timestamp_seconds", Help: "When the API server was last asked to reach the webhooks.",
	}, []string{"component"})
)

// prober asks the API server time and again to reach our webhooks: it creates, as a dry run, a Lease that our
// webhook configuration sends to us for its label alone, and looks whether the answer carries what only our
// handler puts in. Nothing is stored. One replica asks, the one that leads: the API server takes any of them
// that is ready, so the others would ask the same question.
//
// What it finds is told and never feeds the readiness check: replicas that are not ready are no endpoints of
// the Service, so a replica which waited to be reached before it is ready would never be reached.
type prober struct {
	*Options
	configs client.Reader // of our webhook configurations
	api     client.Client // without the manager's waiting for caches: nothing will ever be in them
	events  events.Publisher
	clock   clock.Clock
	told    told
}

// AddReachProbe adds the prober to the manager. Call it after AddKeeper.
func (o *Options) AddReachProbe(mgr manager.Manager) error {
	api, err := client.New(mgr.GetConfig(), client.Options{HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return err
	}
	for _, c := range []prometheus.Collector{reachable, reachChecked} {
		var already prometheus.AlreadyRegisteredError
		if err := metrics.Registry.Register(c); err != nil && !errors.As(err, &already) {
			return err
		}
	}
	return mgr.Add(&prober{
		Options: o, configs: mgr.GetClient(), api: client.NewDryRunClient(api),
		events: events.New(mgr.GetEventRecorder(o.Component)), clock: clock.RealClock{},
	})
}

// NeedLeaderElection is true: one replica asks.
func (*prober) NeedLeaderElection() bool { return true }

// Start probes until the process ends.
func (p *prober) Start(ctx context.Context) error {
	wait := min(reachAgain, p.ProbeEvery)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-p.clock.After(wait):
		}
		v := p.probe(ctx)
		if ctx.Err() != nil {
			return nil
		}
		p.tell(ctx, v)
		wait = p.ProbeEvery
		if v.reason != Reached {
			wait = min(reachAgain, p.ProbeEvery)
		}
	}
}

// probe asks once.
func (p *prober) probe(ctx context.Context) verdict {
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	missing, err := p.missing(ctx)
	if err != nil {
		return verdict{reason: Unknown, note: err.Error()}
	}
	challenge := rand.Text()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
		Namespace: p.Namespace, Name: p.Component + "-reach", Labels: map[string]string{reachLabel: p.Component},
		Annotations: map[string]string{reachChallenge: challenge},
	}}
	err = p.api.Create(ctx, lease)
	return p.withProblem(p.judge(missing, lease.Annotations[reachAnswer] == challenge, err))
}

// missing says what of the installed manifests is not there.
func (p *prober) missing(ctx context.Context) ([]string, error) {
	var out []string
	for _, gvk := range configurationGVKs {
		cfg := newConfig(gvk)
		err := p.configs.Get(ctx, client.ObjectKey{Name: p.Component}, cfg)
		switch {
		case apierrors.IsNotFound(err):
			out = append(out, gvk.Kind+" "+p.Component)
		case err != nil:
			return nil, err
		case gvk == mutatingGVK && !asksProbe(cfg):
			out = append(out, fmt.Sprintf("webhook %s of %s %s", reachPath, gvk.Kind, p.Component))
		}
	}
	return out, nil
}

func asksProbe(cfg *unstructured.Unstructured) bool {
	entries, err := entriesOf(cfg)
	if err != nil {
		return false
	}
	for _, hook := range entries.live {
		if pathOfHook(hook) == reachPath {
			return true
		}
	}
	return false
}

// judge says what a probe's answer means.
func (p *prober) judge(missing []string, answered bool, err error) verdict {
	switch {
	case len(missing) > 0:
		return verdict{NotInstalled, fmt.Sprintf("missing: %s. The API server does not ask us about everything it should. "+
			"We may not create it; apply our manifests again", strings.Join(missing, ", "))}
	case err != nil && strings.Contains(err.Error(), "failed calling webhook"):
		return verdict{NotReached, fmt.Sprintf("the API server does not reach our webhooks, so writes of our kinds are refused and pods are let in without us: %.400s. %s", err.Error(), p.fix())}
	case err != nil:
		return verdict{Unknown, fmt.Sprintf("could not ask the API server to reach our webhooks: %v", err)}
	case !answered:
		return verdict{NotReached, "the API server did not ask our webhooks, or somebody else answered for them. " + p.fix()}
	}
	return verdict{Reached, "the API server reaches our webhooks"}
}

// withProblem adds to a verdict what is wrong with certificates of somebody else.
func (p *prober) withProblem(v verdict) verdict {
	text := p.problem.Load()
	switch {
	case text == nil:
	case v.reason == Reached:
		return verdict{NotTrusted, "the API server reaches our webhooks, but may not trust all of them: " + *text}
	case v.reason == NotReached:
		v.note += ". Besides, " + *text
	}
	return v
}

// fix is what to do when the API server does not reach us.
func (p *prober) fix() string {
	if p.Host != "" {
		return fmt.Sprintf("See that the API server can connect to %s, port %d (--webhook-host, --webhook-port)", p.Host, p.Port)
	}
	return fmt.Sprintf("See that Service %s/%s has endpoints, and that a firewall or network policy lets the control plane connect to port %d of our pods; "+
		"where it cannot reach pods at all, run them with hostNetwork", p.Namespace, p.Service, p.Port)
}

// tell shows a verdict: the metrics each time, log and event when it changed, and while it is bad now and then.
func (p *prober) tell(ctx context.Context, v verdict) {
	if v.reason == Unknown {
		log.FromContext(ctx).V(1).Info("Could not ask whether webhooks are reached", "error", v.note)
		return
	}
	now := p.clock.Now()
	value := 0.0
	if v.reason == Reached {
		value = 1
	}
	reachable.WithLabelValues(p.Component).Set(value)
	reachChecked.WithLabelValues(p.Component).Set(float64(now.Unix()))
	var change *verdict
	if p.told, change = p.told.next(v, now); change == nil {
		return
	}
	// Of the Service, so that it is among the events of the namespace that we run in.
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Service}}
	if change.reason == Reached {
		log.FromContext(ctx).Info("Webhooks are reached", "component", p.Component)
		p.events.Publish(events.Normal(service, "Webhooks"+string(change.reason), "ProbeWebhooks", change.note))
		return
	}
	log.FromContext(ctx).Error(nil, "Webhooks do not work", "reason", change.reason, "component", p.Component, "why", change.note)
	p.events.Publish(events.Warning(service, "Webhooks"+string(change.reason), "ProbeWebhooks", change.note))
}
