// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package conversiondata

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type data struct {
	Number *int32 `json:"number,omitempty"`
}

func TestPutAndTake(t *testing.T) {
	four := int32(4)
	cases := map[string]struct {
		before map[string]string
		data   data
		taken  bool
	}{
		"nothing to keep":           {before: map[string]string{"a": "b"}},
		"nothing at all":            {},
		"beside other annotations":  {before: map[string]string{"a": "b"}, data: data{Number: &four}, taken: true},
		"the only annotation there": {data: data{Number: &four}, taken: true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			meta := metav1.ObjectMeta{Annotations: c.before}
			if err := Put(&meta, "v1beta1", c.data); err != nil {
				t.Fatal(err)
			}
			if _, present := meta.Annotations[Annotation]; present != c.taken {
				t.Errorf("annotation there: %v", present)
			}
			var got data
			if taken := Take(&meta, "v1beta1", &got); taken != c.taken {
				t.Errorf("taken: %v", taken)
			}
			if diff := cmp.Diff(c.data, got); diff != "" {
				t.Errorf("(-put +taken):\n%s", diff)
			}
			if diff := cmp.Diff(c.before, meta.Annotations); diff != "" {
				t.Errorf("annotations (-before +after):\n%s", diff)
			}
		})
	}
}

func TestTakeDropsWhatItCannotRead(t *testing.T) {
	for _, text := range []string{"", "no JSON", "[]", `{"v1beta1":[]}`, `{"v1alpha1":{"number":1}}`} {
		meta := metav1.ObjectMeta{Annotations: map[string]string{Annotation: text}}
		var got data
		if Take(&meta, "v1beta1", &got) || got.Number != nil {
			t.Errorf("%q was taken for %+v", text, got)
		}
		if meta.Annotations != nil {
			t.Errorf("%q: left %v", text, meta.Annotations)
		}
	}
}

func TestSharedMapsAreNotChanged(t *testing.T) {
	shared := map[string]string{"a": "b", Annotation: `{}`}
	meta := metav1.ObjectMeta{Annotations: shared}
	Take(&meta, "v1beta1", &data{})
	Annotate(&meta, "c", &[]string{"d"}[0])
	if diff := cmp.Diff(map[string]string{"a": "b", Annotation: `{}`}, shared); diff != "" {
		t.Error(diff)
	}
}

func TestSame(t *testing.T) {
	empty, full := "", "x"
	for _, c := range []struct {
		a, b *string
		want bool
	}{{nil, nil, true}, {&empty, nil, false}, {nil, &full, false}, {&empty, &full, false}, {&full, &full, true}} {
		if Same(c.a, c.b) != c.want {
			t.Errorf("Same(%v, %v) is not %v", c.a, c.b, c.want)
		}
	}
}
