// The programs of a bundle in one, which has LLVM once: what it is called decides which it is. ./kw
// bundle makes the links.

#include "cpu/program.h"
#include "gpu/shapes.h"
#include "kawara/program.h"
#include "oracle/oracle_sweep.h"
#include "oracle/triangles/triangle_sweep.h"
#include "peers/sweep.h"

#include <gtest/gtest.h>

#include <filesystem>

int main(int argc, char** argv) {
  const auto name = std::filesystem::path(argc > 0 ? argv[0] : "").filename();
  if (name == "bench_cpu")
    return kawara::bench::program(argc, argv);
  if (name == "gpu_shapes")
    return kawara::operator_models::shapes_program(argc, argv);
  if (name == "against_ort")
    return kawara::peers::against_ort_program(argc, argv);
  if (name == "triangles")
    return kawara::oracle::triangles_program(argc, argv);
  if (name == "oracle")
    return kawara::oracle::oracle_program(argc, argv);
  if (name != "unit_tests")
    return kawara::tools::program(argc, argv);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
