// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package imagepulljob

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/apis/imageref"
)

var noon = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

func job(uid string, change func(*v1beta1.ImagePullJob)) *v1beta1.ImagePullJob {
	out := &v1beta1.ImagePullJob{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: uid, UID: types.UID(uid)}}
	out.Spec.Image = "nginx:1.25"
	if change != nil {
		change(out)
	}
	v1beta1.DefaultImagePullJob(out)
	return out
}

func snapshot(j *v1beta1.ImagePullJob, nodes ...*v1beta1.NodeImage) Snapshot {
	return Snapshot{Job: j, Image: imageref.Reference{Name: "nginx", Tag: "1.25"}, Nodes: nodes, Now: noon}
}

// node is a NodeImage that was asked by the job (unless phase is "none"), and how far it is ("" for no status yet).
func node(name string, j *v1beta1.ImagePullJob, phase v1beta1.ImagePullPhase) *v1beta1.NodeImage {
	out := &v1beta1.NodeImage{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if phase == "none" {
		return out
	}
	Ask(out, snapshot(j), Terms{})
	report(out, phase)
	return out
}

func report(node *v1beta1.NodeImage, phase v1beta1.ImagePullPhase) {
	if phase == "" {
		return
	}
	tag := node.TagSpec("nginx", "1.25")
	node.Status.ImageStatuses = map[string]v1beta1.ImageStatus{"nginx": {Tags: []v1beta1.ImageTagStatus{{Tag: "1.25", Version: tag.Version, Phase: phase}}}}
}

func TestMakePlan(t *testing.T) {
	limited := func(parallelism int32) func(*v1beta1.ImagePullJob) {
		return func(j *v1beta1.ImagePullJob) { j.Spec.Parallelism = ptr.To(intstr.FromInt32(parallelism)) }
	}
	never := func(j *v1beta1.ImagePullJob) { j.Spec.CompletionPolicy.Type = v1beta1.CompletionPolicyNever }
	overdue := func(j *v1beta1.ImagePullJob) {
		j.Spec.CompletionPolicy.ActiveDeadlineSeconds = ptr.To[int64](600)
		j.Status.StartTime = second(noon.Add(-600 * time.Second))
	}
	nearly := func(j *v1beta1.ImagePullJob) {
		overdue(j)
		j.Status.StartTime = second(noon.Add(-590 * time.Second))
	}
	for name, tc := range map[string]struct {
		change  func(*v1beta1.ImagePullJob)
		phases  []v1beta1.ImagePullPhase // of nodes a, b, c…
		ask     string
		counts  [4]int32 // desired, active, succeeded, failed
		failed  []string
		message string
		done    bool
		wait    time.Duration
	}{
		"no node":                     {phases: nil, message: "job has completed", done: true},
		"no node, never":              {change: never, message: "job is running, no progress"},
		"one at a time":               {phases: []v1beta1.ImagePullPhase{"none", "none", "none"}, ask: "a", counts: [4]int32{3}, message: "job is running, progress 0.0%"},
		"one is under way":            {phases: []v1beta1.ImagePullPhase{"none", "", "none"}, counts: [4]int32{3, 1}, message: "job is running, progress 0.0%"},
		"waiting counts as pulling":   {phases: []v1beta1.ImagePullPhase{"none", "Waiting"}, counts: [4]int32{2, 1}, message: "job is running, progress 0.0%"},
		"the next":                    {phases: []v1beta1.ImagePullPhase{"Succeeded", "Failed", "none"}, ask: "c", counts: [4]int32{3, 0, 1, 1}, failed: []string{"b"}, message: "job is running, progress 66.7%"},
		"two at a time":               {change: limited(2), phases: []v1beta1.ImagePullPhase{"Pulling", "none", "none"}, ask: "b", counts: [4]int32{3, 1}, message: "job is running, progress 0.0%"},
		"paused":                      {change: limited(0), phases: []v1beta1.ImagePullPhase{"none", "Succeeded"}, counts: [4]int32{2, 0, 1}, message: "job is running, progress 50.0%"},
		"limit lowered while pulling": {change: limited(1), phases: []v1beta1.ImagePullPhase{"Pulling", "Pulling", "none"}, counts: [4]int32{3, 2}, message: "job is running, progress 0.0%"},
		"all have an end":             {phases: []v1beta1.ImagePullPhase{"Succeeded", "Failed"}, counts: [4]int32{2, 0, 1, 1}, failed: []string{"b"}, message: "job has completed", done: true},
		"all have an end, never":      {change: never, phases: []v1beta1.ImagePullPhase{"Succeeded"}, counts: [4]int32{1, 0, 1}, message: "job is running, progress 100.0%"},
		"deadline":                    {change: overdue, phases: []v1beta1.ImagePullPhase{"Succeeded", "Pulling", "none", "Failed"}, counts: [4]int32{4, 0, 1, 3}, failed: []string{"b", "c", "d"}, message: "job exceeds activeDeadlineSeconds", done: true},
		"deadline, all had an end":    {change: overdue, phases: []v1beta1.ImagePullPhase{"Succeeded"}, counts: [4]int32{1, 0, 1}, message: "job has completed", done: true},
		"before the deadline":         {change: nearly, phases: []v1beta1.ImagePullPhase{"Pulling"}, counts: [4]int32{1, 1}, message: "job is running, progress 0.0%", wait: 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			j := job("j", tc.change)
			var nodes []*v1beta1.NodeImage
			for i, phase := range tc.phases {
				nodes = append([]*v1beta1.NodeImage{node(string(rune('a'+i)), j, phase)}, nodes...) // their order does not matter
			}
			p := MakePlan(snapshot(j, nodes...))
			var ask []string
			for _, n := range p.Ask {
				ask = append(ask, n.Name)
			}
			if got := strings.Join(ask, ","); got != tc.ask || p.Wait != tc.wait {
				t.Errorf("asks %s, wait %s", got, p.Wait)
			}
			st := p.Status
			if got := [4]int32{st.Desired, st.Active, st.Succeeded, st.Failed}; got != tc.counts || st.Message != tc.message || (st.CompletionTime != nil) != tc.done || st.StartTime == nil {
				t.Errorf("status %+v", st)
			}
			if diff := cmp.Diff(tc.failed, st.FailedNodes); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A deadline that means "never" is none that is past.
func TestDistantDeadlines(t *testing.T) {
	for _, d := range []int64{10_000_000_000, math.MaxInt64} {
		j := job("j", func(j *v1beta1.ImagePullJob) { j.Spec.CompletionPolicy.ActiveDeadlineSeconds = &d })
		if p := MakePlan(snapshot(j, node("a", j, "Pulling"))); p.Status.CompletionTime != nil || p.Wait < 24*time.Hour {
			t.Errorf("%d s: ended %v, %q, wait %s", d, p.Status.CompletionTime, p.Status.Message, p.Wait)
		}
	}
}

// Whatever the nodes do and in whatever order: never more pull at once than allowed, each is written once, the job ends,
// and a pass without news asks nobody.
func TestJobProperties(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 2))
		most := 1 + r.IntN(5)
		j := job("j", func(j *v1beta1.ImagePullJob) { j.Spec.Parallelism = ptr.To(intstr.FromInt(most)) })
		var nodes []*v1beta1.NodeImage
		for i := range r.IntN(20) {
			nodes = append(nodes, node(fmt.Sprintf("n%02d", i), j, "none"))
		}
		writes := map[string]int{}
		for pass := 0; ; pass++ {
			if pass > 1000 {
				t.Fatalf("seed %d: never done", seed)
			}
			p := MakePlan(snapshot(j, nodes...))
			j.Status = p.Status
			if p.Status.CompletionTime != nil {
				break
			}
			for _, n := range p.Ask {
				if !Ask(n, snapshot(j), Terms{}) {
					t.Fatalf("seed %d: asked %s for nothing", seed, n.Name)
				}
				writes[n.Name]++
			}
			under := 0
			for _, n := range nodes {
				if phaseOf(n, snapshot(j)) == pulling {
					under++
					if r.IntN(3) == 0 {
						report(n, []v1beta1.ImagePullPhase{"Waiting", "Pulling", "Succeeded", "Failed"}[r.IntN(4)])
					}
				}
			}
			if under > most {
				t.Fatalf("seed %d: %d pull at once, allowed are %d", seed, under, most)
			}
		}
		for name, n := range writes {
			if n != 1 {
				t.Fatalf("seed %d: %s was written %d times", seed, name, n)
			}
		}
		if len(writes) != len(nodes) || int(j.Status.Succeeded+j.Status.Failed) != len(nodes) {
			t.Fatalf("seed %d: %+v", seed, j.Status)
		}
	}
}

func TestAsk(t *testing.T) {
	j := job("j", func(j *v1beta1.ImagePullJob) {
		j.Spec.SandboxConfig = &v1beta1.SandboxConfig{Labels: map[string]string{"l": "1"}}
		j.Spec.CompletionPolicy.TTLSecondsAfterFinished = ptr.To[int32](20)
		j.Spec.CompletionPolicy.ActiveDeadlineSeconds = ptr.To[int64](700)
	})
	n := &v1beta1.NodeImage{}
	s := snapshot(j)
	s.Secrets = []v1beta1.ReferenceObject{{Namespace: "c", Name: "s", Mode: "batch"}}
	if !Ask(n, s, Terms{DefaultTTL: 300, Spread: 0.5}) || Ask(n, s, Terms{}) {
		t.Fatal("the first is news, the second is none")
	}
	want := v1beta1.ImageSpec{
		PullSecrets: s.Secrets, SandboxConfig: j.Spec.SandboxConfig,
		Tags: []v1beta1.ImageTagSpec{{
			Tag: "1.25", CreatedAt: second(noon), ImagePullPolicy: "IfNotPresent",
			OwnerReferences: []corev1.ObjectReference{{APIVersion: "apps.kruise.io/v1beta1", Kind: "ImagePullJob", Namespace: "ns", Name: "j", UID: "j"}},
			PullPolicy: &v1beta1.ImageTagPullPolicy{
				TimeoutSeconds: ptr.To[int32](600), BackoffLimit: ptr.To[int32](3),
				TTLSecondsAfterFinished: ptr.To[int32](20 + 300 + 150), ActiveDeadlineSeconds: ptr.To[int64](700),
			},
		}},
	}
	if diff := cmp.Diff(want, n.Spec.Images["nginx"]); diff != "" {
		t.Error(diff)
	}

	other := job("other", func(j *v1beta1.ImagePullJob) {
		j.Spec.CompletionPolicy.Type = v1beta1.CompletionPolicyNever
		j.Spec.PullPolicy = &v1beta1.PullPolicy{TimeoutSeconds: ptr.To[int32](2000), BackoffLimit: ptr.To[int32](1)}
		j.Spec.ImagePullPolicy = v1beta1.PullAlways
	})
	Ask(n, snapshot(other), Terms{Others: []*v1beta1.ImagePullJob{j}, Spread: 0.5})
	tag := n.TagSpec("nginx", "1.25")
	if tag.Version != 1 || len(tag.OwnerReferences) != 2 || tag.ImagePullPolicy != "Always" || len(n.Spec.Images["nginx"].PullSecrets) != 1 {
		t.Errorf("joined: %+v", tag)
	}
	if p := tag.PullPolicy; *p.TimeoutSeconds != 2000 || *p.BackoffLimit != 3 || *p.ActiveDeadlineSeconds != 2000 || *p.TTLSecondsAfterFinished != 24*3600 {
		t.Errorf("the more patient should decide: %+v", p)
	}

	late := &v1beta1.NodeImage{}
	late.Status.ImageStatuses = map[string]v1beta1.ImageStatus{"nginx": {Tags: []v1beta1.ImageTagStatus{{Tag: "1.25", Version: 4, Phase: "Succeeded"}}}}
	Ask(late, snapshot(j), Terms{})
	if v := late.TagSpec("nginx", "1.25").Version; v != 5 {
		t.Errorf("version %d, though the status has one of 4", v)
	}
}

func TestKeptFor(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*v1beta1.ImagePullJob)
		spread float64
		want   int32
	}{
		"by attempts": {nil, 0, 1800 + 300},
		"by deadline": {func(j *v1beta1.ImagePullJob) { j.Spec.CompletionPolicy.ActiveDeadlineSeconds = ptr.To[int64](900) }, 0, 900 + 300},
		"by ttl":      {func(j *v1beta1.ImagePullJob) { j.Spec.CompletionPolicy.TTLSecondsAfterFinished = ptr.To[int32](0) }, 0, 300},
		"never, less": {func(j *v1beta1.ImagePullJob) { j.Spec.CompletionPolicy.Type = "Never" }, 0, 24*3600 - 600},
		"never, more": {func(j *v1beta1.ImagePullJob) { j.Spec.CompletionPolicy.Type = "Never" }, 1, 24*3600 + 600},
		"beyond all":  {func(j *v1beta1.ImagePullJob) { j.Spec.CompletionPolicy.ActiveDeadlineSeconds = ptr.To[int64](1 << 40) }, 0, 1 << 30},
		"for ever": {func(j *v1beta1.ImagePullJob) {
			j.Spec.CompletionPolicy.ActiveDeadlineSeconds = ptr.To[int64](math.MaxInt64)
		}, 1, 1 << 30},
	} {
		if got := keptFor(job("j", tc.change), Terms{DefaultTTL: 300, Spread: tc.spread}); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}

// A changed time-out reaches the node, and stays what it is without a change (IP-03).
func TestAdjust(t *testing.T) {
	j := job("j", nil)
	n := node("a", j, "Pulling")
	kept := *n.TagSpec("nginx", "1.25").PullPolicy.TTLSecondsAfterFinished
	if Adjust(n, snapshot(j), nil) {
		t.Error("changed without a change")
	}
	j.Spec.PullPolicy.TimeoutSeconds = ptr.To[int32](10)
	if !Adjust(n, snapshot(j), nil) || Adjust(n, snapshot(j), nil) {
		t.Error("a change is one once")
	}
	if p := n.TagSpec("nginx", "1.25").PullPolicy; *p.TimeoutSeconds != 10 || *p.TTLSecondsAfterFinished != kept || p.ActiveDeadlineSeconds != nil {
		t.Errorf("policy %+v", p)
	}
	if Adjust(node("b", job("x", nil), "Pulling"), snapshot(j), nil) {
		t.Error("a tag that is not the job's was changed")
	}
}

// A pull secret that comes late reaches the nodes that pull, though all places are taken, and none but those.
func TestSecretsReachNodesThatPull(t *testing.T) {
	j := job("a", nil)
	nodes := []*v1beta1.NodeImage{node("n1", j, "Pulling"), node("n2", j, "none"), node("n3", j, "Failed")}
	s := snapshot(j, nodes...)
	s.Secrets = []v1beta1.ReferenceObject{{Namespace: "c", Name: "k", Mode: "batch"}}
	p := MakePlan(s)
	if len(p.Ask) != 0 || len(p.Pulling) != 1 || p.Pulling[0].Name != "n1" {
		t.Fatalf("asks %v, pulling %v", p.Ask, p.Pulling)
	}
	version := nodes[0].TagSpec("nginx", "1.25").Version
	if !Adjust(nodes[0], s, nil) || Adjust(nodes[0], s, nil) {
		t.Error("the first is news, the second is none")
	}
	if diff := cmp.Diff(s.Secrets, nodes[0].Spec.Images["nginx"].PullSecrets); diff != "" || nodes[0].TagSpec("nginx", "1.25").Version != version {
		t.Errorf("version %d, secrets %s", nodes[0].TagSpec("nginx", "1.25").Version, diff)
	}
	if Adjust(nodes[1], s, nil) {
		t.Error("a node that was not asked yet is adjusted")
	}

	t.Log("nor does a refresh take a place from a node that waits")
	j.Spec.Parallelism = ptr.To(intstr.FromInt32(2))
	s.Nodes = []*v1beta1.NodeImage{node("n1", j, "Pulling"), node("n2", j, "none")}
	if p = MakePlan(s); len(p.Ask) != 1 || p.Ask[0].Name != "n2" {
		t.Errorf("asks %v", p.Ask)
	}
}

// Only the jobs concerned wake (IP-09).
func TestConcerned(t *testing.T) {
	build := func(change func(*v1beta1.NodeImage)) *v1beta1.NodeImage {
		n := &v1beta1.NodeImage{}
		for _, image := range []string{"nginx", "redis"} {
			for _, tag := range []string{"1", "2"} {
				s := Snapshot{Job: job(image+tag, nil), Image: imageref.Reference{Name: image, Tag: tag}, Now: noon}
				Ask(n, s, Terms{})
			}
		}
		if change != nil {
			change(n)
		}
		return n
	}
	status := func(n *v1beta1.NodeImage) {
		n.Status.ImageStatuses = map[string]v1beta1.ImageStatus{"nginx": {Tags: []v1beta1.ImageTagStatus{{Tag: "1", Phase: "Pulling"}}}}
	}
	for name, tc := range map[string]struct {
		before, after func(*v1beta1.NodeImage)
		want          string
	}{
		"nothing":          {nil, nil, ""},
		"labels":           {nil, func(n *v1beta1.NodeImage) { n.Labels = map[string]string{"a": "1"} }, ""},
		"a status comes":   {nil, status, "nginx1"},
		"a status goes":    {status, nil, "nginx1"},
		"a tag's owner":    {nil, func(n *v1beta1.NodeImage) { n.Spec.Images["redis"].Tags[1].OwnerReferences = nil }, "redis2"},
		"an image is gone": {nil, func(n *v1beta1.NodeImage) { delete(n.Spec.Images, "redis") }, "redis1 redis2"},
		"secrets of an image": {nil, func(n *v1beta1.NodeImage) {
			i := n.Spec.Images["nginx"]
			i.PullSecrets = []v1beta1.ReferenceObject{{Name: "s"}}
			n.Spec.Images["nginx"] = i
		}, "nginx1 nginx2"},
		"sandbox of an image": {nil, func(n *v1beta1.NodeImage) {
			i := n.Spec.Images["nginx"]
			i.SandboxConfig = &v1beta1.SandboxConfig{}
			n.Spec.Images["nginx"] = i
		}, "nginx1 nginx2"},
		"counts of the status": {nil, func(n *v1beta1.NodeImage) { n.Status.Desired = 9 }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for key := range concerned(build(tc.before), build(tc.after)) {
				got = append(got, key.Name)
			}
			if diff := cmp.Diff(strings.Fields(tc.want), sorted(got)); len(got)+len(tc.want) > 0 && diff != "" {
				t.Error(diff)
			}
		})
	}
}
