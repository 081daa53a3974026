#include "support/own_code.h"

#include <fcntl.h>
#include <link.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>
#include <string>

namespace kawara {
namespace {

uintptr_t code_page_bytes() { return static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE)); }

bool is_watched_by_debugger() {
  std::ifstream status("/proc/self/status");
  const std::string name = "TracerPid:";
  for (std::string line; std::getline(status, line);)
    if (line.compare(0, name.size(), name) == 0)
      return line.find_first_not_of(" \t0", name.size()) != std::string::npos;
  return false;
}

/// Does the loader write into the code of this module?
bool has_places_in_code(const ElfW(Dyn) * entry) {
  for (; entry->d_tag != DT_NULL; ++entry)
    if (entry->d_tag == DT_TEXTREL ||
        (entry->d_tag == DT_FLAGS && (entry->d_un.d_val & DF_TEXTREL) != 0))
      return true;
  return false;
}

struct CodeSearch {
  uintptr_t address; ///< somewhere in the module that is looked for
  std::vector<Pages> found;
};

int look_for_code(dl_phdr_info* module, size_t, void* data) {
  auto& search = *static_cast<CodeSearch*>(data);
  const uintptr_t page = code_page_bytes();
  bool is_inside = false, is_written = false;
  std::vector<Pages> found;
  for (int k = 0; k < module->dlpi_phnum; ++k) {
    const ElfW(Phdr)& part = module->dlpi_phdr[k];
    const uintptr_t begin = module->dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_DYNAMIC)
      is_written = has_places_in_code(reinterpret_cast<const ElfW(Dyn)*>(begin));
    if (part.p_type != PT_LOAD)
      continue;
    is_inside = is_inside || (search.address >= begin && search.address - begin < part.p_memsz);
    const uintptr_t first = begin / page * page, last = (begin + part.p_filesz) / page * page;
    if ((part.p_flags & PF_W) == 0 && first < last)
      found.push_back({reinterpret_cast<std::byte*>(first), last - first});
  }
  if (!is_inside)
    return 0;
  if (!is_written)
    search.found = std::move(found);
  return 1;
}

/// Linux 6.7 and later: what notes which pages are written must see them one by one, so that a fault maps no others. Nothing is
/// ever asked of these notes. False where the system has none, or does not give them to everybody.
bool bring_in_single_pages(const Pages& pages) {
  constexpr int kOnlyFaultsOfPrograms = 1;        // UFFD_USER_MODE_ONLY
  constexpr uint64_t kNotesNeedNobody = 1U << 15; // UFFD_FEATURE_WP_ASYNC
  // The notes last as long as this is open: for the whole process.
  static const int notes = [&] {
    const long file = ::syscall(SYS_userfaultfd, O_CLOEXEC | kOnlyFaultsOfPrograms);
    uffdio_api wanted{UFFD_API, kNotesNeedNobody, 0};
    if (file < 0 || ::ioctl(static_cast<int>(file), UFFDIO_API, &wanted) == 0)
      return static_cast<int>(file);
    ::close(static_cast<int>(file));
    return -1;
  }();
  uffdio_register wanted{
      {reinterpret_cast<uintptr_t>(pages.begin), pages.bytes}, UFFDIO_REGISTER_MODE_WP, 0};
  return notes >= 0 && ::ioctl(notes, UFFDIO_REGISTER, &wanted) == 0;
}

} // namespace

std::vector<Pages> own_code() {
  if (is_watched_by_debugger())
    return {};
  CodeSearch search{reinterpret_cast<uintptr_t>(&look_for_code), {}};
  ::dl_iterate_phdr(look_for_code, &search);
  return search.found;
}

void bring_in_small_pieces(const Pages& pages) {
  // A fault maps what lies around the page and is at hand, but never beyond a mapping's end. A mark that neighbours do not share
  // makes each piece a mapping of its own. This one is about dumps of the whole process, which have no code in them anyway.
  // Even where faults are for single pages, the system may hold a file in huge ones and map them whole.
  const size_t piece =
      bring_in_single_pages(pages) ? size_t{1} << 20 : std::max<size_t>(code_page_bytes(), 8192);
  for (size_t at = 0; at + piece <= pages.bytes; at += 2 * piece)
    if (::madvise(pages.begin + at, piece, MADV_DONTDUMP) != 0)
      return; // there are enough mappings
}

void take_out(const Pages& pages) { ::madvise(pages.begin, pages.bytes, MADV_DONTNEED); }

Resident resident_bytes() {
  const int file = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return {};
  char text[128];
  const ssize_t length = ::read(file, text, sizeof text);
  ::close(file);
  int64_t numbers[3] = {}; // the whole address space, what is in memory, files of that
  const char *at = text, *const end = text + std::max<ssize_t>(length, 0);
  for (int64_t& number : numbers) {
    at = std::from_chars(at, end, number).ptr;
    at += at != end;
  }
  const auto page = static_cast<int64_t>(code_page_bytes());
  return {numbers[1] * page, numbers[2] * page};
}

} // namespace kawara
