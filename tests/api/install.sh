#!/bin/sh
# install.sh CMAKE BUILD EXAMPLE COMPILER: installs Kawara into a fresh folder, builds the example
# against it as a project of its own, and runs it.
set -eu
cmake=$1 build=$2 example=$3 compiler=$4
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$cmake" --install "$build" --component kawara --prefix "$folder/installed" >/dev/null
"$cmake" -G Ninja -S "$example" -B "$folder/build" -DCMAKE_PREFIX_PATH="$folder/installed" \
  -DCMAKE_CXX_COMPILER="$compiler" >/dev/null
"$cmake" --build "$folder/build" >/dev/null
"$folder/build/matrix_product"
