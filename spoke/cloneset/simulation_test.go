// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/pods"
	"github.com/flotilla-sh/flotilla/spoke/inplace"
	"github.com/flotilla-sh/flotilla/spoke/podset"
	"github.com/flotilla-sh/flotilla/spoke/podset/simulate"
	"github.com/flotilla-sh/flotilla/spoke/revision"
)

var (
	simSeed = flag.Int64("sim.seed", -1, "run the simulation of this seed alone and print its log")
	simRuns = flag.Int("sim.runs", 0, "number of random simulations; 0: $FLOTILLA_SIM_RUNS, or 10,000, or 1,000 with -short")
)

const (
	updateHook = "hook-update"
	deleteHook = "hook-delete"
	normalHook = "hook-normal"
	// calmSteps is how long a rollout may take once faults and edits have ended.
	calmSteps = 400
)

// sim runs one CloneSet in a simulated world.
type sim struct {
	*simulate.World
	set       *appsv1beta1.CloneSet
	options   Options
	differs   differs
	family    int
	templates []*corev1.PodTemplateSpec
	revisions []*appsv1.ControllerRevision
	update    *appsv1.ControllerRevision
	created   int
	newest    int64
	// handled says that somebody answers the lifecycle hooks.
	handled bool
	// disrupted holds the version at which we last took a pod's availability away.
	disrupted map[types.UID]string
	// switched says that pods have the shared readiness gate, as the webhook adds it.
	switched bool
	rest     int
	waits    []podset.Wait
}

// templatesOf are the templates that a simulated user switches between. The first four differ in what can be changed
// in place, the last two need recreation. Those of the second family have launch priorities, so that containers
// change in batches, and differ in annotations and resources as well.
func templatesOf(family int) []*corev1.PodTemplateSpec {
	var out []*corev1.PodTemplateSpec
	for i := range 6 {
		t := &corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web", updateHook: "held", deleteHook: "held"}},
			Spec: corev1.PodSpec{Containers: []corev1.Container{
				{Name: "a", Image: fmt.Sprint("a:", i)}, {Name: "b", Image: fmt.Sprint("b:", i/2)},
			}},
		}
		if family == 1 {
			if i > 0 {
				t.Annotations = map[string]string{"note": strconv.Itoa(i / 2)}
			}
			for at := range t.Spec.Containers {
				c := &t.Spec.Containers[at]
				c.Env = []corev1.EnvVar{{Name: "KRUISE_CONTAINER_BARRIER", ValueFrom: &corev1.EnvVarSource{
					ConfigMapKeyRef: &corev1.ConfigMapKeySelector{Key: fmt.Sprint("p_", 10-at)}}}}
				c.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: *resource.NewQuantity(int64(1+i/3), resource.DecimalSI)}
			}
		}
		if i >= 4 {
			t.Spec.Containers[0].Env = append(t.Spec.Containers[0].Env, corev1.EnvVar{Name: "V", Value: strconv.Itoa(i)})
		}
		out = append(out, t)
	}
	return out
}

const families = 2

// payloads are the same for all runs, by family and template.
var payloads = sync.OnceValue(func() [families][][]byte {
	var out [families][][]byte
	for family := range out {
		for _, t := range templatesOf(family) {
			raw, err := revision.Payload(t)
			if err != nil {
				panic(err)
			}
			out[family] = append(out[family], raw)
		}
	}
	return out
})

// sharedDiffers remember over all runs: revisions of one family and index have one uid.
var sharedDiffers = differs{
	plain: &inplace.Differ{Options: inplace.Options{VerticalScaling: true}}, strict: &inplace.Differ{Options: inplace.Options{VerticalScaling: true}},
}

func newSim(seed int64) *sim {
	s := &sim{
		World: simulate.New(seed), family: int(seed+1) % families, differs: sharedDiffers, disrupted: map[types.UID]string{},
		set: &appsv1beta1.CloneSet{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "owner"}},
	}
	s.templates = templatesOf(s.family)
	s.set.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	s.use(0)
	return s
}

// use makes the template the wanted one, as the revision engine would.
func (s *sim) use(template int) {
	name := fmt.Sprint("web-", template)
	s.set.Spec.Template = *s.templates[template]
	s.newest++
	for _, r := range s.revisions {
		if r.Name == name {
			s.update, r.Revision = r, s.newest
			return
		}
	}
	s.update = &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(fmt.Sprint("r", s.family, "-", template)),
			Labels: map[string]string{appsv1beta1.ControllerHashLabel: strconv.Itoa(template)}},
		Data: kruntime.RawExtension{Raw: payloads()[s.family][template]}, Revision: s.newest,
	}
	s.revisions = append(s.revisions, s.update)
}

func (s *sim) current() *appsv1.ControllerRevision {
	return revision.Current(s.revisions, s.set.Status.CurrentRevision, s.update)
}

// pass is one reconcile: it plans on what the cache shows, checks the plan and carries it out.
func (s *sim) pass() error {
	seen, ok := s.View()
	if !ok {
		return nil
	}
	appsv1beta1.DefaultCloneSet(s.set, appsv1beta1.DefaultOptions{})
	rules, err := rulesOf(s.set, situation{sameRevision: s.update == s.current()}, &s.options, s.differs)
	if err != nil {
		return err
	}
	snapshot := &podset.Snapshot{Now: s.Now, Pods: seen, Update: s.update, Current: s.current(), Revisions: s.revisions}
	plan := podset.Make(snapshot, &rules)
	s.rest++
	if *simSeed >= 0 {
		s.Log = append(s.Log, fmt.Sprint("pass at ", s.Now, " seen ", len(seen), " rest ", s.rest, " plan ", describePlan(&plan), fmt.Sprint(plan.Waits)))
	}
	if !plan.Empty() {
		s.rest = 0
	}
	if err := s.check(snapshot, &plan); err != nil {
		return err
	}
	s.waits = plan.Waits
	s.Apply(&plan, s.build)
	s.noteStatus(snapshot, &rules)
	s.trim(seen)
	return nil
}

// trim takes names out of podsToDelete whose pods are gone.
func (s *sim) trim(seen []*corev1.Pod) {
	scale := &s.set.Spec.ScaleStrategy
	scale.PodsToDelete = slices.DeleteFunc(scale.PodsToDelete, func(name string) bool {
		return !slices.ContainsFunc(seen, func(pod *corev1.Pod) bool { return pod.Name == name && pod.DeletionTimestamp == nil })
	})
}

func (s *sim) noteStatus(snapshot *podset.Snapshot, rules *podset.Rules) {
	view, _ := podset.Look(snapshot, rules)
	updated := 0
	for i := range view.Active {
		if view.Active[i].Updated {
			updated++
		}
	}
	if s.set.Status.CurrentRevision == "" {
		s.set.Status.CurrentRevision = s.update.Name
	}
	if updated == len(view.Active) && updated == int(*s.set.Spec.Replicas) {
		s.set.Status.CurrentRevision = s.update.Name
	}
}

func (s *sim) build(c podset.Create) *corev1.Pod {
	s.created++
	b := &instances{
		set: s.set, now: s.Now, taken: map[string]bool{}, templates: map[string]*corev1.PodTemplateSpec{},
		newID: func() string { return fmt.Sprintf("%04d", s.created) },
	}
	for i := range s.templates {
		b.templates[fmt.Sprint("web-", i)] = s.templates[i]
	}
	pod, _, err := b.Build(c)
	if err != nil {
		panic(err)
	}
	if s.switched {
		pod.Spec.ReadinessGates = append(pod.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: appsv1beta1.KruisePodReadyConditionType})
	}
	return pod
}

// answerHooks plays whoever handles the lifecycle hooks.
func (s *sim) answerHooks() {
	if !s.handled {
		return
	}
	for _, pod := range s.Truth() {
		if s.rest <= 4 && s.Rand.Intn(2) == 0 {
			continue
		}
		switch pods.LifecycleState(pod) {
		case appsv1beta1.LifecycleStatePreparingUpdate:
			s.relabel(pod, updateHook, "")
		case appsv1beta1.LifecycleStateUpdated:
			s.relabel(pod, updateHook, "held")
		case appsv1beta1.LifecycleStatePreparingDelete:
			s.relabel(pod, deleteHook, "")
		case appsv1beta1.LifecycleStatePreparingNormal:
			s.relabel(pod, normalHook, "held")
			s.relabel(pod, deleteHook, "held")
		default:
		}
	}
}

func (s *sim) relabel(pod *corev1.Pod, key, value string) {
	if pod.Labels[key] == value {
		return
	}
	s.Edit(pod.Name, func(p *corev1.Pod) {
		if value == "" {
			delete(p.Labels, key)
			return
		}
		p.Labels[key] = value
	})
}

// run simulates one rollout: edits and faults, then calm, in which it must converge.
func (s *sim) run() error {
	s.randomize()
	for range 10 + s.Rand.Intn(30) {
		if s.Rand.Intn(4) == 0 {
			s.meddle()
		}
		if err := s.step(); err != nil {
			return err
		}
	}
	s.calmDown()
	for range calmSteps {
		if s.rest > 4 {
			s.Settle()
		}
		if err := s.step(); err != nil {
			return err
		}
		if s.rest > 8 {
			return s.converged()
		}
	}
	return fmt.Errorf("not at rest after %d calm steps", calmSteps)
}

func (s *sim) step() error {
	s.Now = s.Now.Add(time.Second)
	s.Nodes()
	s.answerHooks()
	s.Deliver()
	return s.pass()
}

// calmDown ends faults and makes what is asked for possible.
func (s *sim) calmDown() {
	s.Calm()
	s.rest = 0
	s.Bad = map[string]bool{}
	s.handled = true
	s.set.Spec.UpdateStrategy.Type = appsv1beta1.CloneSetRollingUpdateStrategyType
	rolling := s.set.Spec.UpdateStrategy.RollingUpdate
	rolling.Paused = false
	zero := func(v *intstr.IntOrString) bool {
		return v != nil && (*v == intstr.FromInt(0) || v.StrVal == "0%")
	}
	if zero(rolling.MaxUnavailable) || rolling.MaxSurge != nil {
		rolling.MaxUnavailable = ptr.To(intstr.FromInt(1))
	}
}

// describe prints what a failed run ended with.
func (s *sim) describe(t *testing.T) {
	spec, err := json.Marshal(s.set.Spec)
	t.Logf("spec %s (%v), options %+v, current %s, update %s", spec, err, s.options, s.current().Name, s.update.Name)
	for _, pod := range s.Truth() {
		t.Logf("%s %s deleted=%v images=%s,%s %v %v ready=%v", pod.Name, pod.Status.Phase, pod.DeletionTimestamp != nil,
			pod.Spec.Containers[0].Image, pod.Spec.Containers[1].Image, pod.Labels, pod.Annotations, pods.IsReady(pod))
	}
}

func runs() int {
	if *simRuns > 0 {
		return *simRuns
	}
	if n, err := strconv.Atoi(os.Getenv("FLOTILLA_SIM_RUNS")); err == nil {
		return n
	}
	if testing.Short() {
		return 1000
	}
	return defaultRuns
}

// TestSimulation runs random rollouts with faults. The invariants of check hold at every step, and
// every rollout comes to rest as it was asked to.
func TestSimulation(t *testing.T) {
	if *simSeed >= 0 {
		s := newSim(*simSeed)
		err := s.run()
		for _, line := range s.Log {
			t.Log(line)
		}
		s.describe(t)
		if err != nil {
			t.Fatalf("seed %d: %v", *simSeed, err)
		}
		return
	}
	start := time.Now()
	var next, moves atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for seed := next.Add(1); seed <= int64(runs()) && !t.Failed(); seed = next.Add(1) {
				s := newSim(seed)
				if err := s.run(); err != nil {
					t.Errorf("seed %d: %v (go test -run TestSimulation -sim.seed %d -v)", seed, err, seed)
				}
				moves.Add(int64(len(s.Log)))
			}
		})
	}
	wg.Wait()
	t.Logf("%d rollouts, %d moves in %s", runs(), moves.Load(), time.Since(start).Round(time.Millisecond))
}
