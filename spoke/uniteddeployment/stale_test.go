// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package uniteddeployment

import (
	"context"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// patient counts writes, and those among them that later reads would wait for.
type patient struct{ writes, waited int }

func (p *patient) note(disabled bool) {
	p.writes++
	if !disabled {
		p.waited++
	}
}

func (p *patient) client(objects ...client.Object) client.Client {
	return fake.NewClientBuilder().WithScheme(scheme()).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, o ...client.CreateOption) error {
			p.note((&client.CreateOptions{}).ApplyOptions(o).DisableReadYourWritesConsistency)
			return c.Create(ctx, obj, o...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, o ...client.DeleteOption) error {
			p.note((&client.DeleteOptions{}).ApplyOptions(o).DisableReadYourWritesConsistency)
			return c.Delete(ctx, obj, o...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, change client.Patch, o ...client.PatchOption) error {
			p.note((&client.PatchOptions{}).ApplyOptions(o).DisableReadYourWritesConsistency)
			return c.Patch(ctx, obj, change, o...)
		},
	}).Build()
}

// What is written to workloads may be deleted by somebody else while the watch is down: no read may
// wait for it. And each write is safe to send again by a pass that has not seen it.
func TestWritesAreNotWaitedFor(t *testing.T) {
	ctx := context.Background()
	ud := cloneSetUD(1, subset("a", 1))
	stale := func(change func(client.Object)) client.Object {
		obj := atRest(ud, "a", sizing{replicas: 1}).object
		change(obj)
		return obj
	}
	orphan := stale(func(o client.Object) { o.SetOwnerReferences(nil) })
	straying := stale(func(o client.Object) { o.SetLabels(map[string]string{appsv1beta1.SubsetNameLabel: "a"}) })
	want, err := desired(ud, cloneSetAdapter{}, &ud.Spec.Topology.Subsets[0], "web-2", sizing{replicas: 1})
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		there []client.Object
		do    func(c client.Client) error
	}{
		"create": {nil, func(c client.Client) error {
			return newWriter(c, c).create(ctx, ud, move{subset: "a", want: want}, "CloneSet")
		}},
		"delete": {[]client.Object{straying}, func(c client.Client) error { return newWriter(c, c).remove(ctx, move{live: straying}) }},
		"adopt": {[]client.Object{ud, orphan}, func(c client.Client) error {
			_, err := claimer{Client: c, cached: c, live: c}.claim(ctx, ud, cloneSetAdapter{})
			return err
		}},
		"release": {[]client.Object{ud, straying}, func(c client.Client) error {
			_, err := claimer{Client: c, cached: c, live: c}.claim(ctx, ud, cloneSetAdapter{})
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p := &patient{}
			c := p.client(tc.there...)
			for range 2 {
				if err := tc.do(c); err != nil {
					t.Fatal(err)
				}
			}
			if p.writes == 0 || p.waited > 0 {
				t.Errorf("%d writes, %d of them waited for", p.writes, p.waited)
			}
		})
	}
}

// A workload that is gone is forgotten, whoever deleted it.
func TestGoneWorkloadsAreForgotten(t *testing.T) {
	set := atRest(cloneSetUD(1, subset("a", 1)), "a", sizing{replicas: 1}).object
	w := newWriter(nil, nil)
	w.owned[set.GetUID()] = true
	if !w.onDelete(cloneSetAdapter{}.kind()).Delete(event.DeleteEvent{Object: set}) || len(w.owned) != 0 {
		t.Errorf("left: %v", w.owned)
	}
}
