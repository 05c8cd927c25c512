// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package imagepulljob

import (
	"cmp"
	"encoding/hex"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// longestName is how long the name of a Secret may be.
const longestName = 253

// copyName is what the copy of a Secret is called. The same source always gives the same name, so that a copy which a
// cache does not show yet is not made twice; salt tells apart the rare ones that would be called alike.
func copyName(source client.ObjectKey, salt string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(source.String() + salt)) // a hash never fails to write
	suffix := "-" + hex.EncodeToString(h.Sum(nil))[:6]
	name := source.Name
	if most := longestName - len(suffix); len(name) > most {
		name = strings.TrimRight(name[:most], "-.")
	}
	return name + suffix
}

// isPullSecret tells whether nodes can pull with a Secret. Others are never copied: every agent would see what they hold,
// and who keeps Secrets of their type would take the copy for one of its own.
func isPullSecret(secret *corev1.Secret) bool {
	return secret.Type == corev1.SecretTypeDockerConfigJson || secret.Type == corev1.SecretTypeDockercfg
}

// copyOf is the copy of a Secret for these jobs.
func copyOf(source *corev1.Secret, namespace, name string, jobs []string) *corev1.Secret {
	out := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: maps.Clone(source.Labels), Annotations: maps.Clone(source.Annotations)},
		Type:       source.Type, Data: maps.Clone(source.Data),
	}
	if out.Annotations == nil {
		out.Annotations = map[string]string{}
	}
	delete(out.Annotations, corev1.LastAppliedConfigAnnotation) // it may hold the words of the Secret
	out.Annotations[v1beta1.PullSecretSourceKey] = client.ObjectKeyFromObject(source).String()
	out.Annotations[v1beta1.PullSecretModeKey] = v1beta1.PullSecretModeBatch
	setReferences(out, jobs)
	return out
}

// references are the jobs that a copy is for.
func references(secret *corev1.Secret) []string {
	var out []string
	for key := range strings.SplitSeq(secret.Annotations[v1beta1.PullSecretReferencesKey], ",") {
		if key != "" {
			out = append(out, key)
		}
	}
	return out
}

func setReferences(secret *corev1.Secret, jobs []string) {
	jobs = slices.Clone(jobs)
	slices.Sort(jobs)
	if secret.Annotations == nil {
		secret.Annotations = map[string]string{}
	}
	secret.Annotations[v1beta1.PullSecretReferencesKey] = strings.Join(slices.Compact(jobs), ",")
}

// isCopy tells a copy of ours from other Secrets in its namespace.
func isCopy(secret *corev1.Secret) bool { return secret.Annotations[v1beta1.PullSecretSourceKey] != "" }

// findCopy returns the copy of a source: of several, one that the job is in goes first, then the name decides.
func findCopy(copies []*corev1.Secret, source client.ObjectKey, job string) *corev1.Secret {
	var fit []*corev1.Secret
	for _, c := range copies {
		if c.Annotations[v1beta1.PullSecretSourceKey] == source.String() && c.DeletionTimestamp == nil {
			fit = append(fit, c)
		}
	}
	if len(fit) == 0 {
		return nil
	}
	rank := func(c *corev1.Secret) int {
		if slices.Contains(references(c), job) {
			return 0
		}
		return 1
	}
	return slices.MinFunc(fit, func(a, b *corev1.Secret) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Name, b.Name))
	})
}

// refreshed returns the copy with the source's content and the job among its references, and whether that changes it.
func refreshed(found, source *corev1.Secret, job string) (*corev1.Secret, bool) {
	want := copyOf(source, found.Namespace, found.Name, append(references(found), job))
	out := found.DeepCopy()
	out.Data, out.Annotations, out.Labels = want.Data, want.Annotations, want.Labels
	return out, !equality.Semantic.DeepEqual(found.Data, out.Data) || !equality.Semantic.DeepEqual(found.Labels, out.Labels) ||
		!maps.Equal(found.Annotations, out.Annotations)
}
