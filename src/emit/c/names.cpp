#include "emit/c/expr.h"

#include <array>

namespace kawara::emit {
namespace {

constexpr std::array kReserved = {
    "auto",     "break",    "case",   "char",     "const",    "continue", "default",  "do",
    "double",   "else",     "enum",   "extern",   "float",    "for",      "goto",     "if",
    "inline",   "int",      "long",   "register", "restrict", "return",   "short",    "signed",
    "sizeof",   "static",   "struct", "switch",   "typedef",  "union",    "unsigned", "void",
    "volatile", "while",    "bool",   "true",     "false",    "main",     "abort",    "malloc",
    "free",     "memset",   "size_t", "int64_t",  "int32_t",  "int16_t",  "int8_t",   "uint8_t",
    "uint16_t", "uint32_t", "exp",    "log",      "sqrt",     "tanh",     "erf",      "sin",
    "cos",      "floor",    "ceil",   "rint",     "pow",      "fabs",     "fmin",     "fmax",
    "j0",       "j1",       "jn",     "y0",       "y1",       "yn",       "gamma",    "signgam",
    "asm",      "inf",      "nan",    "INFINITY", "NAN",      "NULL",     "linux",    "unix"};

/// Functions that the included headers declare: a function of the same name would not compile.
constexpr std::array kLibrary = {
    "abs",       "labs",      "llabs",     "div",    "ldiv",   "lldiv",  "atof",   "atoi",
    "atol",      "atoll",     "strtod",    "strtof", "strtol", "exit",   "atexit", "rand",
    "srand",     "calloc",    "realloc",   "alloca", "getenv", "system", "qsort",  "bsearch",
    "random",    "srandom",   "select",    "index",  "rindex", "memchr", "memcmp", "memcpy",
    "memmove",   "bcmp",      "bcopy",     "bzero",  "strcat", "strchr", "strcmp", "strcpy",
    "strlen",    "strncmp",   "strncpy",   "strstr", "strtok", "acos",   "asin",   "atan",
    "atan2",     "tan",       "cosh",      "sinh",   "acosh",  "asinh",  "atanh",  "cbrt",
    "copysign",  "drem",      "erfc",      "exp2",   "exp10",  "expm1",  "fdim",   "finite",
    "fma",       "fmod",      "frexp",     "hypot",  "ilogb",  "ldexp",  "lgamma", "llrint",
    "llround",   "log10",     "log1p",     "log2",   "logb",   "lrint",  "lround", "modf",
    "nearbyint", "nextafter", "remainder", "remquo", "round",  "scalb",  "scalbn", "significand",
    "tgamma",    "trunc"};

class Spelling {
public:
  Spelling() : used_(kReserved.begin(), kReserved.end()) {
    used_.insert(kLibrary.begin(), kLibrary.end());
  }

  std::string operator()(std::string name) {
    while (name.starts_with("kw_") || !used_.insert(name).second)
      name = name.starts_with("kw_") ? "v" + name : name + "_";
    return name;
  }

private:
  std::set<std::string> used_;
};

} // namespace

CNames c_names_of(const kernel::Kernel& kernel, const std::string& function) {
  Spelling spell;
  CNames names;
  names.function = spell(function.empty() ? kernel.name : function);
  for (const auto& p : kernel.params)
    names.params.push_back(spell(p.name));
  for (const auto& b : kernel.buffers)
    names.buffers.push_back(spell(b.name));
  for (const auto& v : kernel.variables)
    names.variables.push_back(spell(v.name));
  return names;
}

} // namespace kawara::emit
