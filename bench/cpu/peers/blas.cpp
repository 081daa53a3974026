// OpenBLAS and BLIS through the interface that both have.

#include "cpu/peers/peers.h"
#include "cpu/peers/shared_library.h"

#include "cpu/race.h"

#include <cstring>
#include <functional>

namespace kawara::bench {
namespace {

// Values that the interface prescribes.
constexpr int kRowMajor = 101, kNoTrans = 111, kTrans = 112;

using Sgemm = void (*)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha,
                       const float* a, int lda, const float* b, int ldb, float beta, float* c,
                       int ldc);
using Sgemv = void (*)(int order, int trans, int m, int n, float alpha, const float* a, int lda,
                       const float* x, int step_x, float beta, float* y, int step_y);
using Somatcopy = void (*)(int order, int trans, int rows, int columns, float alpha, const float* a,
                           int lda, float* b, int ldb);

/// Functions of the library; `transpose` is null where it has none.
struct Library {
  std::string name, version;
  Sgemm sgemm = nullptr;
  Sgemv sgemv = nullptr;
  Somatcopy transpose = nullptr;
};

class Blas final : public Contestant {
public:
  explicit Blas(Library library) : library_(std::move(library)) {}

  const char* name() const override { return library_.name.c_str(); }
  const char* version() const override { return library_.version.c_str(); }

  bool prepare(const Case& c, const Operands& x) override {
    release();
    out_.resize(static_cast<size_t>(output_elements(c)));
    if (c.op == Op::Gemm)
      prepare_product(c, x);
    else if (c.op == Op::Transpose && library_.transpose != nullptr)
      call_ = [this, c, x] {
        library_.transpose(kRowMajor, kTrans, int(c.m), int(c.n), 1, x.a, int(c.n), out_.data(),
                           int(c.m));
      };
    return call_ != nullptr;
  }

  void run() override { call_(); }
  void output(float* elements) const override {
    std::memcpy(elements, out_.data(), out_.size() * sizeof(float));
  }
  void release() override {
    call_ = nullptr;
    out_ = {};
    transposed_ = {};
  }

private:
  /// One row times a matrix is a matrix times a vector as well, and the matrix is a constant that may
  /// be stored either way: the fastest of these calls takes part.
  void prepare_product(const Case& c, const Operands& x) {
    const int m = int(c.m), n = int(c.n), k = int(c.k);
    call_ = [=, this] {
      library_.sgemm(kRowMajor, kNoTrans, kNoTrans, m, n, k, 1, x.a, k, x.b, n, 0, out_.data(), n);
    };
    if (m != 1)
      return;
    transposed_.resize(static_cast<size_t>(c.k * c.n));
    for (int64_t row = 0; row < c.k; ++row)
      for (int64_t column = 0; column < c.n; ++column)
        transposed_[static_cast<size_t>(column * c.k + row)] = x.b[row * c.n + column];
    const std::vector<std::function<void()>> ways = {
        call_,
        [=, this] {
          library_.sgemv(kRowMajor, kTrans, k, n, 1, x.b, n, x.a, 1, 0, out_.data(), 1);
        },
        [=, this] {
          library_.sgemv(kRowMajor, kNoTrans, n, k, 1, transposed_.data(), k, x.a, 1, 0,
                         out_.data(), 1);
        }};
    const auto timings = race(ways, {0.002, 5, 1});
    for (size_t i = 0, best = 0; i < ways.size(); ++i)
      if (i == 0 || timings[i].median < timings[best].median) {
        best = i;
        call_ = ways[i];
      }
  }

  Library library_;
  std::function<void()> call_;
  std::vector<float> out_, transposed_;
};

} // namespace

std::unique_ptr<Contestant> make_openblas(const PeerOptions& options) {
  const auto library = SharedLibrary::open(options.folder, "libopenblas.so.0");
  if (!library)
    return nullptr;
  library->function<void (*)(int)>("openblas_set_num_threads")(int(options.threads));
  return std::make_unique<Blas>(
      Library{"OpenBLAS", library->function<const char* (*)()>("openblas_get_config")(),
              library->function<Sgemm>("cblas_sgemm"), library->function<Sgemv>("cblas_sgemv"),
              library->function<Somatcopy>("cblas_somatcopy")});
}

std::unique_ptr<Contestant> make_blis(const PeerOptions& options) {
  const auto library = SharedLibrary::open(options.folder, "libblis.so.4");
  if (!library)
    return nullptr;
  library->function<void (*)()>("bli_init")();
  library->function<void (*)(int64_t)>("bli_thread_set_num_threads")(options.threads);
  return std::make_unique<Blas>(Library{
      "BLIS", library->function<const char* (*)()>("bli_info_get_version_str")(),
      library->function<Sgemm>("cblas_sgemm"), library->function<Sgemv>("cblas_sgemv"), nullptr});
}

} // namespace kawara::bench
