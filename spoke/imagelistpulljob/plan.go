// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package imagelistpulljob

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/utils/dump"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// Plan is what there is to do.
type Plan struct {
	// Create are the images that need a child, in the order of the list.
	Create []string
	// Delete are children whose image is not wanted, or not on these terms, or has another child.
	Delete []*v1beta1.ImagePullJob
	Status v1beta1.ImageListPullJobStatus
}

// HashOf is the label that says of which terms a child was made.
func HashOf(template *v1beta1.ImagePullJobTemplate) string {
	h := fnv.New32a()
	_, _ = fmt.Fprint(h, dump.ForHash(*template)) // a hash never fails to write
	return rand.SafeEncodeString(fmt.Sprint(h.Sum32()))
}

// MakePlan compares a list, which has its defaults, with its children.
func MakePlan(list *v1beta1.ImageListPullJob, children []*v1beta1.ImagePullJob, now time.Time) Plan {
	var p Plan
	children = slices.Clone(children)
	slices.SortFunc(children, func(a, b *v1beta1.ImagePullJob) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	hash := HashOf(&list.Spec.ImagePullJobTemplate)
	kept := map[string]*v1beta1.ImagePullJob{}
	for _, child := range children {
		if kept[child.Spec.Image] == nil && slices.Contains(list.Spec.Images, child.Spec.Image) && onTerms(child, list, hash) {
			kept[child.Spec.Image] = child
		} else {
			p.Delete = append(p.Delete, child)
		}
	}
	for _, image := range list.Spec.Images {
		if kept[image] == nil {
			p.Create = append(p.Create, image)
		}
	}
	p.Status = statusOf(list, kept, now)
	return p
}

// onTerms tells whether a child is what the list would make now. The label alone would not do: another release may
// reckon it differently, and children must outlive that (IP-10).
func onTerms(child *v1beta1.ImagePullJob, list *v1beta1.ImageListPullJob, hash string) bool {
	if child.Labels[v1beta1.ControllerRevisionHashLabel] == hash {
		return true
	}
	want := childSpec(list, child.Spec.Image)
	got := child.Spec.DeepCopy()
	v1beta1.DefaultImagePullJobSpec(got)
	return equality.Semantic.DeepEqual(*got, want)
}

func childSpec(list *v1beta1.ImageListPullJob, image string) v1beta1.ImagePullJobSpec {
	spec := v1beta1.ImagePullJobSpec{Image: image, ImagePullJobTemplate: *list.Spec.ImagePullJobTemplate.DeepCopy()}
	v1beta1.DefaultImagePullJobSpec(&spec)
	return spec
}

// childOf is the child for an image.
func childOf(list *v1beta1.ImageListPullJob, image string) *v1beta1.ImagePullJob {
	return &v1beta1.ImagePullJob{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: list.Namespace, GenerateName: list.Name + "-",
			Labels:          map[string]string{v1beta1.ControllerRevisionHashLabel: HashOf(&list.Spec.ImagePullJobTemplate)},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(list, v1beta1.SchemeGroupVersion.WithKind("ImageListPullJob"))},
		},
		Spec: childSpec(list, image),
	}
}

// statusOf sums the children up, in the order of the list.
func statusOf(list *v1beta1.ImageListPullJob, kept map[string]*v1beta1.ImagePullJob, now time.Time) v1beta1.ImageListPullJobStatus {
	second := metav1.NewTime(now).Rfc3339Copy()
	st := v1beta1.ImageListPullJobStatus{Desired: int32(len(list.Spec.Images)), StartTime: list.Status.StartTime} //nolint:gosec // at most 255
	if st.StartTime == nil {
		st.StartTime = &second
	}
	for _, image := range list.Spec.Images {
		child := kept[image]
		if child == nil || child.Status.StartTime == nil {
			continue
		}
		s := &child.Status
		if s.Active > 0 {
			st.Active++
		}
		if s.Failed > 0 {
			st.FailedImageStatuses = append(st.FailedImageStatuses, v1beta1.FailedImageStatus{
				ImagePullJob: child.Name, Name: image,
				Message: fmt.Sprintf("Please check for details which nodes failed by 'kubectl get ImagePullJob %s'.", child.Name),
			})
		}
		if s.Desired == s.Failed+s.Succeeded {
			st.Completed++
		}
		if s.Desired == s.Succeeded {
			st.Succeeded++
		}
	}
	if list.Spec.CompletionPolicy.Type != v1beta1.CompletionPolicyNever && st.Completed == st.Desired {
		st.CompletionTime = &second
	}
	return st
}
