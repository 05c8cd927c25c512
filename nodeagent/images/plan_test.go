// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

var noon = metav1.NewTime(time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC))

func ordered(image, tag string, version int64) *v1beta1.NodeImage {
	out := &v1beta1.NodeImage{}
	out.Spec.Images = map[string]v1beta1.ImageSpec{image: {Tags: []v1beta1.ImageTagSpec{{Tag: tag, Version: version}}}}
	return out
}

func with(obj *v1beta1.NodeImage, image string, s v1beta1.ImageTagStatus) *v1beta1.NodeImage {
	obj.Status.ImageStatuses = map[string]v1beta1.ImageStatus{image: {Tags: []v1beta1.ImageTagStatus{s}}}
	return obj
}

func at(tag string, phase v1beta1.ImagePullPhase, version int64) v1beta1.ImageTagStatus {
	out := v1beta1.ImageTagStatus{Tag: tag, Phase: phase, Version: version}
	if phase == v1beta1.ImagePhaseSucceeded || phase == v1beta1.ImagePhaseFailed {
		out.CompletionTime = &noon
	}
	return out
}

func TestMakePlan(t *testing.T) {
	k := Key{"a", "1"}
	running := func(version int64) map[Key]Work {
		return map[Key]Work{k: {at("1", v1beta1.ImagePhasePulling, version)}}
	}
	began := at("1", v1beta1.ImagePhasePulling, 0)
	began.StartTime = &noon
	for name, tc := range map[string]struct {
		obj                 *v1beta1.NodeImage
		work                map[Key]Work
		start, update, stop int
	}{
		"nothing":                               {obj: &v1beta1.NodeImage{}},
		"new":                                   {obj: ordered("a", "1", 0), start: 1},
		"goes on":                               {obj: ordered("a", "1", 0), work: running(0), update: 1},
		"new version":                           {obj: ordered("a", "1", 1), work: running(0), start: 1, stop: 1},
		"finished at this version":              {obj: with(ordered("a", "1", 0), "a", at("1", v1beta1.ImagePhaseSucceeded, 0))},
		"failed is finished":                    {obj: with(ordered("a", "1", 0), "a", at("1", v1beta1.ImagePhaseFailed, 0))},
		"finished at another version":           {obj: with(ordered("a", "1", 1), "a", at("1", v1beta1.ImagePhaseSucceeded, 0)), start: 1},
		"finished, its puller goes":             {obj: with(ordered("a", "1", 0), "a", at("1", v1beta1.ImagePhaseSucceeded, 0)), work: running(0), stop: 1},
		"given up by the spoke":                 {obj: with(ordered("a", "1", 0), "a", at("1", v1beta1.ImagePhaseFailed, 0)), work: running(0), stop: 1},
		"an agent before us did not finish":     {obj: with(ordered("a", "1", 0), "a", began), start: 1},
		"nobody asks any more":                  {obj: &v1beta1.NodeImage{}, work: running(0), stop: 1},
		"another tag of the image":              {obj: ordered("a", "2", 0), work: running(0), start: 1, stop: 1},
		"the puller's end is not yet in status": {obj: ordered("a", "1", 0), work: map[Key]Work{k: {at("1", v1beta1.ImagePhaseSucceeded, 0)}}, update: 1},
	} {
		t.Run(name, func(t *testing.T) {
			p := MakePlan(tc.obj, tc.work)
			if len(p.Start) != tc.start || len(p.Update) != tc.update || len(p.Stop) != tc.stop {
				t.Errorf("plan %+v", p)
			}
		})
	}
	if p := MakePlan(with(ordered("a", "1", 0), "a", began), nil); !p.Start[0].Began.Equal(noon.Time) {
		t.Errorf("began %v, the deadline would start anew", p.Start[0].Began)
	}
}

func TestOrder(t *testing.T) {
	obj := ordered("a", "1", 0)
	spec := obj.Spec.Images["a"]
	spec.SandboxConfig = &v1beta1.SandboxConfig{Labels: map[string]string{"l": "1"}}
	spec.PullSecrets = []v1beta1.ReferenceObject{{Namespace: "ns", Name: "s"}}
	spec.Tags[0].ImagePullPolicy = v1beta1.PullAlways
	spec.Tags[0].PullPolicy = &v1beta1.ImageTagPullPolicy{TimeoutSeconds: ptr.To[int32](5), BackoffLimit: ptr.To[int32](0), ActiveDeadlineSeconds: ptr.To[int64](9)}
	obj.Spec.Images["a"] = spec
	got := MakePlan(obj, nil).Start[0]
	want := Order{
		Key: Key{"a", "1"}, Secrets: spec.PullSecrets, Sandbox: *spec.SandboxConfig, Always: true,
		Timeout: 5 * time.Second, Deadline: 9 * time.Second,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	spec.Tags[0].PullPolicy = &v1beta1.ImageTagPullPolicy{BackoffLimit: ptr.To[int32](-1)}
	obj.Spec.Images["a"] = spec
	if got := MakePlan(obj, nil).Start[0]; got.Retries != 3 || got.Timeout != 10*time.Minute || got.Deadline != 0 {
		t.Errorf("without bounds: %+v", got)
	}
}

// A number of seconds that no duration can hold is a long time.
func TestOrderOfLongTimes(t *testing.T) {
	obj := ordered("a", "1", 0)
	obj.Spec.Images["a"].Tags[0].PullPolicy = &v1beta1.ImageTagPullPolicy{ActiveDeadlineSeconds: ptr.To[int64](math.MaxInt64)}
	if got := MakePlan(obj, nil).Start[0]; !noon.Add(got.Deadline).After(noon.AddDate(1, 0, 0)) {
		t.Errorf("the deadline comes after %s", got.Deadline)
	}
}

// Without admission a tag may be there twice. It has one puller, and each version its turn.
func TestTagTwice(t *testing.T) {
	obj := ordered("a", "1", 1)
	obj.Spec.Images["a"] = v1beta1.ImageSpec{Tags: []v1beta1.ImageTagSpec{{Tag: "1", Version: 1}, {Tag: "1", Version: 2}}}
	k := Key{"a", "1"}
	work := map[Key]Work{}
	for _, want := range []string{"start 1", "update 1", "end 1", "start 2", "update 2", "end 2", "nothing"} {
		plan := MakePlan(obj, work)
		for _, stop := range plan.Stop {
			delete(work, stop)
		}
		var got []string
		for _, o := range plan.Start {
			got = append(got, fmt.Sprint("start ", o.Version))
			work[k] = Work{at("1", v1beta1.ImagePhasePulling, o.Version)}
		}
		for _, o := range plan.Update {
			got = append(got, fmt.Sprint("update ", o.Version))
		}
		if verb, _, _ := strings.Cut(want, " "); verb == "end" {
			w := work[k]
			w.Status = at("1", v1beta1.ImagePhaseSucceeded, w.Status.Version)
			work[k] = w
			got = []string{fmt.Sprint("end ", w.Status.Version)}
		}
		obj.Status = StatusOf(obj, work)
		if all := strings.Join(got, ", "); all != want && (all != "" || want != "nothing") {
			t.Errorf("%s, want %s", all, want)
		}
	}
}

// A digest is pulled by @, a tag by a colon.
func TestReference(t *testing.T) {
	for k, want := range map[Key]string{
		{"nginx", "1.25"}: "nginx:1.25", {"localhost:5000/a", "latest"}: "localhost:5000/a:latest", {"nginx", "sha256:ab"}: "nginx@sha256:ab",
	} {
		if got := k.String(); got != want {
			t.Errorf("%v = %s", k, got)
		}
	}
}

// Whatever is asked for, stored and under way: after the plan there is exactly one puller of the right version for each
// tag without an end, the status speaks of the tags asked for and no others, and a status that was stored is final.
func TestPlanProperties(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		obj, work := randomState(r)
		plan := MakePlan(obj, work)
		after := map[Key]int64{}
		for k, at := range work {
			after[k] = at.Status.Version
		}
		for _, k := range plan.Stop {
			delete(after, k)
		}
		for _, o := range plan.Start {
			if _, double := after[o.Key]; double {
				t.Fatalf("seed %d: two pullers of %s", seed, o.Key)
			}
			after[o.Key] = o.Version
		}
		status := StatusOf(obj, work)
		want := map[Key]int64{}
		tags := 0
		for image, spec := range obj.Spec.Images {
			tags += len(spec.Tags)
			for _, tag := range spec.Tags {
				stored, found := storedStatus(obj, Key{image, tag.Tag}, tag.Version)
				ended := found && stored.CompletionTime != nil
				if !ended {
					want[Key{image, tag.Tag}] = tag.Version
				}
				i := slices.IndexFunc(status.ImageStatuses[image].Tags, func(s v1beta1.ImageTagStatus) bool { return s.Tag == tag.Tag })
				if i < 0 || status.ImageStatuses[image].Tags[i].Version != tag.Version || ended && !equality.Semantic.DeepEqual(stored, status.ImageStatuses[image].Tags[i]) {
					t.Fatalf("seed %d: status of %s:%s is %+v, stored %+v", seed, image, tag.Tag, status.ImageStatuses[image], stored)
				}
			}
		}
		if !maps.Equal(want, after) {
			t.Fatalf("seed %d: pullers %v, want %v", seed, after, want)
		}
		sum := status.Succeeded + status.Failed + status.Pulling + status.Waiting
		if int(status.Desired) != tags || sum != status.Desired {
			t.Fatalf("seed %d: counts %+v of %d tags", seed, status, tags)
		}
		obj.Status = status
		if again := StatusOf(obj, work); !equality.Semantic.DeepEqual(status, again) {
			t.Fatalf("seed %d: written again without a change", seed)
		}
	}
}

func randomState(r *rand.Rand) (*v1beta1.NodeImage, map[Key]Work) {
	phases := []v1beta1.ImagePullPhase{v1beta1.ImagePhaseWaiting, v1beta1.ImagePhasePulling, v1beta1.ImagePhaseSucceeded, v1beta1.ImagePhaseFailed}
	obj, work := &v1beta1.NodeImage{}, map[Key]Work{}
	obj.Spec.Images, obj.Status.ImageStatuses = map[string]v1beta1.ImageSpec{}, map[string]v1beta1.ImageStatus{}
	for i := range r.IntN(4) {
		image := "i" + strconv.Itoa(i)
		var spec v1beta1.ImageSpec
		var status v1beta1.ImageStatus
		for j := range r.IntN(4) {
			tag := strconv.Itoa(j)
			if r.IntN(4) > 0 {
				spec.Tags = append(spec.Tags, v1beta1.ImageTagSpec{Tag: tag, Version: int64(r.IntN(3))})
			}
			if r.IntN(2) > 0 {
				status.Tags = append(status.Tags, at(tag, phases[r.IntN(4)], int64(r.IntN(3))))
			}
			if r.IntN(2) > 0 {
				work[Key{image, tag}] = Work{at(tag, phases[r.IntN(4)], int64(r.IntN(3)))}
			}
		}
		if len(spec.Tags) > 0 {
			obj.Spec.Images[image] = spec
		}
		obj.Status.ImageStatuses[image] = status
	}
	return obj, work
}

// Writes: five at once but a second apart, then one every two seconds.
func TestBudget(t *testing.T) {
	var b budget
	now := noon.Time
	var at []time.Duration
	for range 1000 {
		if wait := b.take(now); wait > 0 {
			now = now.Add(wait)
			continue
		}
		at = append(at, now.Sub(noon.Time))
	}
	for i := 1; i < len(at); i++ {
		if at[i]-at[i-1] < time.Second {
			t.Fatalf("writes %d and %d are %s apart", i-1, i, at[i]-at[i-1])
		}
	}
	if most := 5 + int(at[len(at)-1]/(2*time.Second)); len(at) > most+1 || len(at) < most-1 {
		t.Errorf("%d writes in %s, want %d", len(at), at[len(at)-1], most)
	}
}
