// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/events"
	"github.com/flotilla-sh/flotilla/nodeagent/cri"
	"github.com/flotilla-sh/flotilla/nodeagent/stop"
)

var runs = flag.Int("restart.runs", 60, "how many requests are simulated")

var errCrash = errors.New("the agent is killed here")

// world is a pod on a node, with its kubelet, its runtime, the spoke, and an agent that is killed now and then.
type world struct {
	t    *testing.T
	rnd  *rand.Rand
	now  time.Time
	live client.Client
	// versions are what the agent's cache may hold.
	versions [][]Request
	list     []*cri.Container
	// stops counts the instances of each container that were stopped, times those of one instance.
	stops map[string][]string
	times map[string]int
	// crashed are containers of which an instance ended by itself.
	crashed map[string]bool
	away    bool
	calm    bool
	// slow makes each stop take long.
	slow bool
	// running is nil while the agent is killed. With long, a stop of it waits for release, or for the agent to be killed;
	// begun counts them.
	running *Reconciler
	kill    context.CancelFunc
	long    bool
	begun   int
	blocked chan struct{}
	release chan struct{}
	over    chan struct{}
}

func newWorld(t *testing.T, seed int64, requests ...*Request) *world {
	w := &world{t: t, rnd: rand.New(rand.NewSource(seed)), now: t0, stops: map[string][]string{}, times: map[string]int{}, crashed: map[string]bool{}, blocked: make(chan struct{}), release: make(chan struct{}), over: make(chan struct{}, 1)}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, v1beta1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "pod-uid"}, Spec: corev1.PodSpec{NodeName: "node"}}
	builder := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&Request{})
	for _, name := range []string{"a", "b", "c"} {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: name})
		w.start(name, 0)
	}
	builder = builder.WithObjects(pod)
	for _, r := range requests {
		builder = builder.WithObjects(r)
	}
	w.live = builder.Build()
	return w
}

func (w *world) start(name string, attempt uint32) {
	w.list = append(w.list, &cri.Container{
		ID: fmt.Sprintf("%s%d", name, attempt+1), Name: name, Pod: cri.PodRef{Namespace: "ns", Name: "p", UID: "pod-uid"},
		State: cri.ContainerRunning, Attempt: attempt, CreatedAt: w.now, StartedAt: w.now,
	})
}

func (w *world) chance(n int) bool { return !w.calm && w.rnd.Intn(n) == 0 }

// Runtime.

func (w *world) Container(_ context.Context, id string) (cri.Container, error) {
	if w.away {
		return cri.Container{}, cri.ErrUnavailable
	}
	for _, c := range w.list {
		if c.ID == id {
			return *c, nil
		}
	}
	return cri.Container{}, cri.ErrNotFound
}

func (w *world) ContainersOfPod(context.Context, string) ([]cri.Container, error) {
	if w.away {
		return nil, cri.ErrUnavailable
	}
	var out []cri.Container
	for _, c := range slices.Backward(w.list) {
		out = append(out, *c)
	}
	return out, nil
}

func (w *world) ExecSync(context.Context, string, []string, time.Duration) (cri.Exec, error) {
	return cri.Exec{}, nil
}

func (w *world) StopContainer(ctx context.Context, id string, _ time.Duration) error {
	if w.away || w.chance(8) {
		return cri.ErrUnavailable
	}
	if w.long {
		w.t.Errorf("%s is to be stopped while a stop is under way", id)
	}
	if w.slow || w.chance(2) {
		w.blocked <- struct{}{}
		select {
		case <-w.release:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	w.end(id)
	return nil
}

// end ends an instance that was told to end.
func (w *world) end(id string) {
	for _, c := range w.list {
		if c.ID == id && c.State == cri.ContainerRunning {
			c.State = cri.ContainerExited
			w.stops[c.Name] = append(w.stops[c.Name], id)
			w.times[id]++
		}
	}
}

// cached is the agent's client: its reads may be old, its writes may not get through because the agent is killed.
type cached struct {
	client.Client
	w *world
}

func (c cached) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	w := c.w
	at := len(w.versions) - 1
	if !w.calm {
		at -= w.rnd.Intn(min(3, len(w.versions)))
	}
	list.(*v1beta1.ContainerRecreateRequestList).Items = nil
	for i := range w.versions[at] {
		if w.versions[at][i].Status.Phase != completed {
			list.(*v1beta1.ContainerRecreateRequestList).Items = append(list.(*v1beta1.ContainerRecreateRequestList).Items, *w.versions[at][i].DeepCopy())
		}
	}
	return nil
}

func (c cached) Status() client.SubResourceWriter { return crashing{c.Client.Status(), c.w} }

type crashing struct {
	client.SubResourceWriter
	w *world
}

func (c crashing) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	if c.w.chance(6) {
		return errCrash
	}
	err := c.SubResourceWriter.Patch(ctx, obj, patch, opts...)
	if err == nil && c.w.chance(6) {
		return errCrash // written, but the agent does not get to know
	}
	return err
}

// agent makes one pass, and goes on until it waits for a container to end, if it does.
func (w *world) agent() {
	w.versions = append(w.versions, w.requests())
	if w.running == nil {
		w.begin()
	}
	pod := types.NamespacedName{Namespace: "ns", Name: "p"}
	begun := w.begun
	_, err := w.running.Reconcile(w.t.Context(), reconcile.Request{NamespacedName: pod})
	if w.begun > begun {
		select {
		case <-w.blocked:
			w.long = true
		case <-w.over:
		}
	}
	switch {
	case errors.Is(err, errCrash):
		w.crash()
	case err != nil:
		w.t.Fatal(err)
	}
}

func (w *world) begin() {
	w.running = &Reconciler{
		Client: cached{w.live, w}, Live: w.live, Node: "node", Now: func() time.Time { return w.now },
		Runtime: func() (Runtime, string, error) {
			if w.away {
				return nil, "", cri.ErrUnavailable
			}
			return w, "containerd", nil
		},
		Stopper: &stop.Stopper{Events: silent{}, Now: func() time.Time { return w.now }},
	}
	ctx, kill := context.WithCancel(w.t.Context())
	w.kill = kill
	w.running.background.Start = func(run func(context.Context)) {
		w.begun++
		go run(ctx)
	}
	w.running.background.Ended = func(types.NamespacedName) { w.over <- struct{}{} }
}

// endOfStop lets a stop that takes long come to its end.
func (w *world) endOfStop() {
	if w.long {
		w.release <- struct{}{}
		<-w.over
		w.long = false
	}
}

// crash kills the agent, and so gives up what it was stopping.
func (w *world) crash() {
	w.kill()
	if w.long {
		<-w.over
		w.long = false
	}
	w.running = nil
}

type silent struct{}

func (silent) Publish(...events.Event) {}

func (w *world) requests() []Request {
	var list v1beta1.ContainerRecreateRequestList
	if err := w.live.List(w.t.Context(), &list); err != nil {
		w.t.Fatal(err)
	}
	return list.Items
}

// kubelet starts what does not run anew, now and then in two steps.
func (w *world) kubelet() {
	for name, c := range w.newest() {
		switch {
		case !w.calm && w.rnd.Intn(2) == 0:
		case c.State == cri.ContainerExited:
			w.start(name, c.Attempt+1)
			if next := w.newest()[name]; w.chance(3) {
				next.State, next.StartedAt = cri.ContainerCreated, time.Time{}
			}
		case c.State == cri.ContainerCreated && !w.calm && w.rnd.Intn(4) > 0:
		case c.State == cri.ContainerCreated:
			c.State, c.StartedAt = cri.ContainerRunning, w.now
		}
	}
}

func (w *world) newest() map[string]*cri.Container {
	out := map[string]*cri.Container{}
	for _, c := range w.list {
		out[c.Name] = c
	}
	return out
}

// spoke writes what runs into the requests that are under way.
func (w *world) spoke() {
	for _, r := range w.requests() {
		if r.Status.Phase != recreating {
			continue
		}
		var snapshot []v1beta1.ContainerRecreateRequestContainerStatus
		for i := range r.Spec.Containers {
			c := w.newest()[r.Spec.Containers[i].Name]
			if id := "containerd://" + c.ID; c.State == cri.ContainerRunning && id != r.Spec.Containers[i].StatusContext.ContainerID {
				snapshot = append(snapshot, v1beta1.ContainerRecreateRequestContainerStatus{Name: c.Name, ContainerID: id, Ready: w.calm || w.rnd.Intn(2) == 0})
			}
		}
		r.Status.ContainerStatusSnapshot = snapshot
		if err := w.live.Status().Update(w.t.Context(), &r); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *world) step() {
	if w.chance(20) && w.running != nil {
		w.crash()
	}
	switch w.rnd.Intn(11) {
	case 0, 1:
		w.kubelet()
	case 2, 3:
		w.spoke()
	case 4:
		w.now = w.now.Add(time.Duration(w.rnd.Intn(3000)) * time.Millisecond)
	case 5:
		w.away = w.chance(2)
	case 6:
		if c := w.newest()[string(rune('a'+w.rnd.Intn(3)))]; w.chance(4) {
			c.State = cri.ContainerExited // by itself, or because an agent that was killed had told it to
			w.crashed[c.Name] = true
		}
	case 7:
		w.endOfStop()
	default:
		w.agent()
	}
	for id, n := range w.times {
		if n > 1 {
			w.t.Fatalf("instance %s is stopped %d times", id, n)
		}
	}
}

// Whatever happens, no container is stopped twice for one request, and every request comes to its end.
func TestSimulation(t *testing.T) {
	for seed := range int64(*runs) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rnd := rand.New(rand.NewSource(seed))
			strategy := v1beta1.ContainerRecreateRequestStrategy{
				OrderedRecreate: rnd.Intn(2) == 0, ForceRecreate: rnd.Intn(2) == 0, MinStartedSeconds: int32(rnd.Intn(3)),
			}
			names := []string{"a", "b", "c"}
			rnd.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
			cut := 1 + rnd.Intn(2) // two requests in a row, for different containers
			first, second := requestOf(strategy, names[:cut]...), requestOf(strategy, names[cut:]...)
			second.Name, second.UID = "s", "s-uid"
			first.Status.Phase, second.Status.Phase = "", ""
			second.CreationTimestamp = metav1.NewTime(t0.Add(time.Second))
			early := names[rnd.Intn(len(names))] // has crashed when it was asked for, and its next instance does not run yet
			for _, r := range []*Request{first, second} {
				for i := range r.Spec.Containers {
					if c := &r.Spec.Containers[i]; c.Name == early {
						c.StatusContext.ContainerID = "containerd://before"
					}
				}
			}
			w := newWorld(t, seed, first, second)
			w.newest()[early].State, w.newest()[early].StartedAt = cri.ContainerCreated, time.Time{}
			for range 60 {
				w.step()
			}
			w.calm, w.away = true, false
			w.endOfStop()
			for range 200 {
				w.step()
			}
			for _, r := range w.requests() {
				if r.Status.Phase != completed {
					t.Errorf("%s is %s: %+v", r.Name, cmp.Or(r.Status.Phase, "not begun"), r.Status)
				}
				for _, s := range r.Status.ContainerRecreateStates {
					if s.Phase != succeeded || !s.IsKilled && strategy.ForceRecreate {
						t.Errorf("%s: %+v", r.Name, s)
					}
					if strategy.ForceRecreate && len(w.stops[s.Name]) == 0 && !w.crashed[s.Name] {
						t.Errorf("%s: %+v, and nothing was stopped", r.Name, s)
					}
				}
			}
			for name, ids := range w.stops {
				if len(ids) > 1 {
					t.Errorf("of %s there are stopped %v", name, ids)
				}
			}
		})
	}
}

// With forceRecreate an instance that is made and does not run yet is waited for, and then stopped.
func TestForcedOnceItRuns(t *testing.T) {
	r := requestOf(v1beta1.ContainerRecreateRequestStrategy{ForceRecreate: true}, "a")
	r.Spec.Containers[0].StatusContext.ContainerID = "containerd://before"
	w := newWorld(t, 1, r)
	w.calm = true
	c := w.newest()["a"]
	c.State, c.StartedAt = cri.ContainerCreated, time.Time{}
	for range 4 {
		w.spoke()
		w.agent()
	}
	want := []State{{Name: "a", Phase: pending, Message: notStarted}}
	if got := w.requests()[0].Status.ContainerRecreateStates; !slices.Equal(got, want) {
		t.Errorf("before it runs: %+v, want %+v", got, want)
	}
	c.State, c.StartedAt = cri.ContainerRunning, t0
	for range 8 {
		w.spoke()
		w.agent()
		w.endOfStop()
		w.kubelet()
	}
	s := w.requests()[0].Status
	if len(w.stops["a"]) != 1 || s.Phase != completed || !s.ContainerRecreateStates[0].IsKilled {
		t.Errorf("stopped %v, %s %+v", w.stops, s.Phase, s.ContainerRecreateStates)
	}
}

// A request that somebody made up, past admission, reaches no other pod.
func TestForgedRequests(t *testing.T) {
	for name, forge := range map[string]func(*Request){
		"the UID of another pod":     func(r *Request) { r.Labels[v1beta1.ContainerRecreateRequestPodUIDKey] = "other" },
		"no UID":                     func(r *Request) { r.Labels = nil },
		"a pod of another node":      func(r *Request) { r.Spec.PodName = "elsewhere" },
		"another namespace":          func(r *Request) { r.Namespace = "other" },
		"a container of another pod": func(r *Request) { r.Spec.Containers[0].Name = "foreign" },
		"an instance of another pod": func(r *Request) { r.Spec.Containers[0].StatusContext.ContainerID = "containerd://foreign1" },
		"a hook that was never a pod's": func(r *Request) {
			r.Spec.Containers[0].PreStop = &v1beta1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"evil"}}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := requestOf(v1beta1.ContainerRecreateRequestStrategy{TerminationGracePeriodSeconds: ptr.To(int64(5))}, "a")
			forge(r)
			w := newWorld(t, 1, r)
			w.calm = true
			w.list = append(w.list, &cri.Container{ID: "foreign1", Name: "foreign", Pod: cri.PodRef{Namespace: "ns", Name: "q", UID: "q-uid"}, State: cri.ContainerRunning})
			for range 6 {
				w.agent()
				w.spoke()
			}
			if n := w.times["foreign1"]; n != 0 {
				t.Error("a foreign instance is stopped")
			}
			own := name == "a hook that was never a pod's" // is stopped by the pod's own rules
			if got := len(w.stops) > 0; got != own {
				t.Errorf("stopped: %v", w.stops)
			}
		})
	}
}
