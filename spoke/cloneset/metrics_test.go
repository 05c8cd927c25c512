// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/podpatch"
	"github.com/flotilla-sh/flotilla/spoke/podset"
	"github.com/flotilla-sh/flotilla/spoke/podset/execute"
)

// scrape returns the series of the metrics, as name{labels}, with their values; of a histogram the count and the sum.
func scrape(t testing.TB, gatherer prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := gatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, family := range families {
		if !strings.Contains(family.GetName(), "cloneset_") {
			continue
		}
		for _, m := range family.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetValue())
			}
			key := fmt.Sprintf("%s{%s}", strings.TrimPrefix(family.GetName(), "flotilla_cloneset_"), strings.Join(labels, ","))
			switch h := m.GetHistogram(); {
			case h != nil:
				out[key+" count"], out[key+" sum"] = float64(h.GetSampleCount()), h.GetSampleSum()
				for _, b := range h.GetBucket() {
					out[fmt.Sprintf("%s le %g", key, b.GetUpperBound())] = float64(b.GetCumulativeCount())
				}
			default:
				out[key] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
		}
	}
	return out
}

// metricsOf serves the metrics of sets that a cache has.
func metricsOf(t testing.TB, objects ...client.Object) (client.Client, *tallies, *prometheus.Registry) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := appsv1beta1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	sets := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
	counts := newTallies(sets)
	shell := &served{}
	shell.serve(context.Background(), &serving{tallies: counts})
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(shell); err != nil {
		t.Fatal(err)
	}
	return sets, counts, registry
}

func measuredSet(name string) *appsv1beta1.CloneSet {
	at := func(minutes int) metav1.Time { return metav1.NewTime(time.Unix(int64(60*minutes), 0)) }
	return &appsv1beta1.CloneSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name)},
		Spec:       appsv1beta1.CloneSetSpec{Replicas: ptr.To[int32](9)},
		Status: appsv1beta1.CloneSetStatus{
			ReadyReplicas: 8, AvailableReplicas: 7, UpdatedReplicas: 3, UpdatedReadyReplicas: 2, ExpectedUpdatedReplicas: 4,
			Conditions: []appsv1beta1.Condition{
				{Type: appsv1beta1.CloneSetConditionWaiting, Status: corev1.ConditionTrue, Reason: podset.WaitMaxUnavailable, LastTransitionTime: at(1), LastUpdateTime: ptr.To(at(2))},
				{Type: appsv1beta1.CloneSetConditionFailedUpdate, Status: corev1.ConditionTrue, LastTransitionTime: at(3)},
				{Type: appsv1beta1.CloneSetConditionProgressing, Status: corev1.ConditionFalse, Reason: appsv1beta1.CloneSetProgressDeadlineExceeded, LastTransitionTime: at(4)},
				{Type: appsv1beta1.CloneSetConditionPartitionReached, Status: corev1.ConditionTrue, LastTransitionTime: at(5)},
			},
		},
	}
}

// updated is the fact that a pod's in-place update, begun so long ago, is done.
func updated(ago time.Duration) execute.Fact {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Labels: map[string]string{appsv1beta1.LifecycleStateKey: string(appsv1beta1.LifecycleStateUpdating)},
		Annotations: map[string]string{appsv1beta1.InPlaceUpdateStateKey: fmt.Sprintf(
			`{"revision":"r","updateTimestamp":%q,"lastContainerStatuses":{}}`, noon.Add(-ago).Format(time.RFC3339))},
	}}
	var patch podpatch.Patch
	patch.Label(appsv1beta1.LifecycleStateKey, string(appsv1beta1.LifecycleStateNormal))
	return execute.Fact{Kind: execute.Changed, Pod: pod, Change: &podset.Change{Kind: podset.Refresh, Pod: pod, Writes: []podset.Write{{Patch: patch}}}}
}

func TestMetrics(t *testing.T) {
	quiet := &appsv1beta1.CloneSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "quiet", UID: "uid-quiet"}}
	sets, counts, registry := metricsOf(t, measuredSet("web"), quiet)
	failed := updated(time.Second)
	failed.Err = errors.New("refused")
	begun := updated(time.Hour)
	begun.Change = &podset.Change{Kind: podset.UpdateInPlace, Pod: begun.Pod, Writes: begun.Change.Writes}
	counts.done(context.Background(), "uid-web", []execute.Fact{
		updated(10 * time.Second), updated(70 * time.Second), updated(2 * time.Hour), failed, begun,
		{Kind: execute.Changed, Change: &podset.Change{Kind: podset.MarkForRecreate}},
		{Kind: execute.Created}, {Kind: execute.Deleted}, {Kind: execute.Deleted, ForUpdate: true}, {Kind: execute.Deleted, ForUpdate: true, Err: errors.New("refused")},
	}, noon)
	counts.lagged(measuredSet("web"))

	idle := map[string]float64{
		"desired_replicas{quiet,ns}": 1, "ready_replicas{quiet,ns}": 0, "available_replicas{quiet,ns}": 0, "updated_replicas{quiet,ns}": 0,
		"updated_ready_replicas{quiet,ns}": 0, "expected_updated_replicas{quiet,ns}": 0,
		"pod_updates_total{quiet,ns,InPlace}": 0, "pod_updates_total{quiet,ns,Recreate}": 0,
	}
	want := map[string]float64{
		"desired_replicas{web,ns}": 9, "ready_replicas{web,ns}": 8, "available_replicas{web,ns}": 7, "updated_replicas{web,ns}": 3,
		"updated_ready_replicas{web,ns}": 2, "expected_updated_replicas{web,ns}": 4,
		"pod_updates_total{web,ns,InPlace}": 3, "pod_updates_total{web,ns,Recreate}": 2,
		"cloneset_scale_expectation_leakage{web,ns}":                       1,
		"waiting_since_timestamp_seconds{web,ns,MaxUnavailableReached}":    120,
		"partition_reached_timestamp_seconds{web,ns}":                      300,
		"failing_since_timestamp_seconds{web,ns,FailedUpdate}":             180,
		"failing_since_timestamp_seconds{web,ns,ProgressDeadlineExceeded}": 240,
		"in_place_update_duration_seconds{web,ns} count":                   3,
		"in_place_update_duration_seconds{web,ns} sum":                     7280,
		"in_place_update_duration_seconds{web,ns} le 1":                    0,
		"in_place_update_duration_seconds{web,ns} le 5":                    0,
		"in_place_update_duration_seconds{web,ns} le 15":                   1,
		"in_place_update_duration_seconds{web,ns} le 30":                   1,
		"in_place_update_duration_seconds{web,ns} le 60":                   1,
		"in_place_update_duration_seconds{web,ns} le 120":                  2,
		"in_place_update_duration_seconds{web,ns} le 300":                  2,
		"in_place_update_duration_seconds{web,ns} le 900":                  2,
		"in_place_update_duration_seconds{web,ns} le 3600":                 2,
	}
	maps.Copy(want, idle)
	if diff := cmp.Diff(want, scrape(t, registry)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	// A set that is gone takes its series along; one of the same name begins anew.
	ctx := context.Background()
	if err := sets.Delete(ctx, measuredSet("web")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(idle, scrape(t, registry)); diff != "" {
		t.Errorf("of a set that is gone (-want +got):\n%s", diff)
	}
	again := measuredSet("web")
	again.UID = "uid-again"
	if err := sets.Create(ctx, again); err != nil {
		t.Fatal(err)
	}
	if got := scrape(t, registry)["pod_updates_total{web,ns,InPlace}"]; got != 0 {
		t.Errorf("a new set begins with %g updates", got)
	}
}

// Where nobody scrapes, what was counted for sets that are gone is forgotten all the same.
func TestTalliesAreBounded(t *testing.T) {
	_, counts, _ := metricsOf(t, measuredSet("web"))
	counts.lagged(measuredSet("web"))
	for i := range 5 * manyTallies {
		counts.done(context.Background(), types.UID(fmt.Sprint("gone-", i)), []execute.Fact{updated(0)}, noon)
	}
	if n := len(counts.byUID); n > manyTallies+2 || counts.byUID["uid-web"] == nil {
		t.Errorf("%d are kept, that of the set which is there: %v", n, counts.byUID["uid-web"])
	}
}

func TestNoMetricsBeforeThisReplicaActs(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(&served{}); err != nil {
		t.Fatal(err)
	}
	if got := scrape(t, registry); len(got) != 0 {
		t.Errorf("series %v", got)
	}
}

// docs/metrics.md lists the metrics there are, and its rules name no other.
func TestMetricsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	descriptions := make(chan *prometheus.Desc)
	go func() { exported.Describe(descriptions); close(descriptions) }()
	var have []string
	for d := range descriptions {
		have = append(have, regexp.MustCompile(`fqName: "([^"]+)"`).FindStringSubmatch(d.String())[1])
	}
	named := regexp.MustCompile(`\b(flotilla_)?cloneset_[a-z_]+`).FindAllString(string(text), -1)
	for i := range named {
		named[i] = strings.TrimSuffix(strings.TrimSuffix(named[i], "_bucket"), "_count")
	}
	slices.Sort(have)
	slices.Sort(named)
	if diff := cmp.Diff(have, slices.Compact(named)); diff != "" {
		t.Errorf("(-registered +documented):\n%s", diff)
	}
}

func BenchmarkScrape(b *testing.B) {
	objects := make([]client.Object, 10_000)
	for i := range objects {
		objects[i] = measuredSet(fmt.Sprint("web-", i))
	}
	list := &appsv1beta1.CloneSetList{}
	for _, o := range objects {
		list.Items = append(list.Items, *o.(*appsv1beta1.CloneSet))
	}
	counts := newTallies(cached{list: list})
	shell := &served{}
	shell.serve(context.Background(), &serving{tallies: counts})
	registry := prometheus.NewRegistry()
	registry.MustRegister(shell)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := registry.Gather(); err != nil {
			b.Fatal(err)
		}
	}
}

// cached lists without copying, as a cache does that is asked to.
type cached struct {
	client.Reader
	list *appsv1beta1.CloneSetList
}

func (c cached) List(_ context.Context, out client.ObjectList, _ ...client.ListOption) error {
	out.(*appsv1beta1.CloneSetList).Items = c.list.Items
	return nil
}
