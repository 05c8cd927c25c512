// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package imagepulljob

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/spoke/pullsecrets"
)

// listed reads copies as a cache that never lags behind.
type listed struct{ client.Client }

func (l listed) List(ctx context.Context) ([]*corev1.Secret, error) {
	var list corev1.SecretList
	err := l.Client.List(ctx, &list, client.InNamespace("c"))
	return pullsecrets.Pointers(&list), err
}

// keyring is a copier over an API server in memory that counts how often a source is read.
type keyring struct {
	*copier
	reads int
	now   time.Time
}

func newKeyring(t *testing.T, objs ...client.Object) *keyring {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	k := &keyring{now: noon}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objs...).Build()
	live := interceptor.NewClient(c, interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
		if key.Namespace == "ns" {
			k.reads++
		}
		return c.Get(ctx, key, obj, opts...)
	}})
	k.copier = &copier{client: c, live: live, copies: listed{c}, namespace: "c", read: map[sourceKey]finding{}}
	return k
}

func keyedJob(name string, secrets ...string) *v1beta1.ImagePullJob {
	job := &v1beta1.ImagePullJob{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: name, UID: types.UID("uid of " + name), CreationTimestamp: metav1.NewTime(noon),
	}}
	job.Spec.PullSecrets = secrets
	return job
}

// pass is one pass of a job some time after the one before.
func (k *keyring) pass(t *testing.T, job *v1beta1.ImagePullJob, after time.Duration) pullWith {
	t.Helper()
	k.now = k.now.Add(after)
	got, err := k.sync(context.Background(), job, k.now)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func (k *keyring) content(t *testing.T, with pullWith) string {
	t.Helper()
	copied := &corev1.Secret{}
	if err := k.client.Get(context.Background(), client.ObjectKey{Namespace: "c", Name: with.refs[0].Name}, copied); err != nil {
		t.Fatal(err)
	}
	return string(copied.Data["k"])
}

func TestSourcesAreReadOnceInAWhile(t *testing.T) {
	source := sourceSecret()
	k := newKeyring(t, source)
	job := keyedJob("a", "regcred")
	with := k.pass(t, job, 0)
	for range 100 { // passes of a job whose nodes pull
		with = k.pass(t, job, recheck/200)
	}
	if k.reads != 1 || len(with.refs) != 1 || with.wait <= 0 || with.wait > recheck/2 {
		t.Errorf("%d reads, %+v", k.reads, with)
	}

	source.Data = map[string][]byte{"k": []byte("changed")}
	if err := k.client.Update(context.Background(), source); err != nil {
		t.Fatal(err)
	}
	if with = k.pass(t, job, with.wait); k.content(t, with) != "changed" || k.reads != 2 {
		t.Errorf("after %s the copy holds %q, %d reads", recheck, k.content(t, with), k.reads)
	}

	t.Log("what somebody does to a copy is seen by its version, and mended at once")
	copied := &corev1.Secret{}
	if err := k.client.Get(context.Background(), client.ObjectKey{Namespace: "c", Name: with.refs[0].Name}, copied); err != nil {
		t.Fatal(err)
	}
	copied.Data["k"] = []byte("of somebody")
	if err := k.client.Update(context.Background(), copied); err != nil {
		t.Fatal(err)
	}
	if with = k.pass(t, job, 0); k.content(t, with) != "changed" {
		t.Errorf("the copy holds %q", k.content(t, with))
	}

	t.Log("another job for the same Secret reads it for itself: it may be new just now")
	source.Data = map[string][]byte{"k": []byte("again")}
	if err := k.client.Update(context.Background(), source); err != nil {
		t.Fatal(err)
	}
	if with = k.pass(t, keyedJob("b", "regcred"), 0); k.content(t, with) != "again" {
		t.Errorf("the copy holds %q", k.content(t, with))
	}
}

// Who makes a job and its Secret at a time may be seen to have made the job alone.
func TestMissingSourcesAreLookedForSoonAtFirst(t *testing.T) {
	k := newKeyring(t)
	job := keyedJob("a", "regcred")
	var waits []time.Duration
	after := time.Duration(0)
	for range 8 {
		with := k.pass(t, job, after)
		if len(with.missing) != 1 || len(with.refs) != 0 {
			t.Fatalf("%+v", with)
		}
		after = with.wait
		waits = append(waits, after)
	}
	want := []time.Duration{time.Second, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, recheck, recheck, recheck}
	if diff := cmp.Diff(want, waits); diff != "" || k.reads != len(want) {
		t.Errorf("%d reads, %s", k.reads, diff)
	}
	if k.pass(t, job, 0); k.reads != len(want) {
		t.Errorf("a pass in between reads it")
	}
	if err := k.client.Create(context.Background(), sourceSecret()); err != nil {
		t.Fatal(err)
	}
	if with := k.pass(t, job, after); len(with.missing) != 0 || k.content(t, with) != "v" {
		t.Errorf("%+v", with)
	}
}

// A Secret that is not there is not referred to: the reference would be taken away, and written again, for ever.
func TestJobsOfTheNamespaceUseItsSecretsAsTheyAre(t *testing.T) {
	own, token := sourceSecret(), sourceSecret()
	own.Namespace, own.Name = "c", "own"
	token.Namespace, token.Name, token.Type = "c", "token", corev1.SecretTypeServiceAccountToken
	k := newKeyring(t, own, token)
	job := keyedJob("a", "own", "typo", "token")
	job.Namespace = "c"
	with := k.pass(t, job, 5*time.Second)
	want := pullWith{refs: []v1beta1.ReferenceObject{{Namespace: "c", Name: "own"}}, missing: []string{"typo"}, unfit: []string{"token"}, wait: 5 * time.Second}
	if diff := cmp.Diff(want, with, cmp.AllowUnexported(pullWith{})); diff != "" {
		t.Error(diff)
	}
	job.Spec.PullSecrets = []string{"own"}
	if with = k.pass(t, job, 0); len(with.refs) != 1 || with.wait != 0 {
		t.Errorf("all there: %+v", with)
	}
	if err := k.release(context.Background(), job); err != nil {
		t.Error(err)
	}
	if err := k.client.Get(t.Context(), client.ObjectKeyFromObject(own), &corev1.Secret{}); err != nil {
		t.Errorf("released: %v", err)
	}
}

// What is no pull secret is not shown to every agent, and a token that the API server's controllers take away again is not
// made over and over.
func TestSecretsThatAreNoPullSecretsAreNotCopied(t *testing.T) {
	for _, kind := range []corev1.SecretType{corev1.SecretTypeOpaque, corev1.SecretTypeServiceAccountToken, corev1.SecretTypeTLS, "example.com/own", ""} {
		t.Run(string(kind), func(t *testing.T) {
			source := sourceSecret()
			source.Type = kind
			k := newKeyring(t, source)
			job := keyedJob("a", "regcred")
			with := k.pass(t, job, 0)
			for range 10 {
				with = k.pass(t, job, recheck/20)
			}
			if diff := cmp.Diff([]string{"regcred"}, with.unfit); diff != "" || len(with.refs)+len(with.missing) != 0 || k.reads != 1 {
				t.Errorf("%d reads, %+v", k.reads, with)
			}
			if made, err := k.copies.List(t.Context()); err != nil || len(made) != 0 {
				t.Errorf("copied: %v, %v", made, err)
			}
			if err := k.client.Delete(t.Context(), source); err != nil {
				t.Fatal(err)
			}
			fit := sourceSecret()
			fit.Type = corev1.SecretTypeDockercfg
			if err := k.client.Create(t.Context(), fit); err != nil {
				t.Fatal(err)
			}
			if with = k.pass(t, job, with.wait); len(with.unfit) != 0 || k.content(t, with) != "v" {
				t.Errorf("made anew as a pull secret: %+v", with)
			}
		})
	}
}

func TestSecretsThatNodesPullWithoutAreTold(t *testing.T) {
	var out told
	r := &Reconciler{events: &out}
	r.tellKeys(keyedJob("a"), pullWith{missing: []string{"x", "y"}, unfit: []string{"z"}})
	var got []string
	for _, e := range out {
		got = append(got, e.Type+" "+e.Reason+": "+e.Note)
	}
	want := []string{
		"Warning PullSecretNotFound: pull secrets x, y are not there: nodes pull without them",
		"Warning NotAPullSecret: pull secrets z are neither of type kubernetes.io/dockerconfigjson nor kubernetes.io/dockercfg: nodes pull without them",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A pod may name a pull secret that cannot be: workloads take such names over. A client refuses to ask for it, which is
// no reason to try for ever.
func TestNamesThatNoSecretHas(t *testing.T) {
	k := newKeyring(t)
	k.live = interceptor.NewClient(k.client.(client.WithWatch), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			if err := rest.NewRequestWithClient(nil, "", rest.ClientContentConfig{}, nil).Name(key.Name).Error(); err != nil {
				return err
			}
			return c.Get(ctx, key, obj, opts...)
		},
	})
	names := []string{"", "a/b", "..", "a%b"}
	with := k.pass(t, keyedJob("a", names...), 0)
	if diff := cmp.Diff(names, with.missing); diff != "" || len(with.refs) > 0 {
		t.Error(diff, with)
	}
}
