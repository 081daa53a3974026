// Programs and orders by hand, in the form that the theatre's JSON has.

const f32 = 4;
const sum = (c, ...v) => ({ c, v });

/** sum over k of A[i, k] * B[k, j], N x N x N, reads of A and B alone: the sums stay in registers. */
export function productReads(n) {
  return {
    arrays: [
      { name: 'A', bytes: n * n * f32, element_bytes: f32, shape: [n, n] },
      { name: 'B', bytes: n * n * f32, element_bytes: f32, shape: [n, n] },
    ],
    references: [
      { array: 0, kind: 'read', statement: 'S0', text: 'A[i, k]' },
      { array: 1, kind: 'read', statement: 'S0', text: 'B[k, j]' },
    ],
    formulas: [],
    statements: [
      {
        name: 'S0', text: 's += A[i, k] * B[k, j]', iters: ['i', 'j', 'k'], flops: 2,
        touches: [
          { reference: 0, at: sum(0, [0, n * f32], [2, f32]) },
          { reference: 1, at: sum(0, [2, n * f32], [1, f32]) },
        ],
      },
    ],
  };
}

const loop = (v, hi, body) => ({ for: v, lo: 0, hi, step: 1, do: [body] });

export function asWritten(n) {
  const run = { run: 0, at: [0, 1, 2].map((v) => sum(0, [v, 1])) };
  return { variables: 3, formulas: [], loops: [], code: [loop(0, n, loop(1, n, loop(2, n, run)))] };
}

/** Tiles of `size` in all three dimensions, which divides `n`. */
export function inTiles(n, size) {
  const run = { run: 0, at: [0, 1, 2].map((v) => sum(0, [v, size], [v + 3, 1])) };
  const inner = loop(3, size, loop(4, size, loop(5, size, run)));
  const t = n / size;
  return { variables: 6, formulas: [], loops: [], code: [loop(0, t, loop(1, t, loop(2, t, inner)))] };
}

/** Reads of these lines of 64 bytes, or writes where a number is negative, one statement each. */
export function touchesOf(lines) {
  return {
    program: {
      arrays: [{ name: 'A', bytes: 64 * 64, element_bytes: 8, shape: [512] }],
      references: lines.map((line) => ({ array: 0, kind: line < 0 ? 'write' : 'read', statement: 'S', text: 'A' })),
      formulas: [],
      statements: lines.map((line, r) => ({ name: `S${r}`, iters: [], flops: 0, touches: [{ reference: r, at: Math.abs(line) * 64 }] })),
    },
    order: { variables: 0, formulas: [], loops: [], code: lines.map((_, r) => ({ run: r, at: [] })) },
  };
}
