#include <kawara/kawara.h>

int main() {
  std::vector<float> a(512 * 512, 1), b(512 * 512, 2), c(512 * 512);
  const kawara::Program program = kawara::parse("input A: f32[512, 512], B: f32[512, 512]\n"
                                                "output C: f32[512, 512]\n"
                                                "C[i, j] = sum(k, A[i, k] * B[k, j])\n");
  const kawara::Executable product = program.schedule().auto_().compile();
  product.run({{"A", a}, {"B", b}, {"C", c}});
  return c[0] == 1024 ? 0 : 1;
}
