#!/bin/sh
# Gets ONNX Runtime's shared library from the npm package onnxruntime-node, which carries it for all
# systems: downloads 110 MB, checks them, keeps one file.
#
#   tools/fetch_onnxruntime.sh x86_64|aarch64 FOLDER
#
# FOLDER gets libonnxruntime.so.1. Needs curl or wget, sha512sum and the network; nothing is installed.
set -eu
[ $# -eq 2 ] || { sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
version=1.30.0
sum=b7086cd42d82fc1164cf5c9ce4e634288536194aba0d444eee10f86f1e50d90cb79c0309c115d6f31537355733136f5503d96894b3987a9a03f1f8d318e7c8ab
case $1 in
x86_64) inside=package/bin/napi-v6/linux/x64/libonnxruntime.so.1 ;;
aarch64) inside=package/bin/napi-v6/linux/arm64/libonnxruntime.so.1 ;;
*) echo "no ONNX Runtime for $1" >&2; exit 2 ;;
esac
mkdir -p "$2"
to=$(CDPATH='' cd -- "$2" && pwd)
library=$to/libonnxruntime.so.1
[ ! -f "$library" ] || { echo "$library is there"; exit 0; }
address=https://registry.npmjs.org/onnxruntime-node/-/onnxruntime-node-$version.tgz
part=$to/onnxruntime.part
trap 'rm -f "$part" "$to/libonnxruntime.part"' EXIT
echo "fetching ONNX Runtime $version for $1, 110 MB, from $address"
failed() {
  echo "$address could not be fetched; without certificates: apt-get install ca-certificates" >&2
  exit 1
}
if command -v curl >/dev/null 2>&1; then
  curl -f -# -o "$part" "$address" || failed
elif command -v wget >/dev/null 2>&1; then
  wget -nv -O "$part" "$address" || failed
else
  echo "$0 needs curl or wget: apt-get install curl ca-certificates" >&2
  exit 1
fi
[ "$(sha512sum <"$part" | cut -d' ' -f1)" = "$sum" ] ||
  { echo "$address is not what it was" >&2; exit 1; }
tar -xzOf "$part" "$inside" >"$to/libonnxruntime.part"
mv "$to/libonnxruntime.part" "$library"
echo "$library"
