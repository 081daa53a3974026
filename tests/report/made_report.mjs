// Made-up reports of models, as large and with names as wild as a test needs.

/** Names that mean something in HTML, SVG, CSS, JavaScript or URLs, where they are taken for markup. */
const kPieces = ['<script>window.pwned=1</script>', '<img src=x onerror=window.pwned=1>', '"', "'", '<', '>', '&', '--><!--', '</script>',
  '</style>', '</title>', ']]>', 'javascript:window.pwned=1', '\n', '\t', '\u202e', '&lt;', '${window.pwned=1}', '{{}}', 'a', '\\', '\ufffd',
  '<svg onload=window.pwned=1>', '" onfocus="window.pwned=1" autofocus="', '\u2028', '__proto__', 'constructor'];

export function hostileNames(count) {
  let state = 11;
  const random = () => (state = (state * 1103515245 + 12345) % 2147483648) / 2147483648;
  return Array.from({ length: count }, (_, k) => {
    let name = '';
    for (let piece = 0; piece < 1 + Math.floor(random() * 5); ++piece) name += kPieces[Math.floor(random() * kPieces.length)];
    return `${name}${k}`;
  });
}

const kLayer = ['MatMul', 'Add', 'Reshape', 'Transpose', 'MatMul', 'Div', 'Softmax', 'MatMul', 'Transpose', 'Reshape', 'MatMul', 'Add', 'Add',
  'LayerNormalization', 'MatMul', 'Add', 'Gelu', 'MatMul', 'Add', 'Add', 'LayerNormalization'];
const isProduct = op => op === 'MatMul';

/** An encoder of so many layers; `named(k)` gives the names of what it is made of. */
export function modelReport(layers, named = k => `name_${k}`) {
  let names = 0;
  const name = () => named(names++);
  const nodes = [], edges = [], steps = [], tensors = [];
  const kernels = [];
  kLayer.forEach((op, k) => {
    if (isProduct(op)) kernels.push({ id: `k${kernels.length}`, first: k, name: `${name()}: ${op}`, times: layers });
  });
  const kernelAt = k => kernels.findLast(kernel => kernel.first <= k);
  for (let layer = 0; layer < layers; ++layer)
    kLayer.forEach((op, k) => {
      const id = `n${nodes.length}`, bytes = 1.57e6 * (1 + (k % 5));
      nodes.push({ id, name: name(), op, kernel: kernelAt(k).id, operations: isProduct(op) ? 6e8 : 4e5, bytes, flops_per_byte: isProduct(op) ? 200 : 0.3 });
      if (nodes.length > 1) {
        const fused = !isProduct(op);
        edges.push({ from: nodes[nodes.length - 2].id, to: id, tensor: name(), bytes, shape: '1x128x768', type: 'f32', fused,
          ...(fused ? { saves: { bytes: 2 * bytes, ms: bytes * 1e-8, joules: { low: 1e-4, value: 2e-4, high: 3e-4 } } }
            : { costs: { bytes: 2 * bytes, ms: bytes * 1e-8, joules: null } }),
          reason: fused ? 'the consumer reads each element once, where it is made' : `product: its input is packed by ${name()}`,
          directive: fused ? null : 'fuse(i.0, i.1)', verdict: fused ? 'legal' : layer % 2 ? 'illegal' : 'not asked',
          witness: !fused && layer % 2 ? `S0(0, 1) must run before S1(0, 0): ${name()}` : null });
      }
      if (layer > 0 && (op === 'Add' && k % 6 === 0))
        edges.push({ from: nodes[nodes.length - 12].id, to: id, tensor: name(), bytes, shape: '1x128x768', type: 'f32', fused: false,
          costs: { bytes, ms: 0.01, joules: null }, reason: 'its value lives until later', directive: null, verdict: 'not asked', witness: null });
    });
  let start = 0;
  for (let layer = 0; layer < layers; ++layer)
    kernels.forEach((kernel, k) => {
      const duration = 0.2 + 0.13 * k;
      steps.push({ index: steps.length, kernel: kernel.id, call: null, name: kernel.name, start_ms: start, duration_ms: duration, label: 'predicted', threads: 4, reads: [name()], writes: [name()] });
      start += duration;
      tensors.push({ name: name(), offset: (steps.length % 3) * 2e6, bytes: 1e6 + 1e6 * (k % 2), first_step: steps.length - 1, last_step: steps.length });
    });
  return {
    ok: true, verdict: 'made-up.onnx takes about 31 ms in 72 calls of 6 kernels.', title: named(names++), machine: 'Neoverse V1', figures: 'from a file', threads: 4,
    kernels: kernels.map((kernel, k) => ({ id: kernel.id, name: kernel.name, times: kernel.times, operations: 6e8 * (k + 1), bytes: 3e6 * (1 + k % 3), least_ms: 0.1 + 0.05 * k,
      predicted_ms: k === 5 ? null : 0.2 + 0.13 * k, bound: k % 2 ? 'L2' : 'arithmetic', joules: { low: 1e-3, value: 2e-3 * (k + 1), high: 5e-3 * (k + 1) },
      reads: [{ tensor: name(), bytes: 2e6 }], writes: [{ tensor: name(), bytes: 1e6 }], accesses: 9e6, unique: 3e6, repeat: 3, nodes: [], operators: [{ op: 'MatMul', count: 1 }, { op: 'Add', count: 2 }] })),
    missing: [`3 x Shape: a function, no loops to look at`, name()],
    steps, graph: { nodes, edges },
    fusion: { before: { bytes: 6.1e8, ms: 44, flops_per_byte: 66.9 }, after: { bytes: 3.2e8, ms: 31, flops_per_byte: 121.4 } },
    pairs: [{ stage: 'before', first: 'MatMul', second: 'Add', times: 48, overlap_of_first: 0.4, overlap_of_second: 0.5, overlap_of_union: 0.31 }],
    arena: { bytes: 7e6, most_live: 6.2e6, constants: 4.4e8, tensors },
  };
}
