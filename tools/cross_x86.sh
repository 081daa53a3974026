#!/bin/sh
# Builds programs for x86-64 Linux, on any Debian machine, that need nothing but a C library (glibc
# 2.36 or newer) where they run, and packs them for the journey.
#
#   tools/cross_x86.sh WORK PACK [TARGET...]
#
# WORK gets the x86-64 libraries (WORK/sysroot, 800 MB) and the build (WORK/build); both are kept, so
# that a second run builds what changed. PACK gets bin.tar.xz with the stripped programs (`kawara`
# unless targets are named), examples/, and run.sh, which tries them out. Needs clang-19, lld-19,
# llvm-19, cmake, ninja, xz and the network; no root, and nothing is installed.
set -eu
[ $# -ge 2 ] || { sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
mkdir -p "$1" "$2"
work=$(CDPATH='' cd -- "$1" && pwd)
pack=$(CDPATH='' cd -- "$2" && pwd)
shift 2
[ $# -gt 0 ] || set -- kawara

# The llvm-19 programs and some libraries are never used: LLVM's list for CMake refuses to load
# without them.
packages="libc6 libc6-dev linux-libc-dev libgcc-s1 libgcc-12-dev libstdc++6 libstdc++-12-dev
  libcrypt1 libcrypt-dev libisl23 libisl-dev libgmp10 libgmp-dev libllvm19 llvm-19-dev llvm-19
  llvm-19-tools llvm-19-linker-tools llvm-19-runtime zlib1g zlib1g-dev libzstd1 libzstd-dev libffi8
  libffi-dev libtinfo6 libncurses-dev libxml2 libxml2-dev libicu72 liblzma5 libedit2 libedit-dev
  libbsd0 libmd0 libz3-4 libz3-dev libcurl4-openssl-dev libfmt9 libfmt-dev libgtest-dev libgmock-dev
  nlohmann-json3-dev libcli11-dev"

# A package list of its own: this machine's stays as it is.
download() {
  mkdir -p "$work/apt/lists/partial" "$work/apt/cache/archives/partial" "$work/debs"
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
    apt-get -qq download $packages)
}

unpack() {
  sysroot=$work/sysroot
  rm -rf "$sysroot"
  mkdir -p "$sysroot"
  for package in "$work"/debs/*.deb; do dpkg -x "$package" "$sysroot"; done
  # Absolute links would lead out of the folder.
  find "$sysroot" -type l | while IFS= read -r link; do
    to=$(readlink "$link")
    case $to in
    /*) ln -snf "$(realpath -m --relative-to="$(dirname "$link")" "$sysroot$to")" "$link" ;;
    esac
  done
  # LLVM names a library of the machine it was built on; code in memory does not need it.
  sed -i 's#/usr/lib/x86_64-linux-gnu/libz3.so##g' \
    "$sysroot/usr/lib/llvm-19/lib/cmake/llvm/LLVMExports.cmake"
}

if [ ! -f "$work/sysroot.stamp" ]; then
  download
  unpack
  : >"$work/sysroot.stamp"
fi

export KW_SYSROOT="$work/sysroot"
cmake -G Ninja -S "$root" -B "$work/build" -DCMAKE_BUILD_TYPE=Release -DKAWARA_STATIC=ON \
  -DCMAKE_TOOLCHAIN_FILE="$root/cmake/x86_64-cross.cmake" \
  -DLLVM_DIR="$KW_SYSROOT/usr/lib/llvm-19/lib/cmake/llvm"
cmake --build "$work/build" --target "$@"

# One archive: the programs share most of their code, which then is packed once.
rm -rf "$work/bin"
mkdir "$work/bin"
for target in "$@"; do
  file=$(find "$work/build" -name "$target" -type f -perm -u+x | head -n 1)
  llvm-strip-19 -o "$work/bin/$target" "$file"
done
tar -C "$work" -cf - bin | xz -T1 --x86 --lzma2=preset=6,dict=256MiB >"$pack/bin.tar.xz"
rm -rf "$pack/examples"
cp -R "$root/examples" "$pack/examples"
cp "$root/tools/cross_x86_try.sh" "$pack/run.sh"
ls -l "$work/bin" "$pack"
