// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package stop

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/flotilla-sh/flotilla/internal/events"
	"github.com/flotilla-sh/flotilla/internal/seconds"
	"github.com/flotilla-sh/flotilla/nodeagent/cri"
	"github.com/flotilla-sh/flotilla/nodeagent/cri/crifake"
)

func dialFake(t *testing.T) (*cri.Client, *crifake.Runtime) {
	t.Helper()
	dir, err := os.MkdirTemp("", "cri")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	runtime := crifake.New("containerd")
	if err := runtime.Serve(filepath.Join(dir, "c.sock")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(runtime.Stop)
	client, err := cri.Dial(t.Context(), "unix://"+filepath.Join(dir, "c.sock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client, runtime
}

// told keeps events as text.
type told struct {
	mu   sync.Mutex
	list []string
}

func (e *told) Publish(list ...events.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, one := range list {
		e.list = append(e.list, one.Type+" "+one.Reason+" "+one.Note)
	}
}

// clock goes on by what hooks are said to take.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) goOn(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(by)
}

func podWith(hook *corev1.LifecycleHandler) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "u"}}
	pod.Spec.Containers = []corev1.Container{{
		Name: "main", Ports: []corev1.ContainerPort{{Name: "web", ContainerPort: 1}}, Lifecycle: &corev1.Lifecycle{PreStop: hook},
	}}
	pod.Status.PodIP = "127.0.0.1"
	return pod
}

func command(cmd ...string) *corev1.LifecycleHandler {
	return &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: cmd}}
}

func TestStop(t *testing.T) {
	tests := map[string]struct {
		hook  *corev1.LifecycleHandler
		grace time.Duration
		took  time.Duration // how long the command took
		code  int32
		want  time.Duration // the grace that the runtime is told
		ran   bool
		event string
	}{
		"no hook":                        {grace: 30 * time.Second, want: 30 * time.Second},
		"a hook takes from the grace":    {hook: command("bye"), grace: 30 * time.Second, took: 8 * time.Second, want: 22 * time.Second, ran: true},
		"2 seconds are left at least":    {hook: command("bye"), grace: 30 * time.Second, took: 29 * time.Second, want: 2 * time.Second, ran: true},
		"no grace, no hook":              {hook: command("bye"), want: 2 * time.Second},
		"a hook that fails is told":      {hook: command("bye"), grace: 5 * time.Second, code: 3, want: 5 * time.Second, ran: true, event: "FailedPreStopHook"},
		"a hook of no known kind":        {hook: &corev1.LifecycleHandler{}, grace: 5 * time.Second, want: 5 * time.Second, event: "FailedPreStopHook"},
		"a port that is not there":       {hook: &corev1.LifecycleHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromString("x")}}, grace: 5 * time.Second, want: 5 * time.Second, event: `no port named "x"`},
		"nobody listens at the port":     {hook: &corev1.LifecycleHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromString("web")}}, grace: 5 * time.Second, want: 5 * time.Second, event: "127.0.0.1:1"},
		"a sleep without end is cut":     {hook: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: math.MaxInt64}}, grace: 50 * time.Millisecond, want: 2 * time.Second},
		"sleep is cut by the grace":      {hook: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 3600}}, grace: 50 * time.Millisecond, want: 2 * time.Second},
		"a command is cut by the grace":  {hook: command("for ever"), grace: 50 * time.Millisecond, want: 2 * time.Second, ran: true},
		"all the time there is":          {hook: command("bye"), grace: seconds.Most, took: 8 * time.Second, want: seconds.Most - 8*time.Second, ran: true},
		"a hook that writes too much":    {hook: command("talk"), grace: 5 * time.Second, want: 5 * time.Second, ran: true, event: "output too large: more than 65536 bytes"},
		"an HTTP answer is awaited once": {hook: &corev1.LifecycleHandler{HTTPGet: &corev1.HTTPGetAction{Port: intstr.FromInt32(1)}}, grace: 5 * time.Second, want: 5 * time.Second, event: "FailedPreStopHook"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			client, runtime := dialFake(t)
			at, ran, log := &clock{}, false, &told{}
			id := runtime.Run(crifake.Container{PodNamespace: "ns", PodName: "p", PodUID: "u", Name: "main", Exec: func(ctx context.Context, cmd []string) (crifake.Answer, error) {
				ran = true
				at.goOn(tc.took)
				if cmd[0] == "for ever" {
					<-ctx.Done()
				}
				if cmd[0] == "talk" {
					return crifake.Answer{Stdout: strings.Repeat("x", maxAnswer)}, nil
				}
				return crifake.Answer{ExitCode: tc.code}, ctx.Err()
			}})
			s := &Stopper{Events: log, Now: at.Now}
			order := Order{Pod: podWith(tc.hook), Container: "main", ID: id, Grace: tc.grace, Note: "Stopping it"}
			if got, err := s.Stop(t.Context(), client, order); got != Stopped || err != nil {
				t.Fatalf("%s, %v", got, err)
			}
			if diff := cmp.Diff([]crifake.Stop{{ID: id, Grace: tc.want}}, runtime.Stops()); diff != "" {
				t.Errorf("stops (-want +got):\n%s", diff)
			}
			if ran != tc.ran {
				t.Errorf("the hook ran: %v", ran)
			}
			all := strings.Join(log.list, "\n")
			if !strings.HasPrefix(all, "Normal Killing Stopping it") || !strings.Contains(all, tc.event) || (tc.event == "") != (len(log.list) == 1) {
				t.Errorf("events:\n%s", all)
			}
			if got, err := s.Stop(t.Context(), client, order); got != NotRunning || err != nil || len(runtime.Stops()) != 1 {
				t.Errorf("a second time: %s, %v", got, err)
			}
		})
	}
}

// A grace period that is too long to count is a very long one, not none.
func TestGraceOf(t *testing.T) {
	for name, tc := range map[string]struct {
		seconds *int64
		want    time.Duration
	}{
		"none is named":          {nil, 30 * time.Second},
		"none at all":            {ptr.To[int64](0), 0},
		"a minute":               {ptr.To[int64](60), time.Minute},
		"next to an overflow":    {ptr.To[int64](9_223_372_036), seconds.Most},
		"more than is counted":   {ptr.To[int64](10_000_000_000), seconds.Most},
		"as much as the API has": {ptr.To[int64](math.MaxInt64), seconds.Most},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{Spec: corev1.PodSpec{TerminationGracePeriodSeconds: tc.seconds}}
			if got := GraceOf(pod); got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}

func TestHTTPHook(t *testing.T) {
	asked := make(chan *http.Request, 2)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r
		http.Redirect(w, r, "/elsewhere", http.StatusFound)
	}))
	defer server.Close()
	host, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	client, runtime := dialFake(t)
	pod := podWith(&corev1.LifecycleHandler{HTTPGet: &corev1.HTTPGetAction{
		Path: "/bye?now=1", Port: intstr.FromString("web"), HTTPHeaders: []corev1.HTTPHeader{{Name: "X", Value: "y"}, {Name: "host", Value: "example.com"}},
	}})
	pod.Status.PodIP = host
	if _, err := fmt.Sscan(port, &pod.Spec.Containers[0].Ports[0].ContainerPort); err != nil {
		t.Fatal(err)
	}
	log := &told{}
	id := runtime.Run(crifake.Container{PodNamespace: "ns", PodName: "p", PodUID: "u", Name: "main"})
	s := &Stopper{Events: log, Now: time.Now}
	if got, err := s.Stop(t.Context(), client, Order{Pod: pod, Container: "main", ID: id, Grace: 9 * time.Second}); got != Stopped || err != nil {
		t.Fatalf("%s, %v", got, err)
	}
	got := <-asked
	if got.URL.String() != "/bye?now=1" || got.Header.Get("X") != "y" || got.Host != "example.com" || len(asked) != 0 || len(log.list) != 1 {
		t.Errorf("asked for %s of %s, headers %v, %d more; events %v", got.URL, got.Host, got.Header, len(asked), log.list)
	}
}

// An answer whose header has no end is not read to it.
func TestHTTPHookOfManyWords(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X", strings.Repeat("x", maxAnswer)) }))
	defer server.Close()
	host, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	pod := podWith(&corev1.LifecycleHandler{HTTPGet: &corev1.HTTPGetAction{Port: intstr.Parse(port)}})
	pod.Status.PodIP = host
	client, runtime := dialFake(t)
	id := runtime.Run(crifake.Container{PodNamespace: "ns", PodName: "p", PodUID: "u", Name: "main"})
	log := &told{}
	s := &Stopper{Events: log, Now: time.Now}
	if got, err := s.Stop(t.Context(), client, Order{Pod: pod, Container: "main", ID: id, Grace: 9 * time.Second}); got != Stopped || err != nil {
		t.Fatalf("%s, %v", got, err)
	}
	if all := strings.Join(log.list, "\n"); !strings.Contains(all, "headers exceeded 65536 bytes") {
		t.Errorf("events:\n%s", all)
	}
}

func TestWhatIsNotStopped(t *testing.T) {
	client, runtime := dialFake(t)
	log := &told{}
	s := &Stopper{Events: log, Now: time.Now}
	try := func(pod *corev1.Pod, id string) (Outcome, error) {
		return s.Stop(t.Context(), client, Order{Pod: pod, Container: "main", ID: id, Grace: time.Second})
	}
	for name, c := range map[string]crifake.Container{
		"of another namespace": {PodNamespace: "other", PodName: "p", PodUID: "u", Name: "main"},
		"of another pod":       {PodNamespace: "ns", PodName: "q", PodUID: "u", Name: "main"},
		"of a pod before it":   {PodNamespace: "ns", PodName: "p", PodUID: "old", Name: "main"},
		"another container":    {PodNamespace: "ns", PodName: "p", PodUID: "u", Name: "side"},
		"not the kubelet's":    {Name: "main"},
	} {
		if got, err := try(podWith(nil), runtime.Run(c)); got != Undone || !errors.Is(err, ErrForeign) {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	ended := runtime.Run(crifake.Container{PodNamespace: "ns", PodName: "p", PodUID: "u", Name: "main"})
	runtime.End(ended)
	for _, id := range []string{ended, "unknown"} {
		if got, err := try(podWith(nil), id); got != NotRunning || err != nil {
			t.Errorf("%s: %s, %v", id, got, err)
		}
	}
	if len(runtime.Stops())+len(log.list) != 0 {
		t.Errorf("stops %v, events %v", runtime.Stops(), log.list)
	}
}

func TestWithoutRuntimeNothingIsDone(t *testing.T) {
	client, runtime := dialFake(t)
	log := &told{}
	s := &Stopper{Events: log, Now: time.Now}
	id := runtime.Run(crifake.Container{PodNamespace: "ns", PodName: "p", PodUID: "u", Name: "main", Exec: func(context.Context, []string) (crifake.Answer, error) {
		go runtime.Stop()
		time.Sleep(50 * time.Millisecond)
		return crifake.Answer{}, nil
	}})
	got, err := s.Stop(t.Context(), client, Order{Pod: podWith(command("bye")), Container: "main", ID: id, Grace: time.Minute})
	if got != Undone || !errors.Is(err, cri.ErrUnavailable) || len(runtime.Stops()) != 0 {
		t.Errorf("lost in the hook: %s, %v, stops %v", got, err, runtime.Stops())
	}
	if got, err := s.Stop(t.Context(), client, Order{Pod: podWith(nil), Container: "main", ID: id}); got != Undone || !errors.Is(err, cri.ErrUnavailable) {
		t.Errorf("lost before: %s, %v", got, err)
	}
}
