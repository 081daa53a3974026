#!/bin/sh
# misuse.sh COMPILER INCLUDE: wrong uses of the public interface are errors of the compiler.
set -u
compiler=$1 include=$2
failed=0

# compiles STATEMENTS: those of a function that has a Program p, a Schedule s and an Executable e.
compiles() {
  printf '#include <kawara/kawara.h>\nvoid f(kawara::Program p, kawara::Schedule s, kawara::Executable e) {\n%s\n(void)p; (void)s; (void)e;\n}\n' "$1" |
    "$compiler" -std=c++20 -I"$include" -fsyntax-only -x c++ - 2>&1
}

accepted() {
  if ! said=$(compiles "$1"); then
    echo "must compile: $1"
    echo "$said"
    failed=1
  fi
}

# rejected STATEMENTS WORDS
rejected() {
  if said=$(compiles "$1"); then
    echo "must not compile: $1"
    failed=1
  elif ! printf '%s' "$said" | grep -q "$2"; then
    echo "rejected for another reason than '$2': $1"
    echo "$said"
    failed=1
  fi
}

accepted 's.split("i", 32).parallel("i.0"); float a[4]; e.run({{"A", a}, {"B", (const float*)a}});'
accepted 'std::vector<double> v; const std::vector<int32_t> w; e.run({{"A", v}, {"B", w}}, {{"N", 4}});'
rejected 's.split(32, "i");' 'no matching\|cannot convert\|invalid conversion\|could not convert'
rejected 's.tile("i", 64);' 'no matching\|no viable'
rejected 's.nonesuch("i");' 'no member named\|has no member'
rejected 'long double a[4]; e.run({{"A", a}});' 'no element type of the language'
rejected 'char* names[4]; e.run({{"A", names}});' 'no element type of the language'
rejected 'bool ok = s.check("auto"); (void)ok;' 'convert\|conversion'
rejected 'kawara::Program q;' 'no matching\|no default'
exit $failed
