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
