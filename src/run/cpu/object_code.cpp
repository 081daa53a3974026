#include "run/cpu/object_code.h"

#include <cmath>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)
// The compiler's own, for processors without instructions that convert f16. A program that has them
// inside shows them to nobody.
extern "C" {
void __extendhfsf2();
void __extendhfdf2();
void __truncsfhf2();
void __truncdfhf2();
}
#endif

namespace kawara::run {
namespace {

#if defined(__aarch64__)
constexpr Elf64_Half kMachine = EM_AARCH64;
/// Jumps to the address behind it: ldr x16, #8; br x16.
constexpr unsigned char kJump[8] = {0x50, 0x00, 0x00, 0x58, 0x00, 0x02, 0x1f, 0xd6};
#elif defined(__x86_64__)
constexpr Elf64_Half kMachine = EM_X86_64;
/// jmp *2(%rip), and two bytes that are never run.
constexpr unsigned char kJump[8] = {0xff, 0x25, 0x02, 0x00, 0x00, 0x00, 0x90, 0x90};
#else
constexpr Elf64_Half kMachine = EM_NONE;
constexpr unsigned char kJump[8] = {};
#endif
constexpr uint64_t kJumpBytes = 16; ///< with the address
constexpr uint64_t kMostBytes = uint64_t{1} << 28;

/// A relocation: where it is, what it refers to, and where that symbol's address and a jump to it
/// lie.
struct Fix {
  std::byte* at;
  uint64_t place;  ///< the address of `at`
  uint64_t symbol; ///< its address
  uint64_t addend; ///< what is added to it
  uint64_t jump;   ///< to the symbol, near enough for any call
  bool is_near;    ///< the symbol is in the same memory
  uint64_t value() const { return symbol + addend; }
  uint64_t pointer() const { return jump + sizeof kJump; } ///< to an element that holds the address
  uint64_t called() const { return (is_near ? symbol : jump) + addend; }
};

template <class T> void store(const Fix& fix, T value) {
  std::memcpy(fix.at, &value, sizeof value);
}

#if defined(__aarch64__)

uint32_t instruction_at(const Fix& fix) {
  uint32_t instruction = 0;
  std::memcpy(&instruction, fix.at, sizeof instruction);
  return instruction;
}

/// The low bits of an address as the scaled offset of an instruction.
void store_low_bits(const Fix& fix, uint64_t address, int scale) {
  const auto offset = static_cast<uint32_t>((address & 0xfff) >> scale);
  store(fix, (instruction_at(fix) & ~(0xfffU << 10)) | offset << 10);
}

void store_page(const Fix& fix, uint64_t address) {
  const auto pages = static_cast<uint32_t>((address >> 12) - (fix.place >> 12));
  store(fix,
        (instruction_at(fix) & 0x9f00001fU) | (pages & 3U) << 29 | (pages >> 2 & 0x7ffffU) << 5);
}

bool relocate(const Fix& fix, uint32_t type) {
  switch (type) {
  case R_AARCH64_ABS64:
    store(fix, fix.value());
    return true;
  case R_AARCH64_PREL64:
    store(fix, fix.value() - fix.place);
    return true;
  case R_AARCH64_PREL32:
    store(fix, static_cast<uint32_t>(fix.value() - fix.place));
    return fix.is_near;
  case R_AARCH64_CALL26:
  case R_AARCH64_JUMP26: {
    const auto words = static_cast<uint32_t>((fix.called() - fix.place) >> 2);
    store(fix, (instruction_at(fix) & 0xfc000000U) | (words & 0x3ffffffU));
    return true;
  }
  case R_AARCH64_ADR_PREL_PG_HI21:
  case R_AARCH64_ADR_PREL_PG_HI21_NC:
    store_page(fix, fix.value());
    return fix.is_near;
  case R_AARCH64_ADR_GOT_PAGE:
    store_page(fix, fix.pointer());
    return true;
  case R_AARCH64_LD64_GOT_LO12_NC:
    store_low_bits(fix, fix.pointer(), 3);
    return true;
  case R_AARCH64_ADD_ABS_LO12_NC:
  case R_AARCH64_LDST8_ABS_LO12_NC:
    store_low_bits(fix, fix.value(), 0);
    return true;
  case R_AARCH64_LDST16_ABS_LO12_NC:
    store_low_bits(fix, fix.value(), 1);
    return true;
  case R_AARCH64_LDST32_ABS_LO12_NC:
    store_low_bits(fix, fix.value(), 2);
    return true;
  case R_AARCH64_LDST64_ABS_LO12_NC:
    store_low_bits(fix, fix.value(), 3);
    return true;
  case R_AARCH64_LDST128_ABS_LO12_NC:
    store_low_bits(fix, fix.value(), 4);
    return true;
  default:
    return false;
  }
}

#elif defined(__x86_64__)

bool relocate(const Fix& fix, uint32_t type) {
  switch (type) {
  case R_X86_64_64:
    store(fix, fix.value());
    return true;
  case R_X86_64_PC64:
    store(fix, fix.value() - fix.place);
    return true;
  case R_X86_64_PC32:
    store(fix, static_cast<uint32_t>(fix.value() - fix.place));
    return fix.is_near;
  case R_X86_64_PLT32:
    store(fix, static_cast<uint32_t>(fix.called() - fix.place));
    return true;
  case R_X86_64_GOTPCREL:
  case R_X86_64_GOTPCRELX:
  case R_X86_64_REX_GOTPCRELX:
    store(fix, static_cast<uint32_t>(fix.pointer() + fix.addend - fix.place));
    return true;
  default:
    return false;
  }
}

#else

bool relocate(const Fix&, uint32_t) { return false; }

#endif

/// One object on its way into memory.
class Linking {
public:
  explicit Linking(std::string_view object) : object_(object) {}
  ~Linking() {
    if (memory_ != nullptr)
      ::munmap(memory_, mapped_);
  }
  Linking(const Linking&) = delete;
  Linking& operator=(const Linking&) = delete;

  std::optional<ObjectCode> code(const std::string& symbol) {
    if (!read_sections() || !read_symbols() || !map() || !resolve() || !relocate_all())
      return std::nullopt;
    for (size_t k = 0; k < symbols_.size(); ++k)
      if (symbols_[k].st_shndx != SHN_UNDEF && name_of(symbols_[k]) == symbol)
        return finished(k);
    return std::nullopt;
  }

private:
  template <class T> bool read(uint64_t offset, uint64_t count, std::vector<T>& out) const {
    if (count > object_.size() / sizeof(T) || offset > object_.size() - count * sizeof(T))
      return false;
    out.resize(count);
    if (count > 0)
      std::memcpy(out.data(), object_.data() + offset, count * sizeof(T));
    return true;
  }
  bool holds(const Elf64_Shdr& section) const {
    return section.sh_size <= object_.size() &&
           section.sh_offset <= object_.size() - section.sh_size;
  }
  /// Is it in memory while the code runs? Tables for unwinding are not needed: code of Kawara
  /// throws nothing.
  bool is_placed(const Elf64_Shdr& section) const {
    return (section.sh_flags & SHF_ALLOC) != 0 && section.sh_size > 0 &&
           text_at(names_, section.sh_name) != ".eh_frame";
  }
  std::string_view text_at(uint32_t table, uint64_t offset) const {
    if (table >= sections_.size() || !holds(sections_[table]) || offset >= sections_[table].sh_size)
      return {};
    const std::string_view rest =
        object_.substr(sections_[table].sh_offset + offset, sections_[table].sh_size - offset);
    return rest.substr(0, rest.find('\0'));
  }
  std::string_view name_of(const Elf64_Sym& symbol) const {
    return text_at(symbol_names_, symbol.st_name);
  }

  /// Sections one behind the other; only such as are read or run.
  bool read_sections() {
    std::vector<Elf64_Ehdr> header;
    if (!read(0, 1, header) || std::memcmp(header[0].e_ident, ELFMAG, SELFMAG) != 0 ||
        header[0].e_ident[EI_CLASS] != ELFCLASS64 || header[0].e_type != ET_REL ||
        header[0].e_machine != kMachine || header[0].e_shentsize != sizeof(Elf64_Shdr) ||
        !read(header[0].e_shoff, header[0].e_shnum, sections_))
      return false;
    names_ = header[0].e_shstrndx;
    offsets_.assign(sections_.size(), 0);
    for (size_t k = 0; k < sections_.size(); ++k) {
      const Elf64_Shdr& section = sections_[k];
      if (!is_placed(section))
        continue;
      const uint64_t align = section.sh_addralign > 0 ? section.sh_addralign : 1;
      if (section.sh_type != SHT_PROGBITS || (section.sh_flags & (SHF_WRITE | SHF_TLS)) != 0 ||
          (align & (align - 1)) != 0 || align > 4096 || !holds(section) || bytes_ > kMostBytes)
        return false;
      bytes_ = (bytes_ + align - 1) & ~(align - 1);
      offsets_[k] = bytes_;
      bytes_ += section.sh_size;
    }
    return bytes_ > 0;
  }

  bool read_symbols() {
    for (const Elf64_Shdr& section : sections_)
      if (section.sh_type == SHT_SYMTAB) {
        symbol_names_ = section.sh_link;
        return read(section.sh_offset, section.sh_size / sizeof(Elf64_Sym), symbols_);
      }
    return false;
  }

  bool map() {
    jumps_ = (bytes_ + kJumpBytes - 1) / kJumpBytes * kJumpBytes;
    const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
    mapped_ = (jumps_ + symbols_.size() * kJumpBytes + page - 1) / page * page;
    void* memory =
        ::mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
      return false;
    memory_ = static_cast<std::byte*>(memory);
    for (size_t k = 0; k < sections_.size(); ++k)
      if (is_placed(sections_[k]))
        std::memcpy(memory_ + offsets_[k], object_.data() + sections_[k].sh_offset,
                    sections_[k].sh_size);
    return true;
  }

  uint64_t address(uint64_t offset) const { return reinterpret_cast<uint64_t>(memory_) + offset; }

  /// The address of each symbol, and a jump to it.
  bool resolve() {
    addresses_.assign(symbols_.size(), 0);
    const auto functions = library_functions();
    for (size_t k = 1; k < symbols_.size(); ++k) {
      const Elf64_Sym& symbol = symbols_[k];
      const int type = ELF64_ST_TYPE(symbol.st_info);
      if (type == STT_FILE)
        continue;
      if (type == STT_TLS || type == STT_GNU_IFUNC)
        return false;
      if (symbol.st_shndx == SHN_UNDEF)
        addresses_[k] = function_named(functions, std::string(name_of(symbol)));
      else if (symbol.st_shndx < sections_.size() && is_placed(sections_[symbol.st_shndx]) &&
               symbol.st_value <= sections_[symbol.st_shndx].sh_size)
        addresses_[k] = address(offsets_[symbol.st_shndx] + symbol.st_value);
      std::byte* jump = memory_ + jumps_ + k * kJumpBytes;
      std::memcpy(jump, kJump, sizeof kJump);
      std::memcpy(jump + sizeof kJump, &addresses_[k], sizeof addresses_[k]);
    }
    return true;
  }
  static uint64_t function_named(const std::vector<std::pair<std::string, void*>>& functions,
                                 const std::string& name) {
    for (const auto& [known, function] : functions)
      if (known == name)
        return reinterpret_cast<uint64_t>(function);
    return reinterpret_cast<uint64_t>(::dlsym(RTLD_DEFAULT, name.c_str()));
  }

  bool relocate_all() const {
    for (const Elf64_Shdr& section : sections_) {
      if (section.sh_type != SHT_RELA && section.sh_type != SHT_REL)
        continue;
      if (section.sh_info >= sections_.size())
        return false;
      const Elf64_Shdr& target = sections_[section.sh_info];
      if (!is_placed(target))
        continue;
      std::vector<Elf64_Rela> relocations;
      if (section.sh_type == SHT_REL ||
          !read(section.sh_offset, section.sh_size / sizeof(Elf64_Rela), relocations))
        return false;
      for (const Elf64_Rela& r : relocations) {
        const uint64_t k = ELF64_R_SYM(r.r_info);
        if (target.sh_size < 4 || r.r_offset > target.sh_size - 4 || k >= symbols_.size() ||
            addresses_[k] == 0)
          return false;
        const uint64_t offset = offsets_[section.sh_info] + r.r_offset;
        const Fix fix{memory_ + offset,
                      address(offset),
                      addresses_[k],
                      static_cast<uint64_t>(r.r_addend),
                      address(jumps_ + k * kJumpBytes),
                      addresses_[k] - address(0) < mapped_};
        if (!relocate(fix, static_cast<uint32_t>(ELF64_R_TYPE(r.r_info))))
          return false;
      }
    }
    return true;
  }

  std::optional<ObjectCode> finished(size_t symbol) {
    if (addresses_[symbol] == 0 || ::mprotect(memory_, mapped_, PROT_READ | PROT_EXEC) != 0)
      return std::nullopt;
    auto* begin = reinterpret_cast<char*>(memory_);
    __builtin___clear_cache(begin, begin + mapped_);
    ObjectCode code(memory_, mapped_, reinterpret_cast<void*>(addresses_[symbol]));
    memory_ = nullptr;
    return code;
  }

  std::string_view object_;
  std::vector<Elf64_Shdr> sections_;
  std::vector<uint64_t> offsets_; ///< of sections in memory
  std::vector<Elf64_Sym> symbols_;
  std::vector<uint64_t> addresses_; ///< of symbols; 0 where unknown
  uint32_t names_ = 0, symbol_names_ = 0;
  uint64_t bytes_ = 0, jumps_ = 0, mapped_ = 0;
  std::byte* memory_ = nullptr;
};

} // namespace

std::vector<std::pair<std::string, void*>> library_functions() {
  std::vector<std::pair<std::string, void*>> all;
  const auto add = [&](const std::string& name, auto* function) {
    all.emplace_back(name, reinterpret_cast<void*>(function));
  };
  const auto both = [&](const std::string& name, double (*f64)(double), float (*f32)(float)) {
    add(name, f64);
    add(name + "f", f32);
  };
  both("exp", ::exp, ::expf);
  both("log", ::log, ::logf);
  both("exp2", ::exp2, ::exp2f);
  both("log2", ::log2, ::log2f);
  both("tanh", ::tanh, ::tanhf);
  both("erf", ::erf, ::erff);
  both("sin", ::sin, ::sinf);
  both("cos", ::cos, ::cosf);
  both("floor", ::floor, ::floorf);
  both("ceil", ::ceil, ::ceilf);
  add("pow", static_cast<double (*)(double, double)>(::pow));
  add("powf", static_cast<float (*)(float, float)>(::powf));
  add("atan2", static_cast<double (*)(double, double)>(::atan2));
  add("atan2f", static_cast<float (*)(float, float)>(::atan2f));
  add("fma", static_cast<double (*)(double, double, double)>(::fma));
  add("fmaf", static_cast<float (*)(float, float, float)>(::fmaf));
  add("memcpy", &std::memcpy);
  add("memmove", &std::memmove);
  add("memset", &std::memset);
#if defined(__x86_64__)
  add("__extendhfsf2", &__extendhfsf2);
  add("__extendhfdf2", &__extendhfdf2);
  add("__truncsfhf2", &__truncsfhf2);
  add("__truncdfhf2", &__truncdfhf2);
#endif
  return all;
}

ObjectCode::ObjectCode(ObjectCode&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)), bytes_(other.bytes_),
      function_(other.function_) {}

ObjectCode& ObjectCode::operator=(ObjectCode&& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(bytes_, other.bytes_);
  std::swap(function_, other.function_);
  return *this;
}

ObjectCode::~ObjectCode() {
  if (memory_ != nullptr)
    ::munmap(memory_, bytes_);
}

std::optional<ObjectCode> code_from_object(std::string_view object, const std::string& symbol) {
  return kMachine == EM_NONE ? std::nullopt : Linking(object).code(symbol);
}

} // namespace kawara::run
