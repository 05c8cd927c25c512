#!/usr/bin/env bash
# Copyright The Flotilla Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Puts Flotilla's spoke in the place of OpenKruise 1.9's manager in one cluster, and back. docs/from-openkruise.md
# says what happens at each step. Every command can be given again: what is done already is left alone. Nothing here
# deletes a CRD, an object of a user, or a namespace.

set -euo pipefail

usage() {
  cat >&2 <<END
usage: $0 [--yes] [-n NAMESPACE] [-k DIR] [-s DIR] check|switch|back|remove
  check   say what there is, and what will not be acted on
  switch  let the spoke act in the place of OpenKruise's manager
  back    let OpenKruise's manager act again
  remove  delete what is left of OpenKruise's own programs; there is no way back after it
  --yes   do it; without it, switch, back and remove only print their commands
  -n      namespace of OpenKruise (kruise-system)
  -k      kustomization to apply (kustomize/overlays/from-openkruise)
  -s      where OpenKruise's webhook configurations are kept for the way back (./openkruise-saved)
The cluster is that of the current kubeconfig; \$KUBECTL is the kubectl to use.
END
  exit 2
}

root=$(cd "$(dirname "$0")/.." && pwd)
yes='' namespace=kruise-system dir=$root/kustomize/overlays/from-openkruise saved=openkruise-saved command=''
while (($#)); do
  case $1 in
    --yes) yes=1 ;;
    -n | -k | -s)
      (($# > 1)) || usage
      case $1 in -n) namespace=$2 ;; -k) dir=$2 ;; -s) saved=$2 ;; esac
      shift ;;
    check | switch | back | remove) command=$1 ;;
    *) usage ;;
  esac
  shift
done
[[ $command ]] || usage

k() { "${KUBECTL:-kubectl}" "$@"; }
ns() { k -n "$namespace" "$@"; }
# run prints a command, and gives it with --yes.
run() {
  local shown="$* "
  shown=${shown/#ns /kubectl -n $namespace }
  echo "+ ${shown/#k /kubectl }"
  [[ ! $yes ]] || "$@"
}
manager=kruise-controller-manager
configurations=(mutatingwebhookconfiguration/kruise-mutating-webhook-configuration validatingwebhookconfiguration/kruise-validating-webhook-configuration)
# acted_on are the kinds that the spoke has a controller for; hack/manifests sees that it does.
acted_on=' clonesets.apps.kruise.io containerrecreaterequests.apps.kruise.io ephemeraljobs.apps.kruise.io imagelistpulljobs.apps.kruise.io imagepulljobs.apps.kruise.io nodeimages.apps.kruise.io nodepodprobes.apps.kruise.io podprobemarkers.apps.kruise.io podunavailablebudgets.policy.kruise.io resourcedistributions.apps.kruise.io uniteddeployments.apps.kruise.io '

check() {
  ns get deployment "$manager" -o 'jsonpath=OpenKruise: {.spec.replicas} replicas of {.spec.template.spec.containers[0].image}{"\n"}' ||
    { echo "there is no $manager in $namespace: is OpenKruise in another namespace (-n)?" >&2; exit 1; }
  gates
  elsewhere
  local crd
  [[ $(k get crd clonesets.apps.kruise.io -o 'jsonpath={.spec.versions[?(@.storage==true)].name}') == v1beta1 ]] ||
    { echo 'CloneSets are not stored as v1beta1: bring OpenKruise to 1.9 first' >&2; exit 1; }
  for crd in $(k get crd -o name | sed -nE 's#.*/(.*[.](apps|policy)[.]kruise[.]io)$#\1#p'); do
    [[ $acted_on != *" $crd "* ]] || continue
    local count
    count=$(k get "$crd" -A -o name | wc -l)
    ((count == 0)) || echo "$count $crd stay as they are: nothing acts on them after the switch"
  done
}

# gates says what feature gates OpenKruise's manager has been given, and which of its gates are not as ours by default.
gates() {
  local given gate here differ=''
  given=$(ns get deployment "$manager" -o 'go-template={{range .spec.template.spec.containers}}{{range .command}}{{.}} {{end}}{{range .args}}{{.}} {{end}}{{end}}' |
    sed -nE 's/.*--?feature-gates[= ]([^ ]*).*/\1/p')
  echo "feature gates of OpenKruise: ${given:-its defaults}"
  for gate in ${given//,/ }; do
    here=$(sed -nE "s/^\| ${gate%=*} \| (on|off) \|.*/\1/p" "$root/docs/feature-gates.md")
    [[ ${gate,,} == *=true && $here == on || ${gate,,} == *=false && $here == off ]] || differ+=,$gate
  done
  [[ ! $differ ]] || echo "not so here by default; give the spoke the argument --feature-gates=${differ#,} to have it alike"
}

# elsewhere refuses CRDs that are converted at an address: beside it, the API server takes no Service, which ours name.
elsewhere() {
  local found
  found=$(k get crd -o 'jsonpath={range .items[?(@.spec.conversion.webhook.clientConfig.url)]}{.metadata.name}{"\n"}{end}')
  found=$(sed -nE '/[.](apps|policy)[.]kruise[.]io$/p' <<<"$found")
  [[ ! $found ]] || {
    echo "converted at an address: ${found//$'\n'/ }. Take WEBHOOK_HOST out of Deployment $manager, and wait until they name its Service: the manager sees to it within a minute" >&2
    exit 1
  }
}

# save keeps a webhook configuration, without what the API server gave it.
save() {
  local file=$saved/${1##*/}.yaml
  k get "$1" -o name >/dev/null 2>&1 || return 0
  run mkdir -p "$saved"
  echo "+ keep $1 in $file"
  [[ ! $yes ]] || k get "$1" -o json |
    k patch --local -f - --type=json -o yaml -p '[
      {"op": "remove", "path": "/metadata/resourceVersion"}, {"op": "remove", "path": "/metadata/uid"},
      {"op": "remove", "path": "/metadata/creationTimestamp"}, {"op": "remove", "path": "/metadata/generation"}]' >"$file"
}

apply() { run k apply --server-side --force-conflicts --field-manager=flotilla-install -k "$dir" "$@"; }

gone() {
  local labels
  labels=$(ns get deployment "$1" -o 'go-template={{range $k, $v := .spec.selector.matchLabels}}{{$k}}={{$v}},{{end}}')
  run ns wait --for=delete pod -l "${labels%,}" --timeout=2m
}

switch() {
  check
  # The spoke runs, serves and waits for the Lease, while OpenKruise works on.
  apply -l 'internal.kruise.io/apply!=last'
  run ns rollout status deployment/flotilla-spoke --timeout=5m
  # What the API server would refuse of the rest, it says now, when nothing is changed yet.
  apply --dry-run=server
  local each
  for each in "${configurations[@]}"; do
    save "$each"
  done
  # From here to the end it must go fast: the way is short on purpose.
  trap halfway EXIT
  for each in "${configurations[@]}"; do
    run k delete "$each" --ignore-not-found
  done
  run ns scale deployment "$manager" --replicas=0
  apply
  gone "$manager"
  if [[ $yes ]]; then
    acts
    asked
  fi
  trap - EXIT
}

# halfway tells of a switch that has failed when it could no longer be left as it is.
halfway() {
  printf 'switch has failed halfway. Give it again when the cause is gone, or go back with\n  %q' "$0" >&2
  printf ' %q' -n "$namespace" -s "$saved" --yes back >&2
  echo >&2
}

# acts waits until another than OpenKruise's manager holds the Lease: 15 s where that did not give it back.
acts() {
  local holder
  for _ in {1..60}; do
    holder=$(ns get lease kruise-manager -o 'jsonpath={.spec.holderIdentity}')
    [[ $holder && $holder != "$manager"-* ]] && echo "$holder acts" && return
    sleep 1
  done
  echo "nobody took the Lease kruise-manager over from '$holder'" >&2
  return 1
}

# asked waits until the API server asks the spoke about objects: it needs the certificate's authority, which the spoke
# writes into its webhooks once they are there. Until then nobody could make any.
asked() {
  local answer labels='{"app": "flotilla-switched"}'
  local object='{"apiVersion": "apps.kruise.io/v1beta1", "kind": "CloneSet", "metadata": {"name": "flotilla-switched"}, "spec": {
    "selector": {"matchLabels": '$labels'}, "template": {"metadata": {"labels": '$labels'}, "spec": {"containers": [{"name": "app", "image": "app"}]}}}}'
  for _ in {1..60}; do
    answer=$(ns create --dry-run=server -o name -f - <<<"$object" 2>&1) && echo 'its webhooks are asked' && return
    sleep 1
  done
  echo "the API server does not get through to the spoke's webhooks: $answer" >&2
  return 1
}

back() {
  run ns scale deployment flotilla-spoke --replicas=0
  gone flotilla-spoke
  run k delete mutatingwebhookconfiguration,validatingwebhookconfiguration flotilla-spoke --ignore-not-found
  local each
  for each in "${configurations[@]}"; do
    run k apply --server-side --force-conflicts -f "$saved/${each##*/}.yaml"
  done
  run ns scale deployment "$manager" --replicas=2
  run ns rollout status "deployment/$manager" --timeout=5m
}

remove() {
  [[ $(ns get deployment "$manager" -o 'jsonpath={.spec.replicas}' --ignore-not-found) =~ ^0?$ ]] ||
    { echo "$manager still runs: switch first" >&2; exit 1; }
  run ns delete --ignore-not-found daemonset/kruise-daemon "deployment/$manager" service/kruise-webhook-service secret/kruise-webhook-certs
  echo 'left are roles and accounts, which you may delete by name:'
  k get clusterrole,clusterrolebinding -o name | grep kruise- | grep -v flotilla || true
  ns get role,rolebinding,serviceaccount -o name | grep kruise- | grep -v flotilla || true
}

"$command"
[[ $yes || $command == check ]] || echo 'nothing was done: give it again with --yes'
