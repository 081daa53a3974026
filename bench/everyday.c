// The plain C of what bench/everyday.py measures: loops as anybody would write them, for `cc -O3`.
#include <math.h>
#include <stdint.h>

void argmax(int64_t M, int64_t N, const float* x, int64_t* at, float* best) {
  for (int64_t i = 0; i < M; i++) {
    at[i] = 0;
    best[i] = -INFINITY;
    for (int64_t j = 0; j < N; j++)
      if (x[i * N + j] > best[i]) {
        best[i] = x[i * N + j];
        at[i] = j;
      }
  }
}

void prefix(int64_t N, const float* x, float* s) {
  float sum = 0;
  for (int64_t i = 0; i < N; i++)
    s[i] = sum += x[i];
}

void moving_average(int64_t N, const float* x, float* y) {
  for (int64_t i = 0; i < N; i++) {
    float sum = 0;
    for (int64_t k = 0; k < 5; k++)
      sum += x[i + k];
    y[i] = sum / 5;
  }
}

void histogram(int64_t N, int64_t B, const int32_t* bin, const float* w, float* h) {
  for (int64_t b = 0; b < B; b++)
    h[b] = 0;
  for (int64_t i = 0; i < N; i++)
    h[bin[i]] += w[i];
}

void embedding(int64_t T, int64_t D, const float* E, const int32_t* ids, float* y) {
  for (int64_t i = 0; i < T; i++)
    for (int64_t j = 0; j < D; j++)
      y[i * D + j] = E[ids[i] * D + j];
}

void gather(int64_t M, const float* x, const int32_t* idx, float* y) {
  for (int64_t i = 0; i < M; i++)
    y[i] = x[idx[i]];
}

void csr(int64_t R, const int32_t* ptr, const int32_t* col, const float* val, const float* x,
         float* y) {
  for (int64_t i = 0; i < R; i++) {
    float sum = 0;
    for (int32_t p = ptr[i]; p < ptr[i + 1]; p++)
      sum += val[p] * x[col[p]];
    y[i] = sum;
  }
}

void mandelbrot(int64_t H, int64_t W, int64_t steps, int32_t* out) {
  for (int64_t i = 0; i < H; i++)
    for (int64_t j = 0; j < W; j++) {
      const float x = 3.0f * (float)j / (float)W - 2.25f, y = 2.5f * (float)i / (float)H - 1.25f;
      float a = 0, b = 0;
      int32_t n = 0;
      for (int64_t t = 0; t < steps && a * a + b * b < 4; t++, n++) {
        const float next = a * a - b * b + x;
        b = 2 * a * b + y;
        a = next;
      }
      out[i * W + j] = n;
    }
}

// Rows of 64 complex numbers by six stages of radix 2 that leave them in order; t has room for two rows.
void fft(int64_t B, const float* c, const float* s, const float* xr, const float* xi, float* yr,
         float* yi, float* t) {
  for (int64_t b = 0; b < B; b++) {
    const float *fr = xr + b * 64, *fi = xi + b * 64;
    for (int stage = 0; stage < 6; stage++) {
      const int l = 1 << stage, m = 32 >> stage;
      float* tr = stage == 5 ? yr + b * 64 : t + (stage % 2) * 128;
      float* ti = stage == 5 ? yi + b * 64 : t + (stage % 2) * 128 + 64;
      for (int j = 0; j < m; j++)
        for (int k = 0; k < l; k++) {
          const float dr = fr[l * j + k] - fr[l * j + k + 32];
          const float di = fi[l * j + k] - fi[l * j + k + 32];
          tr[2 * l * j + k] = fr[l * j + k] + fr[l * j + k + 32];
          ti[2 * l * j + k] = fi[l * j + k] + fi[l * j + k + 32];
          tr[2 * l * j + k + l] = dr * c[l * j] + di * s[l * j];
          ti[2 * l * j + k + l] = di * c[l * j] - dr * s[l * j];
        }
      fr = tr;
      fi = ti;
    }
  }
}
