#!/bin/sh
# export.sh KAWARA MODEL: a graph that `kawara show` writes is the graph that it shows, before and after the passes.
set -eu
kawara=$1 model=$2
[ -f "$model" ] || exit 77
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for stage in graph optimised; do
  "$kawara" show "$model" --stage $stage --onnx "$folder/again.onnx" | grep -v '^#' >"$folder/shown"
  "$kawara" show "$folder/again.onnx" --stage graph >"$folder/again"
  cmp "$folder/shown" "$folder/again"
done
! "$kawara" show "$model" --stage graph --onnx "$folder/none/again.onnx" >/dev/null 2>"$folder/refused"
grep -q 'error\[K0425\]' "$folder/refused"
