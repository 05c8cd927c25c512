// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package kindadmission

import (
	"context"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/apis/podtemplate"
	"github.com/flotilla-sh/flotilla/internal/features"
	"github.com/flotilla-sh/flotilla/internal/webhookserver"
)

// Webhooks are the admission webhooks of all kinds, by path.
func Webhooks(scheme *runtime.Scheme, f Facts) map[string]*admission.Webhook {
	out := map[string]*admission.Webhook{}
	for _, group := range []func(*runtime.Scheme, Facts) map[string]*admission.Webhook{
		workloadWebhooks, sidecarWebhooks, operationWebhooks, domainWebhooks, rolloutWebhooks,
	} {
		maps.Copy(out, group(scheme, f))
	}
	return out
}

// rules wraps a pure validation.
func rules[T client.Object](validate func(old, obj T) field.ErrorList) webhookserver.Rules[T] {
	return func(_ context.Context, old, obj T) (admission.Warnings, field.ErrorList, error) {
		return nil, validate(old, obj), nil
	}
}

// warned adds warnings of what an object says, unless it said so before.
func warned[T client.Object](about func(obj T) []string, rules webhookserver.Rules[T]) webhookserver.Rules[T] {
	return func(ctx context.Context, old, obj T) (admission.Warnings, field.ErrorList, error) {
		warnings, problems, err := rules(ctx, old, obj)
		more := about(obj)
		if len(more) > 0 && !isNil(old) && slices.Equal(about(old), more) {
			more = nil
		}
		return append(warnings, more...), problems, err
	}
}

func isNil[T client.Object](obj T) bool { return reflect.ValueOf(obj).IsNil() }

// with wraps a pure validation that needs facts besides the object.
func with[T client.Object, F any](
	read func(ctx context.Context, obj T) (F, error), validate func(old, obj T, facts F) field.ErrorList,
) webhookserver.Rules[T] {
	return func(ctx context.Context, old, obj T) (admission.Warnings, field.ErrorList, error) {
		facts, err := read(ctx, obj)
		if err != nil {
			return nil, nil, err
		}
		return nil, validate(old, obj, facts), nil
	}
}

// defaultOptions fill templates only where they changed, and not at all with TemplateNoDefaults.
func defaultOptions(templateChanged bool) appsv1beta1.DefaultOptions {
	return appsv1beta1.DefaultOptions{
		Templates:   templateChanged && !features.Enabled(features.TemplateNoDefaults),
		PodTemplate: podtemplate.Options{HostPorts: features.Enabled(features.DefaultHostNetworkHostPortsInPodTemplates)},
	}
}
