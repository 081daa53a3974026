#!/bin/sh
# hostile_models.sh [COUNT] [FROM]: damages models and tries to run them, on all cores. What crashes,
# hangs or gives no proper error is written to hostile_models/.
set -eu
count=${1:-100000} from=${2:-1000000} build=${BUILD:-build}
cases=${CASES:-/usr/share/libonnx-testdata/data}
mkdir -p hostile_models
jobs=$(nproc)
each=$(((count + jobs - 1) / jobs))
seq 0 $((jobs - 1)) | xargs -P "$jobs" -I{} sh -c \
  "$build/tests/model/hostile_models $cases \$(($from + {} * $each)) $each hostile_models"
