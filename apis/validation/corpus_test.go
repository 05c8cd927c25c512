// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	rolloutsv1alpha1 "github.com/flotilla-sh/flotilla/apis/rollouts/v1alpha1"
	rolloutsv1beta1 "github.com/flotilla-sh/flotilla/apis/rollouts/v1beta1"
)

// corpus are all functions that fill in, complete and validate objects, by folder and name.
var corpus = map[string]any{
	"apps/v1alpha1.DefaultConfigMapSet":              v1alpha1.DefaultConfigMapSet,
	"apps/v1alpha1.DefaultDaemonSet":                 v1alpha1.DefaultDaemonSet,
	"apps/v1alpha1.DefaultCloneSet":                  v1alpha1.DefaultCloneSet,
	"apps/v1alpha1.DefaultEphemeralJob":              v1alpha1.DefaultEphemeralJob,
	"apps/v1alpha1.DefaultSidecarSet":                v1alpha1.DefaultSidecarSet,
	"apps/v1alpha1.DefaultImagePullJob":              v1alpha1.DefaultImagePullJob,
	"apps/v1alpha1.DefaultNewImagePullJob":           v1alpha1.DefaultNewImagePullJob,
	"apps/v1alpha1.DefaultImageListPullJob":          v1alpha1.DefaultImageListPullJob,
	"apps/v1alpha1.DefaultNodeImage":                 v1alpha1.DefaultNodeImage,
	"apps/v1alpha1.DefaultContainerRecreateRequest":  v1alpha1.DefaultContainerRecreateRequest,
	"apps/v1alpha1.CompleteContainerRecreateRequest": v1alpha1.CompleteContainerRecreateRequest,
	"apps/v1beta1.DefaultAdvancedCronJob":            v1beta1.DefaultAdvancedCronJob,
	"apps/v1beta1.DefaultBroadcastJob":               v1beta1.DefaultBroadcastJob,
	"apps/v1beta1.DefaultDaemonSet":                  v1beta1.DefaultDaemonSet,
	"apps/v1beta1.DefaultDaemonSetUpdateStrategy":    v1beta1.DefaultDaemonSetUpdateStrategy,
	"apps/v1beta1.DefaultCloneSet":                   v1beta1.DefaultCloneSet,
	"apps/v1beta1.DefaultUnitedDeployment":           v1beta1.DefaultUnitedDeployment,
	"apps/v1beta1.DefaultUnitedDeploymentSpec":       v1beta1.DefaultUnitedDeploymentSpec,
	"apps/v1beta1.DefaultStoredUnitedDeploymentSpec": v1beta1.DefaultStoredUnitedDeploymentSpec,
	"apps/v1beta1.DefaultImagePullJob":               v1beta1.DefaultImagePullJob,
	"apps/v1beta1.DefaultImagePullJobSpec":           v1beta1.DefaultImagePullJobSpec,
	"apps/v1beta1.DefaultImageListPullJob":           v1beta1.DefaultImageListPullJob,
	"apps/v1beta1.DefaultImageListPullJobSpec":       v1beta1.DefaultImageListPullJobSpec,
	"apps/v1beta1.DefaultNodeImage":                  v1beta1.DefaultNodeImage,
	"apps/v1beta1.DefaultImageTags":                  v1beta1.DefaultImageTags,
	"apps/v1beta1.DefaultContainerRecreateRequest":   v1beta1.DefaultContainerRecreateRequest,
	"apps/v1beta1.CompleteContainerRecreateRequest":  v1beta1.CompleteContainerRecreateRequest,
	"apps/v1beta1.DefaultSidecarSet":                 v1beta1.DefaultSidecarSet,
	"apps/v1beta1.DefaultStatefulSet":                v1beta1.DefaultStatefulSet,
	"rollouts/v1alpha1.DefaultRollout":               rolloutsv1alpha1.DefaultRollout,
	"rollouts/v1alpha1.DefaultTrafficRouting":        rolloutsv1alpha1.DefaultTrafficRouting,
	"rollouts/v1beta1.DefaultRollout":                rolloutsv1beta1.DefaultRollout,
	"rollouts/v1beta1.DefaultTrafficRoutings":        rolloutsv1beta1.DefaultTrafficRoutings,
	"rollouts/v1beta1.DefaultHeaders":                rolloutsv1beta1.DefaultHeaders,
	"validation.ValidateAdvancedCronJob":             ValidateAdvancedCronJob,
	"validation.ValidateBroadcastJob":                ValidateBroadcastJob,
	"validation.ValidateCloneSet":                    ValidateCloneSet,
	"validation.ValidateOldCloneSet":                 ValidateOldCloneSet,
	"validation.ValidatePodsToDelete":                ValidatePodsToDelete,
	"validation.ValidateConfigMapSet":                ValidateConfigMapSet,
	"validation.ValidateConfigMapSetHistory":         ValidateConfigMapSetHistory,
	"validation.ValidateReloadSidecar":               ValidateReloadSidecar,
	"validation.ValidateConfigMapSetDeletion":        ValidateConfigMapSetDeletion,
	"validation.ValidateContainerRecreateRequest":    ValidateContainerRecreateRequest,
	"validation.ValidateOldContainerRecreateRequest": ValidateOldContainerRecreateRequest,
	"validation.ValidateContainerRecreateRequestPod": ValidateContainerRecreateRequestPod,
	"validation.ValidateDaemonSet":                   ValidateDaemonSet,
	"validation.ValidateOldDaemonSet":                ValidateOldDaemonSet,
	"validation.ValidateEphemeralJob":                ValidateEphemeralJob,
	"validation.ValidateFleetPlacement":              ValidateFleetPlacement,
	"validation.ValidateUnitedDeploymentOnHub":       ValidateUnitedDeploymentOnHub,
	"validation.ValidateImagePullJob":                ValidateImagePullJob,
	"validation.ValidateOldImagePullJob":             ValidateOldImagePullJob,
	"validation.ValidateImageListPullJob":            ValidateImageListPullJob,
	"validation.ValidateOldImageListPullJob":         ValidateOldImageListPullJob,
	"validation.ValidateNodeImage":                   ValidateNodeImage,
	"validation.ValidateOldNodeImage":                ValidateOldNodeImage,
	"validation.ValidatePersistentPodState":          ValidatePersistentPodState,
	"validation.ValidatePodProbeMarker":              ValidatePodProbeMarker,
	"validation.ValidatePodUnavailableBudget":        ValidatePodUnavailableBudget,
	"validation.ValidateOldPodUnavailableBudget":     ValidateOldPodUnavailableBudget,
	"validation.ValidateResourceDistribution":        ValidateResourceDistribution,
	"validation.ValidateOldResourceDistribution":     ValidateOldResourceDistribution,
	"validation.ValidateRollout":                     ValidateRollout,
	"validation.ValidateOldRollout":                  ValidateOldRollout,
	"validation.ValidateTrafficRouting":              ValidateTrafficRouting,
	"validation.ValidateBatchRelease":                ValidateBatchRelease,
	"validation.ValidateOldBatchRelease":             ValidateOldBatchRelease,
	"validation.ValidateSidecarSet":                  ValidateSidecarSet,
	"validation.ValidateOldSidecarSet":               ValidateOldSidecarSet,
	"validation.ValidateStatefulSet":                 ValidateStatefulSet,
	"validation.ValidateUnitedDeployment":            ValidateUnitedDeployment,
	"validation.ValidateWorkloadSpread":              ValidateWorkloadSpread,
	"validation.ValidateOldWorkloadSpread":           ValidateOldWorkloadSpread,
	"validation.ValidateWorkloadSpreadOnHub":         ValidateWorkloadSpreadOnHub,
	"validation.ValidateOldWorkloadSpreadOnHub":      ValidateOldWorkloadSpreadOnHub,
}

// TestBareObjectsCrashNothing: every function takes objects in which nothing is set, or only what is required, or
// everything, but to nothing.
func TestBareObjectsCrashNothing(t *testing.T) {
	for name, function := range corpus {
		t.Run(name, func(t *testing.T) {
			call := reflect.ValueOf(function)
			each(call.Type(), nil, func(arguments []reflect.Value) { call.Call(arguments) })
		})
	}
}

// each makes arguments for a function in every combination.
func each(function reflect.Type, so []reflect.Value, do func([]reflect.Value)) {
	at := len(so)
	if at == function.NumIn() {
		do(so)
		return
	}
	kind := function.In(at)
	if isObject(kind) && at+1 < function.NumIn() && function.In(at+1) == kind {
		each(function, append(so, reflect.Zero(kind)), do) // the object is new
	}
	for _, fill := range []filling{nothing, required, all} {
		each(function, append(so, fill.make(kind)), do)
	}
}

func isObject(kind reflect.Type) bool {
	return kind.Implements(reflect.TypeFor[metav1.Object]())
}

// filling says which fields are there. Numbers are 0 and texts empty, and what is optional says yes.
type filling int

const (
	nothing filling = iota
	required
	all
)

// make makes a value; pointers to it are never nil.
func (f filling) make(kind reflect.Type) reflect.Value {
	out := reflect.New(kind).Elem()
	if kind.Kind() == reflect.Pointer {
		out.Set(reflect.New(kind.Elem()))
		f.fill(out.Elem(), 0)
		return out
	}
	f.fill(out, 0)
	return out
}

// deepest is enough for probes of containers of templates of templates.
const deepest = 20

func (f filling) fill(value reflect.Value, depth int) {
	if f == nothing || depth > deepest {
		return
	}
	switch value.Kind() {
	case reflect.Pointer:
		value.Set(reflect.New(value.Type().Elem()))
		f.fill(value.Elem(), depth+1)
	case reflect.Slice:
		value.Set(reflect.MakeSlice(value.Type(), 1, 1))
		f.fill(value.Index(0), depth+1)
	case reflect.Map:
		element := reflect.New(value.Type().Elem()).Elem()
		f.fill(element, depth+1)
		value.Set(reflect.MakeMap(value.Type()))
		value.SetMapIndex(reflect.New(value.Type().Key()).Elem(), element)
	case reflect.Bool:
		value.SetBool(true)
	case reflect.Struct:
		for i := range value.NumField() {
			optional := strings.Contains(value.Type().Field(i).Tag.Get("json"), "omit")
			if value.Field(i).CanSet() && (f == all || !optional) {
				f.fill(value.Field(i), depth+1)
			}
		}
	}
}

// TestCorpusIsWhole: no function is left out.
func TestCorpusIsWhole(t *testing.T) {
	left := map[string]bool{}
	for name := range corpus {
		left[name] = true
	}
	for _, folder := range []string{"apps/v1alpha1", "apps/v1beta1", "policy/v1alpha1", "policy/v1beta1", "rollouts/v1alpha1", "rollouts/v1beta1", "validation"} {
		for _, name := range functions(t, folder) {
			if corpus[folder+"."+name] == nil {
				t.Errorf("%s.%s is not in the corpus", folder, name)
			}
			delete(left, folder+"."+name)
		}
	}
	for name := range left {
		t.Errorf("there is no %s", name)
	}
}

// functions names the functions of a folder that fill in, complete or validate.
func functions(t *testing.T, folder string) []string {
	t.Helper()
	files, err := filepath.Glob("../" + folder + "/*.go")
	if err != nil {
		t.Fatal(err)
	}
	wanted := regexp.MustCompile(`^(Default|Complete|Validate)[A-Z]`)
	var out []string
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, declaration := range file.Decls {
			if function, is := declaration.(*ast.FuncDecl); is && function.Recv == nil && wanted.MatchString(function.Name.Name) {
				out = append(out, function.Name.Name)
			}
		}
	}
	return out
}
