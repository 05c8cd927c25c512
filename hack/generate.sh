#!/usr/bin/env bash
# Copyright The Flotilla Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Regenerates everything that generators write: zz_generated.* beside the types and all of generated/.
# Safe to run at any time; running it twice changes nothing. usage: hack/generate.sh
set -euo pipefail
cd "$(dirname "$0")/.."
shopt -s globstar nullglob

readonly module=github.com/flotilla-sh/flotilla
readonly header=hack/boilerplate.go.txt
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# tool runs a pinned generator and shows what it says only when it fails.
tool() {
  if ! go tool -modfile=go.tools.mod "$@" >"$log" 2>&1; then
    cat "$log" >&2
    echo "generate: $1 failed" >&2
    exit 1
  fi
}

# with_marker prints the folders under apis/ whose doc.go carries the given marker.
with_marker() { grep -lF -- "+$1" apis/**/doc.go | xargs -r -n1 dirname | sort; }

# has_go says whether a folder exists and holds Go files.
has_go() { local files=("$1"/**/*.go); ((${#files[@]})); }

packages() { sed "s|^|$module/|"; }
comma() { paste -sd, -; }

mapfile -t types < <(with_marker k8s:deepcopy-gen=package)
mapfile -t converted < <(with_marker k8s:conversion-gen=)
mapfile -t types_pkgs < <(printf '%s\n' "${types[@]}" | packages)
mapfile -t converted_pkgs < <(printf '%s\n' "${converted[@]}" | packages)

# Beside the types. Old output goes first: a renamed field must not keep a generator from loading the package.
rm -rf generated apis/**/zz_generated.*.go
tool deepcopy-gen --go-header-file $header --output-file zz_generated.deepcopy.go "${types_pkgs[@]}"
tool conversion-gen --go-header-file $header --output-file zz_generated.conversion.go "${converted_pkgs[@]}"

# The clients, each built on the one before.
tool openapi-gen --go-header-file $header --output-dir generated/openapi --output-pkg $module/generated/openapi \
  --output-file zz_generated.openapi.go \
  k8s.io/apimachinery/pkg/apis/meta/v1 k8s.io/apimachinery/pkg/runtime k8s.io/apimachinery/pkg/util/intstr \
  "${types_pkgs[@]}"
# SidecarContainer is a Container with more fields: it needs the configurations of both.
container=$(printf 'k8s.io/api/core/v1.%s:k8s.io/client-go/applyconfigurations/core/v1\n' Container ContainerPort \
  ContainerResizePolicy ContainerRestartRule EnvFromSource EnvVar Lifecycle Probe ResourceRequirements SecurityContext \
  VolumeDevice VolumeMount | comma)
tool applyconfiguration-gen --go-header-file $header --external-applyconfigurations "$container" \
  --output-dir generated/applyconfiguration --output-pkg $module/generated/applyconfiguration "${types_pkgs[@]}"
tool client-gen --go-header-file $header --clientset-name versioned --input-base "$module/apis" \
  --input "$(printf '%s\n' "${types[@]#apis/}" | comma)" \
  --apply-configuration-package $module/generated/applyconfiguration \
  --output-dir generated/clientset --output-pkg $module/generated/clientset
tool lister-gen --go-header-file $header \
  --output-dir generated/listers --output-pkg $module/generated/listers "${types_pkgs[@]}"
tool informer-gen --go-header-file $header --versioned-clientset-package $module/generated/clientset/versioned \
  --listers-package $module/generated/listers \
  --output-dir generated/informers --output-pkg $module/generated/informers "${types_pkgs[@]}"

# The reference of the API, a page for each version of each group. Types that an older version has of the storage
# version are on that one's page.
mkdir -p generated/docs
for dir in "${types[@]}"; do
  group=$(cut -d/ -f2 <<<"$dir")
  tool crd-ref-docs --config hack/apidocs/config.yaml --templates-dir hack/apidocs/templates --renderer markdown \
    --template-value package=$module/apis/"$group"/v1beta1 --template-value page="$group"-v1beta1.md \
    --log-level ERROR --source-path "$dir" --output-path "generated/docs/$group-${dir##*/}.md"
done

# The manifests. Components without markers so far have no folder. kustomize takes whole folders only from
# elsewhere, so each folder lists what is in it.
list_manifests() {
  if [[ -d $1 ]]; then
    (cd "$1" && rm -f kustomization.yaml && "$kustomize" create --autodetect)
  fi
}
kustomize=$(go tool -modfile=go.tools.mod -n kustomize)
tool controller-gen crd:maxDescLen=512 paths=./apis/... output:crd:dir=generated/manifests/crd
list_manifests generated/manifests/crd
for component in hub spoke nodeagent; do
  has_go $component || continue
  marked=(paths=./$component/...)
  [[ $component == nodeagent ]] || marked+=(paths=./internal/kindadmission) # both serve it
  tool controller-gen rbac:roleName=flotilla-$component webhook "${marked[@]}" \
    output:rbac:dir=generated/manifests/rbac/$component output:webhook:dir=generated/manifests/webhook/$component
  list_manifests generated/manifests/rbac/$component
  list_manifests generated/manifests/webhook/$component
done
