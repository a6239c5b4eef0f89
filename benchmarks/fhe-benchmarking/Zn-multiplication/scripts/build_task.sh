#!/bin/sh
# Gives the stages the names and the place that the harness wants: submission/target/release. Nothing is compiled; the
# program limbwise must be installed (pip install limbwise, or cargo install), or LIMBWISE must name it.
set -eu
cd "$(dirname "$0")/.."
out=${1:-submission/target/release}
mkdir -p "$out"
shared=submission/common.py
[ -f "$shared" ] || shared=../common/stages.py # in limbwise's own repository; a fork has a copy beside stages.py
cp "$shared" "$out/common.py"
for stage in client_key_generation client_preprocess_input client_encode_encrypt_input \
  server_encrypted_compute client_decrypt_decode client_postprocess; do
  cp submission/stages.py "$out/$stage"
  chmod +x "$out/$stage"
done
