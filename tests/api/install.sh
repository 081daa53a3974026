#!/bin/sh
# install.sh CMAKE BUILD EXAMPLE COMPILER MODEL: installs Kawara into a fresh folder, builds the examples
# against it as a project of its own, and runs them, those for models on MODEL where there is one.
set -eu
cmake=$1 build=$2 example=$3 compiler=$4 model=$5
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$cmake" --install "$build" --component kawara --prefix "$folder/installed" >/dev/null
"$cmake" -G Ninja -S "$example" -B "$folder/build" -DCMAKE_PREFIX_PATH="$folder/installed" \
  -DCMAKE_CXX_COMPILER="$compiler" >/dev/null
"$cmake" --build "$folder/build" >/dev/null
"$folder/build/matrix_product"
"$folder/installed/bin/kawara" | grep -q '^  estimate '
"$folder/installed/bin/kawara" help estimate | grep -q -- '--replay'
"$folder/installed/bin/kawara" --version | grep -q '^kawara [0-9.]* (LLVM '
grep -q '^\.TH KAWARA 1' "$folder/installed/share/man/man1/kawara.1"
# What a shell offers after `kawara es` and after `kawara estimate --rep`.
offered() {
  bash -c '. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _kawara; echo "${COMPREPLY[*]}"' bash \
    "$folder/installed/share/bash-completion/completions/kawara" "$@"
}
[ "$(offered kawara es)" = estimate ]
[ "$(offered kawara estimate --rep)" = --replay ]
[ -f "$model" ] || exit 0
"$folder/build/run_model" "$model" "$folder/model.kwx" >"$folder/from_onnx"
"$folder/build/run_model" "$folder/model.kwx" >"$folder/from_kwx"
cmp "$folder/from_onnx" "$folder/from_kwx"
"$folder/build/run_model_c" "$model" >"$folder/c_from_onnx"
"$folder/build/run_model_c" "$folder/model.kwx" >"$folder/c_from_kwx"
cmp "$folder/c_from_onnx" "$folder/c_from_kwx"
cat "$folder/from_kwx" "$folder/c_from_kwx"
! "$folder/build/run_model_c" "$folder/from_kwx" 2>"$folder/refused"
grep -q 'error\[K0501\]' "$folder/refused"
