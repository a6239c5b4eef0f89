#!/usr/bin/env bash
# Builds the program twice, in two copies of the tree and with two target folders, and compares the hashes of the binaries.
# Takes two release builds. Paths are the only thing of a folder that gets into a binary, those of code that build
# scripts write into the target folder among them: they are replaced by one name.
set -euo pipefail
cd "$(dirname "$0")/.."

place=$(mktemp -d "${TMPDIR:-/tmp}/limbwise-reproducible-XXXXXX")
trap 'rm -rf "$place"' EXIT
registry=${CARGO_HOME:-$HOME/.cargo}
for copy in one another-name; do
  mkdir "$place/$copy"
  git archive HEAD | tar -x -C "$place/$copy"
  (
    cd "$place/$copy"
    remap="--remap-path-prefix=$place/$copy=/limbwise --remap-path-prefix=$place/$copy-target=/target"
    export RUSTFLAGS="$remap --remap-path-prefix=$registry=/cargo"
    export CARGO_TARGET_DIR="$place/$copy-target" CARGO_INCREMENTAL=0 SOURCE_DATE_EPOCH=0
    cargo build --release --locked -p limbwise-cli --bin limbwise
  )
  sha256sum "$place/$copy-target/release/limbwise" | cut -d' ' -f1 >"$place/$copy.sha256"
  rm -rf "$place/$copy-target"
done
echo "one: $(cat "$place/one.sha256"), another: $(cat "$place/another-name.sha256")"
cmp -s "$place/one.sha256" "$place/another-name.sha256" || { echo "the two builds differ" >&2; exit 1; }
echo "the two builds are the same"
