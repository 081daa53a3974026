#!/bin/sh
# Packs Kawara, its benchmark, examples, some tests, and the libraries to race against, for another
# machine that has nothing but a C library (glibc 2.36 or newer).
#
#   ./kw bundle --arch x86_64|aarch64 -o FILE.tar.xz [--work FOLDER] [--without-peers]
#
# x86_64 is built on any Debian machine, elsewhere than on x86-64 by clang-19 with Debian's amd64
# packages; aarch64 only on an aarch64 machine. FOLDER (build/bundle-ARCH) keeps the packages and the
# build, so that a second run builds what changed; it grows to 2 GB. Needs cmake, ninja, xz, python3,
# clang-19, lld-19, llvm-19, protoc and the network; no root, and nothing is installed.
#
# On the other machine: tar -xf FILE.tar.xz; sh kawara-ARCH/run.sh; kawara-ARCH/bin/bench_cpu
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
usage() { sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
say() { printf 'bundle: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

arch='' file='' work='' with_peers=yes
while [ $# -gt 0 ]; do
  case $1 in
  --arch) arch=${2:-}; shift ;;
  -o) file=${2:-}; shift ;;
  --work) work=${2:-}; shift ;;
  --without-peers) with_peers=no ;;
  *) usage ;;
  esac
  shift
done
[ -n "$file" ] || usage
case $arch in x86_64 | aarch64) ;; *) usage ;; esac
[ "$arch" = "$(uname -m)" ] || [ "$arch" = x86_64 ] || die "$arch is built on $arch machines only"
mkdir -p "${work:=$root/build/bundle-$arch}" "$(dirname -- "$file")"
work=$(CDPATH='' cd -- "$work" && pwd)
file=$(CDPATH='' cd -- "$(dirname -- "$file")" && pwd)/$(basename -- "$file")
limit=40000000

# bin/kawara is the only program: under these names it is others (tools/portable).
names="bench_cpu unit_tests gpu_shapes against_ort triangles oracle"
# The llvm-19 programs and some libraries are never used: LLVM's list for CMake refuses to load
# without them.
packages="libc6 libc6-dev linux-libc-dev libgcc-s1 libgcc-12-dev libstdc++6 libstdc++-12-dev
  libcrypt1 libcrypt-dev libisl23 libisl-dev libgmp10 libgmp-dev libllvm19 llvm-19-dev llvm-19
  llvm-19-tools llvm-19-linker-tools llvm-19-runtime zlib1g zlib1g-dev libzstd1 libzstd-dev libffi8
  libffi-dev libtinfo6 libncurses-dev libxml2 libxml2-dev libicu72 liblzma5 libedit2 libedit-dev
  libbsd0 libmd0 libz3-4 libz3-dev libcurl4-openssl-dev libfmt9 libfmt-dev libgtest-dev libgmock-dev
  nlohmann-json3-dev libcli11-dev libonnx-dev libprotobuf-lite32 libprotobuf-dev
  libsqlite3-0 libsqlite3-dev"
peer_packages="libopenblas0-pthread libgfortran5 libquadmath0 libblis4-openmp libgomp1 libdnnl2
  libdnnl-dev libeigen3-dev ocl-icd-libopencl1"
# Files of these packages that the peers need where they run.
peer_files="openblas-pthread/libopenblas.so.0 blis-openmp/libblis.so.4 libgfortran.so.5
  libquadmath.so.0 libgomp.so.1 libdnnl.so.2 libOpenCL.so.1 libarm_compute.so.20 libarm_compute_core.so.20
  libstdc++.so.6 libgcc_s.so.1"

# Packages into the sysroot, those that are not there yet. With a package list of its own: this
# machine's stays as it is.
make_sysroot() {
  mkdir -p "$work/apt/lists/partial" "$work/apt/cache/archives/partial" "$work/debs" "$work/sysroot"
  wanted=
  for package in $packages $peer_packages; do
    [ -n "$(find "$work/debs" -name "${package}_*.deb" -print -quit)" ] || wanted="$wanted $package"
  done
  [ -n "$wanted" ] || return 0
  say "downloading$wanted"
  : >"$work/apt/status"
  cat >"$work/apt/apt.conf" <<EOF
APT::Architecture "amd64";
APT::Architectures { "amd64"; };
APT::Sandbox::User "";
Dir::State "$work/apt";
Dir::State::lists "$work/apt/lists";
Dir::State::status "$work/apt/status";
Dir::Cache "$work/apt/cache";
EOF
  # shellcheck disable=SC2086
  (cd "$work/debs" && export APT_CONFIG="$work/apt/apt.conf" && apt-get -qq update &&
    apt-get -qq download $wanted)
  for package in $wanted; do
    find "$work/debs" -name "${package}_*.deb" -exec dpkg -x {} "$work/sysroot" \;
  done
  # Absolute links would lead out of the folder.
  find "$work/sysroot" -type l | while IFS= read -r link; do
    to=$(readlink "$link")
    case $to in
    /*) ln -snf "$(realpath -m --relative-to="$(dirname "$link")" "$work/sysroot$to")" "$link" ;;
    esac
  done
  # LLVM names a library of the machine it was built on; code in memory does not need it.
  sed -i 's#/usr/lib/x86_64-linux-gnu/libz3.so##g' \
    "$work/sysroot/usr/lib/llvm-19/lib/cmake/llvm/LLVMExports.cmake"
}

# Before anything is downloaded: all that is missing at once, and what brings it.
need_tools() {
  tools="cmake ninja xz python3 protoc llvm-strip-19"
  [ "$arch" = "$(uname -m)" ] || tools="$tools clang-19 clang++-19 ld.lld-19"
  missing=
  for tool in $tools; do
    command -v "$tool" >/dev/null 2>&1 || missing="$missing $tool"
  done
  [ -z "$missing" ] || die "not installed:$missing; on Debian: apt-get install cmake ninja-build" \
    "xz-utils python3 protobuf-compiler clang-19 lld-19 llvm-19"
}

build_programs() {
  set -- -DCMAKE_BUILD_TYPE=Release -DKAWARA_STATIC=ON -DCMAKE_UNITY_BUILD=ON
  if [ "$arch" != "$(uname -m)" ]; then
    make_sysroot
    export KW_SYSROOT="$work/sysroot"
    set -- "$@" -DCMAKE_TOOLCHAIN_FILE="$root/cmake/x86_64-cross.cmake" \
      -DLLVM_DIR="$KW_SYSROOT/usr/lib/llvm-19/lib/cmake/llvm"
  fi
  cmake -G Ninja -S "$root" -B "$work/build" "$@" >"$work/configure.log" 2>&1 ||
    { cat "$work/configure.log" >&2; die "the build could not be configured"; }
  cmake --build "$work/build" --target kawara_portable bench_cpu_peers >&2
}

# The libraries to race against go where bench_cpu looks for them.
add_peers() {
  mkdir -p "$1"
  for module in "$work"/build/bench/peers/libkawara_peer_*.so; do
    [ ! -f "$module" ] || llvm-strip-19 -o "$1/$(basename "$module")" "$module"
  done
  for name in $peer_files; do
    for place in "${KW_SYSROOT:-}/usr/lib/$arch-linux-gnu" "${KW_SYSROOT:-}/lib/$arch-linux-gnu"; do
      [ ! -f "$place/$name" ] || { cp -L "$place/$name" "$1/"; break; }
    done
  done
  "$root/tools/fetch_onnxruntime.sh" "$arch" "$work/onnxruntime" &&
    cp "$work/onnxruntime/libonnxruntime.so.1" "$1/" || say "ONNX Runtime is left out"
}

need_tools
build_programs
top=$work/kawara-$arch
rm -rf "$top"
mkdir -p "$top/bin"
llvm-strip-19 -o "$top/bin/kawara" "$work/build/tools/portable/kawara_portable"
for name in $names; do ln -s kawara "$top/bin/$name"; done
[ $with_peers = no ] || add_peers "$top/bin/peers"
cp -R "$root/examples" "$top/examples"
cp "$root/tools/bundle_try.sh" "$top/run.sh"
python3 "$root/tools/bundle_contents.py" "$arch" "$top" || die "the bundle would not run"
filter=
[ "$arch" != x86_64 ] || filter=--x86
say "packing"
# One archive, as tight as it gets: a minute or two.
tar -C "$work" -cf - "kawara-$arch" |
  xz -T1 $filter --lzma2=preset=9e,dict=256MiB >"$file.part"
size=$(wc -c <"$file.part")
[ "$size" -le $limit ] || die "$size bytes are more than $limit: leave something out"
mv "$file.part" "$file"
say "$file: $size bytes"
