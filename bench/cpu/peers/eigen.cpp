// Eigen, in a library of its own because its code is chosen by the compiler's flags.

#include "cpu/contestant.h"

#include <Eigen/Core>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace {

using namespace kawara::bench;
using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using In = Eigen::Map<const Matrix>;
using Out = Eigen::Map<Matrix>;

class EigenContestant final : public Contestant {
public:
  explicit EigenContestant(int64_t threads)
      : version_(std::to_string(EIGEN_WORLD_VERSION) + "." + std::to_string(EIGEN_MAJOR_VERSION) +
                 "." + std::to_string(EIGEN_MINOR_VERSION) + ", " +
                 Eigen::SimdInstructionSetsInUse()),
        threads_(static_cast<int>(threads)) {
    Eigen::setNbThreads(threads_);
  }

  const char* name() const override { return "Eigen"; }
  const char* version() const override { return version_.c_str(); }

  bool prepare(const Case& c, const Operands& x) override {
    release();
    // Built without threads, it is no match for those that have them.
    if (threads_ > Eigen::nbThreads())
      return false;
    out_.resize(static_cast<size_t>(output_elements(c)));
    float* out = out_.data();
    if (c.op == Op::Gemm)
      call_ = [c, x, out] { Out(out, c.m, c.n).noalias() = In(x.a, c.m, c.k) * In(x.b, c.k, c.n); };
    else if (c.op == Op::AddRelu)
      call_ = [c, x, out] {
        Out(out, c.m, c.n) = (In(x.a, c.m, c.n) + In(x.b, c.m, c.n)).cwiseMax(0);
      };
    else if (c.op == Op::Transpose)
      call_ = [c, x, out] { Out(out, c.n, c.m) = In(x.a, c.m, c.n).transpose(); };
    return call_ != nullptr;
  }

  void run() override { call_(); }
  void output(float* elements) const override {
    std::memcpy(elements, out_.data(), out_.size() * sizeof(float));
  }
  void release() override {
    call_ = nullptr;
    out_ = {};
  }

private:
  std::string version_;
  int threads_;
  std::function<void()> call_;
  std::vector<float> out_;
};

} // namespace

extern "C" Contestant* kawara_contestant(int64_t threads) { return new EigenContestant(threads); }
