#!/bin/sh
# Tries out what `./kw bundle` packed, on the machine it was carried to: what the machine is, every
# example against the interpreter, a matrix product's speed, the unit tests, a few cases of the
# benchmark. One line per check; ends with the number of failures, which is also the exit code.
#
#   sh run.sh
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
to=$here
PATH=$to/bin:$PATH
examples=$here/examples
log=${TMPDIR:-/tmp}/kawara-bundle.$$.log
failures=0

# try NAME COMMAND...: one line when it succeeds, the end of its output when it fails.
try() {
  name=$1
  shift
  if timeout 300 "$@" >"$log" 2>&1; then
    echo "ok    $name  $(tail -n 1 "$log")"
  else
    echo "FAIL  $name  (exit code $?)"
    tail -n 12 "$log"
    failures=$((failures + 1))
  fi
}

# timed NAME COMMAND...: the whole output.
timed() {
  echo "-- $1"
  shift
  timeout 300 "$@" 2>&1 || failures=$((failures + 1))
}

sizes_of() {
  case $1 in
  add) echo N=2500 ;;
  attention) echo N=40,D=33 ;;
  blur) echo H=70,W=37 ;;
  conv2d) echo L=2,C=17,H=9,W=6,K=18,R=3,S=2 ;;
  gemm | gemm_bf16 | gemm_i8 | gemm_relu) echo M=70,N=133,K=67 ;;
  jacobi1d) echo T=37,N=300 ;;
  maxpool) echo L=2,C=4,H=8,W=8 ;;
  coalesce) echo M=40,N=33 ;;
  walk) ;;
  *) echo N=40 ;;
  esac
}

timed machine kawara machine
for file in "$examples"/*.kw; do
  example=$(basename "$file" .kw)
  sizes=$(sizes_of "$example")
  # shellcheck disable=SC2086
  {
    try "$example" kawara run "$file" ${sizes:+-p $sizes} --check
    try "$example, auto" kawara run "$file" ${sizes:+-p $sizes} -s auto --check
  }
done
for file in "$examples"/schedules/*.sched; do
  name=$(basename "$file" .sched)
  example=$name
  while [ ! -f "$examples/$example.kw" ]; do
    case $example in *_*) example=${example%_*} ;; *) break ;; esac
  done
  sizes=$(sizes_of "$example")
  # shellcheck disable=SC2086
  try "$name.sched" kawara run "$examples/$example.kw" ${sizes:+-p $sizes} -s "@$file" --check
done
for test in "$to"/bin/unit_*; do
  [ -x "$test" ] && try "$(basename "$test")" "$test" --gtest_brief=1
done
[ -x "$to/bin/oracle" ] && try oracle oracle --seeds 1..40 --sequences 5
square=M=1024,N=1024,K=1024
timed "matrix product 1024, auto, 1 thread" \
  env KAWARA_THREADS=1 kawara bench "$examples/gemm.kw" -p $square -s auto
timed "matrix product 1024, auto, all threads" kawara bench "$examples/gemm.kw" -p $square -s auto
timed "matrix product 1024, source order, 1 thread" \
  env KAWARA_THREADS=1 kawara bench "$examples/gemm.kw" -p $square
timed "benchmark, a few cases" bench_cpu --quick --filter 512,512 --threads 1
rm -f "$log"
echo "$failures failed"
exit "$failures"
