#pragma once

#include "support/diagnostic.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace kawara::tune {

/// How `mpirun` started this process: which of how many. Nothing when it did not, or started only
/// one.
struct RankOf {
  int rank = 0, ranks = 1;
  int here = 1; ///< ranks on this machine
};
std::optional<RankOf> started_by_mpirun();

/// Undoes the binding of this process to some processors: candidates are timed on all of them.
void use_all_processors();

/// Messages between the processes of an `mpirun`. Movable. Open MPI is opened when this is made and
/// not before: neither building nor running Kawara needs it otherwise.
class Mpi {
public:
  /// All ranks must call it; waits for them. Refuses when there is no Open MPI here (K0641).
  static Result<Mpi, Diagnostic> open(const char* library = "libmpi.so.40");
  Mpi(Mpi&&) noexcept;
  Mpi& operator=(Mpi&&) noexcept;
  ~Mpi(); ///< waits for the other ranks to come here

  int rank() const;
  int ranks() const;

  void send(int rank, const std::string& message);
  /// The next message and who sent it; nothing when none comes within `seconds`. Sleeps while it
  /// waits.
  std::optional<std::pair<int, std::string>> receive(double seconds);

private:
  struct Library;
  explicit Mpi(std::unique_ptr<Library> library);
  std::unique_ptr<Library> library_;
};

} // namespace kawara::tune
