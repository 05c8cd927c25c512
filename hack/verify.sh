#!/usr/bin/env bash
# Copyright The Flotilla Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Regenerates, renders and lints, and fails when a generated file is not what the generators write.
set -euo pipefail
cd "$(dirname "$0")/.."

# generated_sums lists every generated file, tracked or not, with its checksum.
generated_sums() {
  { find generated -type f; find apis -name 'zz_generated.*'; } | sort | xargs sha256sum
}

echo "verify: regenerating"
before=$(generated_sums)
hack/generate.sh
if ! changed=$(diff <(echo "$before") <(generated_sums)); then
  echo "verify: these files were not what the generators write; commit what 'make generate' made of them:" >&2
  echo "$changed" | awk '/^[<>]/ {print "  " $3}' | sort -u >&2
  exit 1
fi
if [[ -n "$(git status --porcelain -- generated)" ]]; then
  echo "verify: generated/ differs from what is committed:" >&2
  git status --short -- generated >&2
  exit 1
fi
echo "verify: module files are tidy"
go mod tidy -diff
echo "verify: using the clients from another module"
go -C hack/consumer mod tidy -diff
go -C hack/consumer vet ./...
go -C hack/consumer test ./...
echo "verify: rendering manifests"
make --no-print-directory render >/dev/null
echo "verify: linting"
make --no-print-directory lint
echo "verify: fine"
