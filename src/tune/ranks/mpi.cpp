#include "tune/ranks/mpi.h"

#include "tune/clock.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <dlfcn.h>
#include <sched.h>
#include <string_view>
#include <type_traits>
#include <unistd.h>

namespace kawara::tune {
namespace {

// Open MPI's binary interface (libmpi.so.40, versions 2 to 5): handles are pointers to objects that
// the library exports.
using Handle = void*;
constexpr int kAnySource = -1, kTag = 17;

std::optional<int> number_from(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr)
    return std::nullopt;
  const std::string_view text(value);
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size())
    return std::nullopt;
  return number;
}

Diagnostic cannot_open(const std::string& why) {
  Diagnostic d;
  d.code = "K0641";
  d.headline = "the other processes of this `mpirun` cannot be reached";
  d.body.push_back("Open MPI cannot be opened here: " + why + ".");
  d.help.push_back({"install it on every machine", "openmpi-bin", false});
  return d;
}

} // namespace

std::optional<RankOf> started_by_mpirun() {
  const auto rank = number_from("OMPI_COMM_WORLD_RANK"),
             ranks = number_from("OMPI_COMM_WORLD_SIZE");
  if (!rank || !ranks || *ranks < 2)
    return std::nullopt;
  return RankOf{*rank, *ranks, number_from("OMPI_COMM_WORLD_LOCAL_SIZE").value_or(1)};
}

void use_all_processors() {
  cpu_set_t all;
  CPU_ZERO(&all);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    CPU_SET(cpu, &all);
  ::sched_setaffinity(0, sizeof all, &all);
}

struct Mpi::Library {
  struct Status {
    int source = 0, tag = 0, error = 0, is_cancelled = 0;
    size_t bytes = 0;
  };

  int (*init)(int*, char***) = nullptr;
  int (*finalize)() = nullptr;
  int (*comm_rank)(Handle, int*) = nullptr;
  int (*comm_size)(Handle, int*) = nullptr;
  int (*send)(const void*, int, Handle, int, int, Handle) = nullptr;
  int (*probe)(int, int, Handle, int*, Status*) = nullptr;
  int (*count)(const Status*, Handle, int*) = nullptr;
  int (*receive)(void*, int, Handle, int, int, Handle, Status*) = nullptr;
  Handle world = nullptr, byte = nullptr;
  int rank = 0, ranks = 1;

  /// The name that is missing, if one is.
  const char* find_all(void* library) {
    const char* missing = nullptr;
    const auto find = [&](auto& to, const char* name) {
      to = reinterpret_cast<std::remove_reference_t<decltype(to)>>(::dlsym(library, name));
      if (to == nullptr)
        missing = name;
    };
    find(init, "MPI_Init");
    find(finalize, "MPI_Finalize");
    find(comm_rank, "MPI_Comm_rank");
    find(comm_size, "MPI_Comm_size");
    find(send, "MPI_Send");
    find(probe, "MPI_Iprobe");
    find(count, "MPI_Get_count");
    find(receive, "MPI_Recv");
    find(world, "ompi_mpi_comm_world");
    find(byte, "ompi_mpi_byte");
    return missing;
  }
};

Mpi::Mpi(std::unique_ptr<Library> library) : library_(std::move(library)) {}
Mpi::Mpi(Mpi&&) noexcept = default;
Mpi& Mpi::operator=(Mpi&&) noexcept = default;

Mpi::~Mpi() {
  if (library_)
    library_->finalize();
}

Result<Mpi, Diagnostic> Mpi::open(const char* name) {
  // Global: the library's own parts look each other up. It stays to the end of the process.
  void* opened = ::dlopen(name, RTLD_NOW | RTLD_GLOBAL);
  if (opened == nullptr)
    return fail(cannot_open(::dlerror()));
  auto library = std::make_unique<Library>();
  if (const char* missing = library->find_all(opened))
    return fail(cannot_open(std::string("it has no ") + missing));
  if (library->init(nullptr, nullptr) != 0)
    return fail(cannot_open("it cannot be started"));
  library->comm_rank(library->world, &library->rank);
  library->comm_size(library->world, &library->ranks);
  return Mpi(std::move(library));
}

int Mpi::rank() const { return library_->rank; }
int Mpi::ranks() const { return library_->ranks; }

void Mpi::send(int rank, const std::string& message) {
  library_->send(message.data(), static_cast<int>(message.size()), library_->byte, rank, kTag,
                 library_->world);
}

std::optional<std::pair<int, std::string>> Mpi::receive(double seconds) {
  // The library's own waiting takes a whole processor, which candidates need.
  constexpr useconds_t kShortest = 50, kLongest = 2000;
  const double begin = steady_seconds();
  for (useconds_t nap = kShortest;; nap = std::min(2 * nap, kLongest)) {
    int is_there = 0;
    Library::Status status;
    library_->probe(kAnySource, kTag, library_->world, &is_there, &status);
    if (is_there != 0) {
      int bytes = 0;
      library_->count(&status, library_->byte, &bytes);
      std::string message(static_cast<size_t>(bytes), '\0');
      library_->receive(message.data(), bytes, library_->byte, status.source, kTag, library_->world,
                        &status);
      return std::pair(status.source, std::move(message));
    }
    if (steady_seconds() - begin >= seconds)
      return std::nullopt;
    ::usleep(nap);
  }
}

} // namespace kawara::tune
