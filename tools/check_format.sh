#!/bin/sh
# All C++ is as clang-format 14 leaves it; other versions disagree in details, so they are not asked.
# Exit 77 means "skipped".
set -u
cd "$(dirname "$0")/.." || exit 1

formatter=
for candidate in clang-format-14 clang-format; do
  if "$candidate" --version 2>/dev/null | grep -q 'version 14\.'; then
    formatter=$candidate
    break
  fi
done
if [ -z "$formatter" ]; then
  echo "clang-format 14 is not installed: format not checked"
  exit 77
fi

if [ "${1:-}" = --self-test ]; then
  printf 'int  f( ) {return 1;}\n' | "$formatter" --style=file --dry-run -Werror 2>/dev/null && exit 1
  printf 'int f() { return 1; }\n' | "$formatter" --style=file --dry-run -Werror && exit 0
  exit 1
fi

unformatted=$(
  find src include tools tests \( -name '*.h' -o -name '*.cpp' \) -print0 2>/dev/null |
    xargs -0 -r -n 20 "$formatter" --style=file --dry-run 2>&1 |
    sed -n 's/^\([^ :]*\):[0-9]*:[0-9]*: .*/\1/p' | sort -u
)
[ -z "$unformatted" ] && exit 0
echo "not as $formatter leaves them; run $formatter -i on:"
echo "$unformatted"
exit 1
