#pragma once

#include "poly/scop.h"
#include "validate/elements.h"
#include "validate/place.h"
#include "validate/validate.h"

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace kawara::validate {

/// How two elements differ: they are one where all functions are zero and, where that is exact,
/// nowhere else.
struct Apart {
  std::vector<scalar::Expr> functions;
  bool is_exact = true;
};

/// An access of the kernel that is spelled otherwise than what the program says of the instance: at
/// every point where the conditions hold, all functions of one of the alternatives are zero.
struct Question {
  std::string what;  ///< "S1 reads A[i, k + 1], not A[i, k]"
  std::string brief; ///< "elements of A that S1 touches"
  uint32_t statement = 0;
  std::vector<scalar::Expr> iters; ///< the instance, in dimensions
  size_t loops = 0; ///< dimensions: these, then the points, then a lane that no point stands for
  std::vector<scalar::Expr> points;
  int64_t lanes = 1; ///< of that lane; then some point has to agree for each
  std::vector<scalar::Expr> conditions;
  std::vector<Apart> alternatives;
};

/// What the accesses of a kernel touch, compared with the program as far as expressions show it.
struct Accesses {
  size_t compared = 0; ///< equal as expressions, or asked
  std::vector<Question> questions;
  std::set<std::string> uncompared; ///< what was not compared, and why
};

/// Walks along with a reader of the kernel.
class AccessReader {
public:
  /// `most`: accesses that are compared, the first ones.
  AccessReader(const poly::Scop& scop, const kernel::Kernel& kernel, size_t most);
  /// A statement, before what is inside it.
  void at(const kernel::Stmt&, const Place&);
  Accesses take() { return std::move(accesses_); }

private:
  using Expr = scalar::Expr;
  enum class Layout : uint8_t { Same, Window, Other };
  enum class Learning : uint8_t { Never, First, Anew };
  /// Elements of a buffer that one expression reads.
  struct Touch {
    uint32_t buffer = 0;
    std::vector<Expr> index; ///< in dimensions, with lanes; empty expressions where it is not known
    int64_t lanes = 1;
    std::vector<Expr> conditions; ///< of selects around it
  };

  struct Reads {
    std::vector<Touch> touches;
    bool has_more =
        false; ///< values of variables that are not followed, elements of buffers that passes made
  };

  /// The instances that a statement of the kernel runs, in dimensions.
  struct Instance {
    uint32_t statement = 0;
    const program::Statement* text = nullptr;
    std::vector<Expr> iters, points;
    size_t loops = 0;
    std::shared_ptr<const DimensionRanges> ranges = {};

    /// The dimension that counts these lanes; the one after the points where no point does.
    uint32_t lane_of(int64_t lanes) const;
    bool is_point(uint32_t dimension) const { return dimension < loops + points.size(); }
  };

  /// A buffer that holds part of its tensor: the place of the tensor's element minus that of the
  /// buffer's, the same for all accesses of an iteration of the loops around.
  struct Window {
    Expr offset;
    std::vector<uint32_t> numbers; ///< Place
    bool is_read = false;
  };

  /// The element of a tensor that a variable holds.
  struct Bound {
    uint32_t buffer = 0;
    std::vector<Expr> element; ///< lane l at dimension kLane
    std::vector<uint32_t> numbers;
    Instance instance;
  };

  void store(const kernel::Store&, const Place&);
  void define(const kernel::Define&, const Place&);
  void assign(const kernel::Assign&, const Place&);
  void copy_out(const kernel::Store&, const Place&);
  void compare_held(const kernel::Store&, const std::vector<Expr>& touched, const Bound&,
                    const Place&);
  std::optional<Bound> held_by(const Expr& value) const;
  void note_read(uint32_t buffer);
  void bind(uint32_t var, const Instance&, const Place&);
  std::optional<Instance> instance_of(const kernel::Origins&, const Place&);
  void check_write(const kernel::Store&, const Instance&, const Place&);
  void check_reads(const Reads&, const Instance&, const Place&);
  void check_read(const Touch&, const std::vector<const scalar::Load*>& wanted, const Instance&,
                  const Place&, std::set<size_t>& found);
  void check_all_read(const Reads&, const std::vector<const scalar::Load*>& wanted,
                      const std::set<size_t>& found, const Instance&, const Place&);
  void collect(const Expr&, const Place&, std::optional<uint32_t> own,
               std::vector<Expr>& conditions, std::set<std::pair<const void*, size_t>>& seen,
               Reads&) const;
  Reads reads_of(const Expr&, const Place&, std::optional<uint32_t> own = std::nullopt) const;

  Layout layout_of(uint32_t buffer) const;
  /// Differences that are zero where the two are one element; nothing where that cannot be said.
  /// The first access to a part of a tensor says which part it is, and so does a write to another
  /// part once the first was read.
  std::optional<Apart> differences(uint32_t buffer, const std::vector<Expr>& touched,
                                   const std::vector<Expr>& element, const Place&, Learning);
  std::vector<Expr> element_of(const std::vector<Expr>& index, const Instance&) const;
  std::optional<std::vector<Expr>> at_lane(const std::vector<Expr>& index, uint32_t lane) const;
  void ask(std::string what, uint32_t buffer, const Instance&, const Place&,
           std::vector<Expr> conditions, int64_t lanes, std::vector<Apart> alternatives);
  std::string text_of(uint32_t buffer, const std::vector<Expr>& index, const Instance&,
                      const Place&) const;
  void not_compared(const std::string& what) { accesses_.uncompared.insert(what); }
  /// The same after the work of a comparison, which counts as one.
  void in_vain(const std::string& what) {
    ++in_vain_;
    not_compared(what);
  }

  const poly::Scop& scop_;
  const kernel::Kernel& kernel_;
  size_t most_, in_vain_ = 0;
  Accesses accesses_;
  std::set<uint32_t> assigned_;                   ///< variables
  std::shared_ptr<const DimensionRanges> ranges_; ///< of the place last asked for
  size_t ranges_of_ = 0;
  std::vector<uint32_t> ranges_at_;
  std::map<uint32_t, Reads> defined_;
  std::map<uint32_t, Window> windows_;          ///< by buffer
  std::map<uint32_t, Bound> bound_, copied_in_; ///< by variable
};

/// Asks what expressions did not show.
void check_accesses(const poly::Scop&, const Accesses&, Report&);

} // namespace kawara::validate
