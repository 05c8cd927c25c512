// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package imagelistpulljob

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

var noon = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

func list(images ...string) *v1beta1.ImageListPullJob {
	out := &v1beta1.ImageListPullJob{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "l", UID: "u"}}
	out.Spec.Images = images
	v1beta1.DefaultImageListPullJob(out)
	return out
}

// child is what the list makes for an image, as it is when it was made: [desired, active, succeeded, failed].
func child(l *v1beta1.ImageListPullJob, image string, counts ...int32) *v1beta1.ImagePullJob {
	out := childOf(l, image)
	out.Name = "l-" + image
	if len(counts) == 4 {
		at := metav1.NewTime(noon)
		out.Status = v1beta1.ImagePullJobStatus{StartTime: &at, Desired: counts[0], Active: counts[1], Succeeded: counts[2], Failed: counts[3]}
	}
	return out
}

func TestChildren(t *testing.T) {
	l := list("a", "b")
	relabelled := child(l, "a")
	relabelled.Labels["controller-revision-hash"] = "of another release"
	unlabelled := child(l, "a")
	unlabelled.Labels = nil
	bare := child(l, "a") // made where no webhook filled it in
	bare.Labels, bare.Spec.PullPolicy, bare.Spec.ImagePullPolicy = nil, nil, ""
	other := list("a")
	other.Spec.Parallelism = ptr.To(intstr.FromInt32(7))
	edited := child(l, "a") // by hand: its label says that we made it so
	edited.Spec.Parallelism = ptr.To(intstr.FromInt32(0))
	twin := child(l, "a")
	twin.Name, twin.CreationTimestamp = "l-0", metav1.NewTime(noon)
	for name, tc := range map[string]struct {
		children       []*v1beta1.ImagePullJob
		create, remove string
	}{
		"none yet":                           {nil, "a b", ""},
		"all there (IP-10)":                  {[]*v1beta1.ImagePullJob{child(l, "a"), child(l, "b")}, "", ""},
		"one missing":                        {[]*v1beta1.ImagePullJob{child(l, "b")}, "a", ""},
		"image taken out":                    {[]*v1beta1.ImagePullJob{child(l, "a"), child(l, "b"), child(l, "c")}, "", "l-c"},
		"other terms":                        {[]*v1beta1.ImagePullJob{child(other, "a"), child(l, "b")}, "a", "l-a"},
		"label of another release (IP-10)":   {[]*v1beta1.ImagePullJob{relabelled, child(l, "b")}, "", ""},
		"no label, same terms":               {[]*v1beta1.ImagePullJob{unlabelled, child(l, "b")}, "", ""},
		"no label, same terms, no defaults":  {[]*v1beta1.ImagePullJob{bare, child(l, "b")}, "", ""},
		"edited by hand":                     {[]*v1beta1.ImagePullJob{edited, child(l, "b")}, "", ""},
		"two for one image: the first stays": {[]*v1beta1.ImagePullJob{twin, child(l, "a"), child(l, "b")}, "", "l-0"},
	} {
		t.Run(name, func(t *testing.T) {
			p := MakePlan(l, tc.children, noon)
			var gone []string
			for _, c := range p.Delete {
				gone = append(gone, c.Name)
			}
			if got := strings.Join(p.Create, " "); got != tc.create || strings.Join(gone, " ") != tc.remove {
				t.Errorf("create %s, delete %v", got, gone)
			}
		})
	}
}

func TestChildOf(t *testing.T) {
	l := list("a")
	l.Spec.PullSecrets = []string{"s"}
	c := childOf(l, "a")
	if c.GenerateName != "l-" || c.Namespace != "ns" || c.Labels["controller-revision-hash"] != HashOf(&l.Spec.ImagePullJobTemplate) || !metav1.IsControlledBy(c, l) {
		t.Errorf("metadata %+v", c.ObjectMeta)
	}
	if c.Spec.Image != "a" || c.Spec.PullSecrets[0] != "s" || c.Spec.ImagePullPolicy != "IfNotPresent" {
		t.Errorf("spec %+v", c.Spec)
	}
}

func TestStatus(t *testing.T) {
	l := list("a", "b", "c")
	kept := map[string]*v1beta1.ImagePullJob{"a": child(l, "a", 2, 0, 2, 0), "b": child(l, "b", 2, 1, 0, 1), "c": child(l, "c")}
	at := metav1.NewTime(noon)
	want := v1beta1.ImageListPullJobStatus{
		Desired: 3, Active: 1, Completed: 1, Succeeded: 1, StartTime: &at,
		FailedImageStatuses: []v1beta1.FailedImageStatus{{ImagePullJob: "l-b", Name: "b", Message: "Please check for details which nodes failed by 'kubectl get ImagePullJob l-b'."}},
	}
	if diff := cmp.Diff(want, statusOf(l, kept, noon)); diff != "" {
		t.Error(diff)
	}
	kept["b"], kept["c"] = child(l, "b", 2, 0, 1, 1), child(l, "c", 2, 0, 0, 2)
	done := statusOf(l, kept, noon)
	if done.CompletionTime == nil || done.Completed != 3 || done.Succeeded != 1 || len(done.FailedImageStatuses) != 2 || done.FailedImageStatuses[0].Name != "b" {
		t.Errorf("done: %+v", done)
	}
	l.Spec.CompletionPolicy.Type = v1beta1.CompletionPolicyNever
	if st := statusOf(l, kept, noon); st.CompletionTime != nil || len(st.FailedImageStatuses) != 2 {
		t.Errorf("never: %+v", st)
	}
}
