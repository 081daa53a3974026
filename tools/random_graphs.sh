#!/bin/sh
# random_graphs.sh [COUNT] [FROM]: checks random graphs against the reference interpreter, on all cores. Each EVERYth (10, from
# the environment) is compiled, which takes a hundred times as long as to interpret it before and after all passes.
# Mismatches are made small and written to random_graphs/.
set -eu
count=${1:-100000} from=${2:-1000000} build=${BUILD:-build} every=${EVERY:-10}
mkdir -p random_graphs
jobs=$(nproc)
each=$(((count + jobs - 1) / jobs))
seq 0 $((jobs - 1)) | KAWARA_THREADS=1 xargs -P "$jobs" -I{} sh -c \
  "$build/tests/model/random_graphs \$(($from + {} * $each)) $each $every random_graphs"
