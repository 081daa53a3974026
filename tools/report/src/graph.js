// The graph of a model as it is drawn: nodes that one kernel runs are a group, laid out once, so that
// a reader can slide between the operators as written and the kernels.

import dagre from '@dagrejs/dagre';

export const kRow = 22, kWidth = 150, kGap = 10, kFoldedRows = 5;
const kMostForDagre = 500;

/** Groups: nodes joined by fused edges. */
export function groupsOf(graph) {
  const parent = new Map(graph.nodes.map(node => [node.id, node.id]));
  const find = id => {
    let root = id;
    while (parent.get(root) !== root) root = parent.get(root);
    parent.set(id, root);
    return root;
  };
  for (const edge of graph.edges)
    if (edge.fused && parent.has(edge.from) && parent.has(edge.to)) parent.set(find(edge.to), find(edge.from));
  const groups = new Map();
  for (const node of graph.nodes) {
    const root = find(node.id);
    if (!groups.has(root)) groups.set(root, { id: root, nodes: [], kernel: node.kernel ?? null });
    groups.get(root).nodes.push(node);
    groups.get(root).kernel ??= node.kernel ?? null;
  }
  const of = new Map();
  for (const group of groups.values()) for (const node of group.nodes) of.set(node.id, group);
  return { groups: [...groups.values()], of };
}

/** Rows that a group shows: all of it when open, else the first and how many more. */
export const rowsOf = (group, isOpen) =>
  isOpen || group.nodes.length <= kFoldedRows ? group.nodes.length : kFoldedRows;

/** What the layout needs, as values that can be sent to a worker. */
export function layoutTask(graph, { groups, of }, open) {
  const index = new Map(groups.map((group, k) => [group.id, k]));
  const edges = new Map();
  for (const edge of graph.edges) {
    const from = of.get(edge.from), to = of.get(edge.to);
    if (from && to && from !== to) edges.set(`${index.get(from.id)} ${index.get(to.id)}`, [index.get(from.id), index.get(to.id)]);
  }
  return { sizes: groups.map(group => rowsOf(group, open.has(group.id)) * (kRow + kGap) + 12), edges: [...edges.values()] };
}

/** Longest path from the inputs; within a rank beside what feeds it. For graphs that dagre takes seconds for. */
function ranked({ sizes, edges }) {
  const into = sizes.map(() => []), out = sizes.map(() => []), rank = sizes.map(() => 0);
  for (const [from, to] of edges) { into[to].push(from); out[from].push(to); }
  const left = into.map(each => each.length), ready = left.flatMap((n, k) => (n === 0 ? [k] : []));
  for (let k = 0; k < ready.length; ++k)
    for (const next of out[ready[k]]) {
      rank[next] = Math.max(rank[next], rank[ready[k]] + 1);
      if (--left[next] === 0) ready.push(next);
    }
  const ranks = [];
  ready.forEach(k => (ranks[rank[k]] ??= []).push(k));
  const places = sizes.map(() => ({ x: 0, y: 0 }));
  ranks.forEach((row, column) => {
    const wanted = k => (into[k].length ? into[k].reduce((sum, from) => sum + places[from].y, 0) / into[k].length : 0);
    const ordered = row.map(k => [wanted(k), k]).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    let end = -Infinity;
    for (const [at, k] of ordered) {
      const y = Math.max(at, end + sizes[k] / 2 + 20);
      places[k] = { x: column * (kWidth + 46), y };
      end = y + sizes[k] / 2;
    }
  });
  const side = ({ x, y }, by) => ({ x: x + by * kWidth / 2, y });
  return { places, lines: edges.map(([from, to]) => [side(places[from], 1), side(places[to], -1)]) };
}

export function layout(task) {
  if (task.sizes.length > kMostForDagre) return ranked(task);
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ rankdir: 'LR', nodesep: 18, ranksep: 46, edgesep: 10 });
  graph.setDefaultEdgeLabel(() => ({}));
  task.sizes.forEach((height, k) => graph.setNode(String(k), { width: kWidth, height }));
  task.edges.forEach(([from, to]) => graph.setEdge(String(from), String(to)));
  dagre.layout(graph);
  return {
    places: task.sizes.map((_, k) => { const { x, y } = graph.node(String(k)); return { x, y }; }),
    lines: task.edges.map(([from, to]) => graph.edge(String(from), String(to)).points.map(({ x, y }) => ({ x, y }))),
  };
}

const kSoon = 60;

/** In a worker, so that the page answers meanwhile; here where the browser gives none, or for few nodes. */
export function layoutSoon(task, script) {
  if (task.sizes.length < kSoon || !script) return Promise.resolve(layout(task));
  return new Promise(done => {
    const here = () => done(layout(task));
    try {
      const address = URL.createObjectURL(new Blob([script], { type: 'text/javascript' }));
      const worker = new Worker(address);
      const end = result => { worker.terminate(); URL.revokeObjectURL(address); result ? done(result) : here(); };
      worker.onmessage = event => end(event.data);
      worker.onerror = event => { event.preventDefault(); end(null); };
      worker.postMessage(task);
    } catch {
      here();
    }
  });
}

export function serveLayouts(scope) {
  scope.onmessage = event => scope.postMessage(layout(event.data));
}
