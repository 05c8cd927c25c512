// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package imagepulljob

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/steps"
	"github.com/flotilla-sh/flotilla/spoke/pullsecrets"
)

// recheck is how long what was found of a source holds: copies follow it within that time.
const recheck = 10 * time.Second

// unwatched keeps the client from waiting until its cache shows what it wrote: for that it would watch the Secrets of all
// namespaces, and hold them.
const unwatched = client.DisableReadYourWritesConsistency

// copies shows the Secrets of the namespace that node agents read.
type copies interface {
	List(ctx context.Context) ([]*corev1.Secret, error)
}

// copier keeps the copies of pull secrets. Of sources it keeps nothing but when they were read last, and it asks for
// each by its name: nothing in the spoke has to list Secrets of other namespaces.
type copier struct {
	client client.Client
	// live reads past caches.
	live      client.Reader
	copies    copies
	namespace string

	mu   sync.Mutex
	read map[sourceKey]finding
}

type sourceKey struct {
	job  types.UID
	name string
}

// finding is what there is to know of a source until some time: which copy has its content, in which version, or why it
// has none: it is missing, or no pull secret.
type finding struct {
	until          time.Time
	copy, version  string
	missing, unfit bool
}

// pullWith is what the nodes of a job pull with.
type pullWith struct {
	refs []v1beta1.ReferenceObject
	// missing are Secrets that are not there, unfit those that are no pull secrets.
	missing, unfit []string
	// wait is when to look at the sources again; 0: not.
	wait time.Duration
	// err is why not all Secrets could be copied: no node is asked without them.
	err error
}

// sync makes the copies that a job needs. Secrets of the agents' own namespace are used as they are.
func (c *copier) sync(ctx context.Context, job *v1beta1.ImagePullJob, now time.Time) (out pullWith, err error) {
	if len(job.Spec.PullSecrets) == 0 {
		return out, nil
	}
	there, err := c.copies.List(ctx)
	if err != nil {
		return out, err
	}
	if job.Namespace == c.namespace {
		return c.own(job, there, now), nil
	}
	var errs []error
	for _, name := range job.Spec.PullSecrets {
		found, err := c.follow(ctx, job, name, there, now)
		if err != nil {
			errs = append(errs, fmt.Errorf("pull secret %s: %w", name, err))
			continue
		}
		out.wait = steps.Sooner(out.wait, found.until.Sub(now))
		out.add(name, found, v1beta1.ReferenceObject{Namespace: c.namespace, Name: found.copy, Mode: v1beta1.PullSecretModeBatch})
	}
	return out, errors.Join(errs...)
}

// own is what a job in the agents' namespace pulls with. A Secret that is not there must not be referred to: who cleans
// NodeImages takes such a reference away.
func (c *copier) own(job *v1beta1.ImagePullJob, there []*corev1.Secret, now time.Time) (out pullWith) {
	for _, name := range job.Spec.PullSecrets {
		i := slices.IndexFunc(there, func(s *corev1.Secret) bool { return s.Name == name })
		found := finding{missing: i < 0, unfit: i >= 0 && !isPullSecret(there[i])}
		if found.missing || found.unfit {
			out.wait = patience(job, now)
		}
		out.add(name, found, v1beta1.ReferenceObject{Namespace: c.namespace, Name: name})
	}
	return out
}

// add takes in what was found of a Secret, and what refers to it if nodes can pull with it.
func (p *pullWith) add(name string, found finding, ref v1beta1.ReferenceObject) {
	switch {
	case found.missing:
		p.missing = append(p.missing, name)
	case found.unfit:
		p.unfit = append(p.unfit, name)
	default:
		p.refs = append(p.refs, ref)
	}
}

// follow brings the copy of one Secret up to date, if it is time or if somebody else changed it.
func (c *copier) follow(ctx context.Context, job *v1beta1.ImagePullJob, name string, there []*corev1.Secret, now time.Time) (finding, error) {
	if len(validation.IsDNS1123Subdomain(name)) > 0 { // no Secret is called so, and a client refuses to ask for it
		return finding{missing: true, until: now.Add(recheck)}, nil
	}
	key := sourceKey{job.UID, name}
	c.mu.Lock()
	found := c.read[key]
	c.mu.Unlock()
	if now.Before(found.until) && (found.missing || found.unfit || shows(there, found)) {
		return found, nil
	}
	source := &corev1.Secret{}
	err := c.live.Get(ctx, client.ObjectKey{Namespace: job.Namespace, Name: name}, source)
	if client.IgnoreNotFound(err) != nil {
		return found, err
	}
	switch {
	case apierrors.IsNotFound(err):
		found = finding{missing: true, until: now.Add(patience(job, now))}
	case !isPullSecret(source):
		found = finding{unfit: true, until: now.Add(recheck)}
	default:
		made, err := c.ensure(ctx, source, client.ObjectKeyFromObject(job).String(), there)
		if err != nil {
			return found, err
		}
		found = finding{copy: made.Name, version: made.ResourceVersion, until: now.Add(recheck)}
	}
	c.mu.Lock()
	c.read[key] = found
	c.mu.Unlock()
	return found, nil
}

// patience is how long to wait for a missing Secret. Who makes a job and its Secret together makes it soon: it grows with
// the age of the job.
func patience(job *v1beta1.ImagePullJob, now time.Time) time.Duration {
	return min(max(now.Sub(job.CreationTimestamp.Time), time.Second), recheck)
}

// shows tells whether the copy is as it was found.
func shows(there []*corev1.Secret, found finding) bool {
	return slices.ContainsFunc(there, func(s *corev1.Secret) bool { return s.Name == found.copy && s.ResourceVersion == found.version })
}

// ensure makes or refreshes the copy of a Secret and returns it.
func (c *copier) ensure(ctx context.Context, source *corev1.Secret, job string, copies []*corev1.Secret) (*corev1.Secret, error) {
	key := client.ObjectKeyFromObject(source)
	found := findCopy(copies, key, job)
	for _, salt := range []string{"", "1", "2", "3"} {
		if found != nil {
			return c.refresh(ctx, found, source, job)
		}
		made := copyOf(source, c.namespace, copyName(key, salt), []string{job})
		err := c.client.Create(ctx, made, fieldOwner, unwatched)
		if !apierrors.IsAlreadyExists(err) {
			return made, c.explain(err)
		}
		there := &corev1.Secret{}
		if err := c.live.Get(ctx, client.ObjectKeyFromObject(made), there); err != nil {
			return nil, err
		}
		found = findCopy([]*corev1.Secret{there}, key, job)
	}
	return nil, errors.New("all names for its copy are taken")
}

func (c *copier) refresh(ctx context.Context, found, source *corev1.Secret, job string) (*corev1.Secret, error) {
	if found.Type != source.Type { // it cannot be changed
		err := c.client.Delete(ctx, found, client.Preconditions{UID: &found.UID}, unwatched)
		return nil, errors.Join(client.IgnoreNotFound(err), fmt.Errorf("its type changed to %s: it is copied anew", source.Type))
	}
	changed, differs := refreshed(found, source, job)
	if !differs {
		return found, nil
	}
	return changed, c.patch(ctx, found, changed)
}

// holds says of a job without pull secrets whether it has copies all the same: its list was emptied while no admission
// kept it as it was.
func (c *copier) holds(ctx context.Context, job *v1beta1.ImagePullJob) bool {
	key := client.ObjectKeyFromObject(job).String()
	list, err := c.copies.List(ctx)
	return err == nil && slices.ContainsFunc(list, func(s *corev1.Secret) bool { return isCopy(s) && slices.Contains(references(s), key) })
}

// release takes the job out of the copies; one that no job needs any more is deleted. It reads past the cache: what
// it overlooks would stay for ever.
func (c *copier) release(ctx context.Context, job *v1beta1.ImagePullJob) error {
	if job.Namespace == c.namespace || len(job.Spec.PullSecrets) == 0 && !c.holds(ctx, job) {
		return nil
	}
	c.forget(job)
	list, err := c.all(ctx)
	if err != nil {
		return err
	}
	var errs []error
	key := client.ObjectKeyFromObject(job).String()
	for _, found := range list {
		left := references(found)
		i := slices.Index(left, key)
		if i < 0 || !isCopy(found) {
			continue
		}
		if left = slices.Delete(left, i, i+1); len(left) == 0 {
			err := c.client.Delete(ctx, found, client.Preconditions{UID: &found.UID, ResourceVersion: &found.ResourceVersion}, unwatched)
			errs = append(errs, client.IgnoreNotFound(err))
			continue
		}
		changed := found.DeepCopy()
		setReferences(changed, left)
		errs = append(errs, c.patch(ctx, found, changed))
	}
	return errors.Join(errs...)
}

func (c *copier) forget(job *v1beta1.ImagePullJob) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.read, func(key sourceKey, _ finding) bool { return key.job == job.UID })
}

func (c *copier) patch(ctx context.Context, old, changed *corev1.Secret) error {
	return c.explain(c.client.Patch(ctx, changed, client.MergeFromWithOptions(old, client.MergeFromWithOptimisticLock{}), fieldOwner, unwatched))
}

// explain says of a refused write what is amiss: the namespace, or our role in it, is gone though it was there before.
func (c *copier) explain(err error) error {
	if apierrors.IsForbidden(err) || isNoNamespace(err) {
		return fmt.Errorf("namespace %s cannot be written: %w: %w", c.namespace, pullsecrets.ErrUnreadable, err)
	}
	return err
}

func isNoNamespace(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details != nil && details.Kind == "namespaces"
}

// all are the Secrets beside the agents, past the cache; none when the namespace is gone, and our role with it.
func (c *copier) all(ctx context.Context) ([]*corev1.Secret, error) {
	var list corev1.SecretList
	err := c.live.List(ctx, &list, client.InNamespace(c.namespace))
	switch {
	case err == nil:
		return pullsecrets.Pointers(&list), nil
	case !apierrors.IsForbidden(err):
		return nil, fmt.Errorf("list copied pull secrets: %w", err)
	case apierrors.IsNotFound(c.live.Get(ctx, client.ObjectKey{Name: c.namespace}, &corev1.Namespace{})):
		return nil, nil
	default:
		return nil, fmt.Errorf("namespace %s cannot be read: %w", c.namespace, pullsecrets.ErrUnreadable)
	}
}
