// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package ephemeraljob

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	"github.com/flotilla-sh/flotilla/internal/events"
)

// told keeps events as text.
type told []string

func (e *told) Publish(list ...events.Event) {
	for _, one := range list {
		*e = append(*e, one.Type+" "+one.Reason+": "+one.Note)
	}
}

var invalid error = apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Pod").GroupKind(), "p", nil)

// refusing plays a job in pods of which some refuse, until nothing is put in any more or n passes are over. It returns
// the pods that were asked, in order, and the status.
func refusing(t *testing.T, job *v1alpha1.EphemeralJob, errs map[string]error, passes int) (asked []string, s v1alpha1.EphemeralJobStatus, said told) {
	t.Helper()
	list := podsIn(absent, absent, absent)
	byName := map[string]*corev1.Pod{}
	for _, pod := range list {
		pod.UID, byName[pod.Name] = types.UID(pod.Name), pod
	}
	c := interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
		SubResourcePatch: func(_ context.Context, _ client.Client, _ string, obj client.Object, _ client.Patch, _ ...client.SubResourcePatchOption) error {
			asked = append(asked, obj.GetName())
			if errs[obj.GetName()] == nil {
				put(byName[obj.GetName()], succeeded)
			}
			return errs[obj.GetName()]
		},
	})
	clock := clocktesting.NewFakeClock(start)
	r := &Reconciler{client: c, events: &said, clock: clock, refused: lru.New(remembered)}
	for range passes {
		refused := r.refusals(job)
		plan := MakePlan(job, list, refused, clock.Now())
		s = plan.Status
		if _, err := r.put(t.Context(), job, plan.Fill, refused); err == nil && len(plan.Fill) == 0 && plan.Again > 0 && s.CompletionTime == nil {
			clock.Step(plan.Again)
		}
	}
	return asked, s, said
}

// A pod that cannot have the containers is asked once and counts as failed; one that cannot have them now is asked again
// a minute later. Neither holds up the others.
func TestPodsThatRefuse(t *testing.T) {
	for name, tc := range map[string]struct {
		job    *v1alpha1.EphemeralJob
		errs   map[string]error
		passes int
		asked  []string
		phase  v1alpha1.EphemeralJobPhase
	}{
		"for good":               {jobOf(), map[string]error{"p0": invalid}, 9, []string{"p0", "p1", "p2"}, v1alpha1.EphemeralJobFailed},
		"all for good":           {jobOf(parallelism(3)), map[string]error{"p0": invalid, "p1": invalid, "p2": invalid}, 9, []string{"p0", "p1", "p2"}, v1alpha1.EphemeralJobFailed},
		"for now":                {jobOf(), map[string]error{"p0": errors.New("no answer")}, 6, []string{"p0", "p1", "p2", "p0"}, v1alpha1.EphemeralJobUnknown},
		"for now, many at once":  {jobOf(parallelism(3)), map[string]error{"p0": errors.New("no answer")}, 1, []string{"p0", "p1", "p2"}, v1alpha1.EphemeralJobUnknown},
		"beyond replicas is not": {jobOf(replicas(1)), map[string]error{"p0": invalid}, 9, []string{"p0"}, v1alpha1.EphemeralJobFailed},
	} {
		t.Run(name, func(t *testing.T) {
			asked, s, said := refusing(t, tc.job, tc.errs, tc.passes)
			if diff := cmp.Diff(tc.asked, asked); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
			if s.Phase != tc.phase || int(s.Matches) != min(3, len(asked)) {
				t.Errorf("status %+v", s)
			}
			if want := fmt.Sprintf("Warning CreateFailed: pod p0: %v", tc.errs["p0"]); len(said) == 0 || said[0] != want {
				t.Errorf("told %q", said)
			}
		})
	}
}

// Where everything fails it is not the pods: not all of thousands are tried at once.
func TestManyFailuresEndThePass(t *testing.T) {
	asked := 0
	c := interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
		SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
			asked++
			return errors.New("no answer")
		},
	})
	r := &Reconciler{client: c, events: &told{}, clock: clocktesting.NewFakeClock(start), refused: lru.New(remembered)}
	if _, err := r.put(t.Context(), jobOf(), podsIn(make([]state, 100)...), Refusals{}); err == nil || asked != mostErrors {
		t.Errorf("%d asked, %v", asked, err)
	}
}

// What was refused may be good after a change of the job.
func TestRefusalsOfAJob(t *testing.T) {
	r := &Reconciler{refused: lru.New(remembered)}
	job := jobOf()
	r.refusals(job)["p0"] = refusal{final: true}
	if in, _ := r.refusals(job)["p0"].at(start); in != failed {
		t.Errorf("state %d", in)
	}
	job.Generation++
	if got := r.refusals(job); len(got) > 0 {
		t.Errorf("after a change: %v", got)
	}
	if in, left := (refusal{until: start.Add(time.Minute)}).at(start); in != later || left != time.Minute {
		t.Errorf("state %d for %v", in, left)
	}
}
