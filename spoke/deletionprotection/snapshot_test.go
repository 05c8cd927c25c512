// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package deletionprotection

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// shelf answers lists with pages, each a list of whether its objects are being deleted, or with an error.
type shelf struct {
	metadata.Getter
	pages [][]bool
	err   error
	asked *[]string
}

func (s shelf) Resource(resource schema.GroupVersionResource) metadata.Getter {
	*s.asked = append(*s.asked, resource.String())
	return shelf{pages: s.pages, err: s.err, asked: s.asked}
}

func (s shelf) Namespace(string) metadata.ResourceInterface { return s }

func (s shelf) List(_ context.Context, o metav1.ListOptions) (*metav1.PartialObjectMetadataList, error) {
	*s.asked = append(*s.asked, fmt.Sprintf("%s limit %d", o.FieldSelector, o.Limit))
	if s.err != nil {
		return nil, s.err
	}
	list := &metav1.PartialObjectMetadataList{}
	at, next := turned(o.Continue, len(s.pages))
	list.Continue = next
	if at < len(s.pages) {
		for _, deleting := range s.pages[at] {
			list.Items = append(list.Items, metav1.PartialObjectMetadata{ObjectMeta: meta(deleting)})
		}
	}
	return list, nil
}

// turned returns the page that a token means, and the next token.
func turned(token string, pages int) (at int, next string) {
	at, _ = strconv.Atoi(token)
	if at+1 < pages {
		next = strconv.Itoa(at + 1)
	}
	return at, next
}

func meta(deleting bool) metav1.ObjectMeta {
	if deleting {
		return metav1.ObjectMeta{DeletionTimestamp: &metav1.Time{}}
	}
	return metav1.ObjectMeta{}
}

// claims answers with pages of claims.
type claims struct {
	client.Reader
	pages [][]corev1.PersistentVolumeClaim
	err   error
}

func (c claims) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	if c.err != nil {
		return c.err
	}
	o := (&client.ListOptions{}).ApplyOptions(options)
	if o.Limit != page || o.Namespace != "shop" {
		return fmt.Errorf("asked with %+v", o)
	}
	at, next := turned(o.Continue, len(c.pages))
	if at < len(c.pages) {
		list.(*corev1.PersistentVolumeClaimList).Items = c.pages[at]
	}
	list.SetContinue(next)
	return nil
}

func claim(phase corev1.PersistentVolumeClaimPhase, deleting bool) corev1.PersistentVolumeClaim {
	return corev1.PersistentVolumeClaim{ObjectMeta: meta(deleting), Status: corev1.PersistentVolumeClaimStatus{Phase: phase}}
}

// TestNamespaces: pods first, then claims; DP-01: claims hold a namespace without pods.
func TestNamespaces(t *testing.T) {
	bound, pending, going := claim(corev1.ClaimBound, false), claim(corev1.ClaimPending, false), claim(corev1.ClaimBound, true)
	of := func(all ...corev1.PersistentVolumeClaim) claims {
		return claims{pages: [][]corev1.PersistentVolumeClaim{all}}
	}
	for name, tc := range map[string]struct {
		pods   shelf
		claims claims
		want   string
		err    string
	}{
		"nothing":                        {shelf{}, claims{}, "0 bound PersistentVolumeClaims", ""},
		"pods":                           {shelf{pages: [][]bool{{false, true, false}}}, of(bound), "2 active pods", ""},
		"pods that go":                   {shelf{pages: [][]bool{{true}, {true, true}}}, claims{}, "0 bound PersistentVolumeClaims", ""},
		"a pod on the second page":       {shelf{pages: [][]bool{{true}, {false}, {false}}}, claims{}, "at least 1 active pod", ""},
		"a pod on the last page":         {shelf{pages: [][]bool{{true}, {false}}}, claims{}, "1 active pod", ""},
		"a claim alone":                  {shelf{}, of(bound), "1 bound PersistentVolumeClaim", ""},
		"a claim that waits":             {shelf{}, of(pending), "0 bound PersistentVolumeClaims", ""},
		"a claim that goes":              {shelf{}, of(going, pending), "0 bound PersistentVolumeClaims", ""},
		"a claim on the second page":     {shelf{}, claims{pages: [][]corev1.PersistentVolumeClaim{{going}, {bound, bound}}}, "2 bound PersistentVolumeClaims", ""},
		"pods that cannot be listed":     {shelf{err: errors.New("no")}, of(bound), "0 active pods", "cannot list its pods: no"},
		"claims that cannot be listed":   {shelf{}, claims{err: errors.New("no")}, "0 bound PersistentVolumeClaims", "cannot list its PersistentVolumeClaims: no"},
		"pods need no look at claims":    {shelf{pages: [][]bool{{false}}}, claims{err: errors.New("no")}, "1 active pod", ""},
		"claims are looked at page-wise": {shelf{}, claims{pages: [][]corev1.PersistentVolumeClaim{{bound}, {bound}}}, "at least 1 bound PersistentVolumeClaim", ""},
	} {
		t.Run(name, func(t *testing.T) {
			asked := []string{}
			tc.pods.asked = &asked
			found, err := cluster{reader: tc.claims, metadata: tc.pods}.look(t.Context(), content, &object{Metadata: metav1.ObjectMeta{Name: "shop"}})
			if found.String() != tc.want || message(err) != tc.err {
				t.Errorf("%s, %q", found, message(err))
			}
			if !slices.Contains(asked, "status.phase!=Succeeded,status.phase!=Failed limit 100") {
				t.Errorf("asked %q", asked)
			}
		})
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

const definition = `{"metadata":{"name":"widgets.example.com"},"spec":{"group":"example.com","names":{"plural":"widgets","kind":"Widget"},"versions":[%s]}}`

func TestDefinitions(t *testing.T) {
	const stored = `{"name":"v1alpha1","served":true},{"name":"v1","served":true,"storage":true},{"name":"v2","served":true}`
	forbidden := apierrors.NewForbidden(schema.GroupResource{Group: "example.com", Resource: "widgets"}, "", errors.New("no"))
	for name, tc := range map[string]struct {
		off      bool
		versions string
		objects  shelf
		want     string
		err      string
		asked    []string
	}{
		"gate off": {true, stored, shelf{pages: [][]bool{{false}}}, "0 custom resources",
			"it needs feature-gate DeletionProtectionForCRDCascadingGate of flotilla-spoke, which is not enabled", []string{}},
		"none": {false, stored, shelf{}, "0 custom resources", "", []string{"example.com/v1, Resource=widgets", " limit 100"}},
		"one":  {false, stored, shelf{pages: [][]bool{{true, false}}}, "1 custom resource", "", []string{"example.com/v1, Resource=widgets", " limit 100"}},
		"all go": {false, stored, shelf{pages: [][]bool{{true}, {true}}}, "0 custom resources", "",
			[]string{"example.com/v1, Resource=widgets", " limit 100", " limit 100"}},
		"what is stored is not served": {false, `{"name":"v1","storage":true},{"name":"v2","served":true}`, shelf{pages: [][]bool{{false}}}, "1 custom resource", "",
			[]string{"example.com/v2, Resource=widgets", " limit 100"}},
		"nothing is served": {false, `{"name":"v1","storage":true}`, shelf{}, "0 custom resources",
			"no version is served, so nobody can tell whether there are custom resources", []string{}},
		"no right": {false, stored, shelf{err: forbidden}, "0 custom resources",
			"flotilla-spoke has no right to list widgets.example.com: apply kustomize/crd-protection, or grant it verb list of widgets.example.com",
			[]string{"example.com/v1, Resource=widgets", " limit 100"}},
		"no answer": {false, stored, shelf{err: errors.New("no")}, "0 custom resources", "cannot list widgets.example.com: no",
			[]string{"example.com/v1, Resource=widgets", " limit 100"}},
	} {
		t.Run(name, func(t *testing.T) {
			obj, err := decode(fmt.Appendf(nil, definition, tc.versions), instances)
			if err != nil {
				t.Fatal(err)
			}
			asked := []string{}
			tc.objects.asked = &asked
			found, err := cluster{metadata: tc.objects, definitions: !tc.off}.look(t.Context(), instances, obj)
			if found.String() != tc.want || message(err) != tc.err {
				t.Errorf("%s, %q", found, message(err))
			}
			if d := cmp.Diff(tc.asked, asked); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestReplicas(t *testing.T) {
	for raw, want := range map[string]string{
		`{}`:                      "0 replicas",
		`{"spec":{}}`:             "0 replicas",
		`{"spec":null}`:           "0 replicas",
		`{"spec":{"replicas":0}}`: "0 replicas",
		`{"spec":{"replicas":1}}`: "1 replica",
		`{"spec":{"replicas":2,"template":{"spec":{"replicas":"x"}}}}`: "2 replicas",
	} {
		obj, err := decode([]byte(raw), replicas)
		if err != nil {
			t.Fatal(raw, err)
		}
		found, err := cluster{}.look(t.Context(), replicas, obj)
		if found.String() != want || err != nil {
			t.Errorf("%s: %s, %v", raw, found, err)
		}
	}
}
