#include "support/build_id.h"

#include <link.h>

#include <cstdint>
#include <cstring>

namespace kawara {
namespace {

struct Search {
  uintptr_t address; ///< somewhere in the module that is looked for
  std::string found;
};

size_t rounded(size_t bytes) { return (bytes + 3) / 4 * 4; }

/// The identifier among the notes of a segment.
std::string id_in(const char* at, size_t bytes) {
  constexpr uint32_t kBuildId = 3;
  while (bytes >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, at, sizeof note);
    const size_t name = rounded(note.n_namesz), content = rounded(note.n_descsz);
    if (sizeof note + name + content > bytes)
      break;
    if (note.n_type == kBuildId && note.n_namesz == 4 &&
        std::memcmp(at + sizeof note, "GNU", 4) == 0) {
      std::string text;
      for (size_t k = 0; k < note.n_descsz; ++k) {
        constexpr char digits[] = "0123456789abcdef";
        const auto byte = static_cast<unsigned char>(at[sizeof note + name + k]);
        text += {digits[byte / 16], digits[byte % 16]};
      }
      return text;
    }
    at += sizeof note + name + content;
    bytes -= sizeof note + name + content;
  }
  return "";
}

int look(dl_phdr_info* module, size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  bool is_inside = false;
  for (int k = 0; k < module->dlpi_phnum; ++k) {
    const ElfW(Phdr)& part = module->dlpi_phdr[k];
    const uintptr_t begin = module->dlpi_addr + part.p_vaddr;
    is_inside = is_inside || (part.p_type == PT_LOAD && search.address >= begin &&
                              search.address < begin + part.p_memsz);
  }
  if (!is_inside)
    return 0;
  for (int k = 0; k < module->dlpi_phnum && search.found.empty(); ++k) {
    const ElfW(Phdr)& part = module->dlpi_phdr[k];
    if (part.p_type == PT_NOTE)
      search.found = id_in(reinterpret_cast<const char*>(module->dlpi_addr + part.p_vaddr),
                           static_cast<size_t>(part.p_memsz));
  }
  return 1;
}

} // namespace

std::string build_id() {
  Search search{reinterpret_cast<uintptr_t>(&build_id), ""};
  dl_iterate_phdr(look, &search);
  return search.found;
}

} // namespace kawara
