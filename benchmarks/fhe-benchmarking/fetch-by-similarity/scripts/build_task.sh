#!/bin/sh
# Gives the stages the names and the place that the harness wants: submission/build. Nothing is compiled; the
# program limbwise must be installed (pip install limbwise, or cargo install), or LIMBWISE must name it.
set -eu
cd "$(dirname "$0")/.."
out=${1:-submission/build}
mkdir -p "$out"
shared=submission/common.py
[ -f "$shared" ] || shared=../common/stages.py # in limbwise's own repository; a fork has a copy beside stages.py
cp "$shared" "$out/common.py"
for stage in client_preprocess_dataset client_key_generation client_encode_encrypt_db \
  server_preprocess_dataset client_preprocess_query client_encode_encrypt_query \
  server_encrypted_compute client_decrypt_decode client_postprocess; do
  cp submission/stages.py "$out/$stage"
  chmod +x "$out/$stage"
done
