// The iteration space in two dimensions: colour is when an iteration runs, lines are tiles, the ring is now.
import { threadColour, timeColour } from './draw.js';
import { loopsAround } from './code_text.js';

const LEFT = 26, TOP = 16, MOST = 300;

function frame(lane, options, width) {
  const { lo, hi } = lane;
  const y = options.y, x = options.x;
  const columns = hi[x] - lo[x] + 1, rows = y === x ? 1 : hi[y] - lo[y] + 1;
  const pitch = Math.max(2, Math.min((width - LEFT - 4) / columns, MOST / rows, 26));
  return { columns, rows, pitch, x, y };
}

export const heightOf = (lane, options, width) => {
  if (lane.lo.length === 0) return 20;
  const { rows, pitch } = frame(lane, options, width);
  return TOP + rows * pitch + 22;
};

/** Variables of loops over whole tiles of a statement: an iterator has them more than once, 8*i.0 + i.1. */
export function tileVariables(order, statement) {
  const found = new Set();
  const gather = (code) => {
    for (const step of code) {
      if (step.do) gather(step.do);
      else if (step.then) gather([...step.then, ...(step.else || [])]);
      else if (step.run === statement)
        for (const { v = [] } of step.at) {
          const least = Math.min(...v.map(([, factor]) => Math.abs(factor)));
          for (const [variable, factor] of v) if (Math.abs(factor) > least) found.add(variable);
        }
    }
  };
  gather(order.code);
  return [...found];
}

/** Loops that run on several processors: their number is a colour. */
const threadsOf = (order, main) => loopsAround(order, main).filter((l) => l.mark && !l.mark.startsWith('vector')).map((l) => l.variable);
/** Loops whose iterations run at the same time: lanes of a vector, threads of a block. */
const togetherOf = (order, main) => loopsAround(order, main).filter((l) => /^(vector|thread)/.test(l.mark)).map((l) => l.variable);

/** The iteration that is shown for a place: the current one's other iterators, or the given ones. */
export function pointOf(lane, options, row, column) {
  const now = lane.instance;
  const main = lane.program.main;
  let base = options.fixed || lane.lastMain;
  if (now >= 0 && lane.list.statement[now] === main) base = lane.lastMain = lane.itersOf(now);
  const point = base ? base.slice() : lane.lo.slice();
  point[options.y] = lane.lo[options.y] + row;
  point[options.x] = lane.lo[options.x] + column;
  return point;
}

export function draw(s, lane, options, ink) {
  if (lane.lo.length === 0) return;
  const f = frame(lane, options, s.width);
  const { names } = options;
  const left = LEFT, total = lane.list.instances;
  const threads = threadsOf(lane.order, lane.program.main), together = togetherOf(lane.order, lane.program.main), tiles = tileVariables(lane.order, lane.program.main);
  const key = (n, variables) => {
    const values = lane.valuesOf(n);
    let made = 0;
    for (const v of variables) made = made * 64 + values[v];
    return made;
  };
  const shown = [], point = pointOf(lane, options, 0, 0);
  const now = lane.instance;
  for (let r = 0; r < f.rows; ++r)
    for (let c = 0; c < f.columns; ++c) {
      point[f.y] = lane.lo[f.y] + r;
      point[f.x] = lane.lo[f.x] + c;
      const n = lane.find(point);
      shown.push(n);
      if (n < 0) continue;
      const share = n / Math.max(1, total - 1), isDone = n <= now;
      const colour = threads.length ? threadColour(key(n, threads), share, ink.isDark) : timeColour(share);
      const gap = f.pitch > 6 ? 1 : 0;
      s.rect(left + c * f.pitch, TOP + r * f.pitch, f.pitch - gap, f.pitch - gap, colour, isDone ? 1 : 0.28);
    }
  if (tiles.length) drawTiles(s, shown, f, left, (n) => key(n, tiles), ink);
  if (together.length && now >= 0) drawTogether(s, lane, shown, f, left, together, ink);
  if (options.witness) drawWitness(s, options.witness, f, lane, left, ink);
  if (now >= 0 && lane.list.statement[now] === lane.program.main && !options.witness) {
    const point = lane.itersOf(now);
    s.ring(left + (point[f.x] - lane.lo[f.x]) * f.pitch - 1, TOP + (point[f.y] - lane.lo[f.y]) * f.pitch - 1, f.pitch + 1, f.pitch + 1, ink.ink, 2.5);
  }
  s.text(left, 11, `${names[f.x]} →`, ink.soft, 11);
  if (f.y !== f.x) s.text(2, TOP + 11, `${names[f.y]} ↓`, ink.soft, 11);
  const rest = names.map((name, d) => [name, d]).filter(([, d]) => d !== f.x && d !== f.y);
  const at = pointOf(lane, options, 0, 0);
  const words = rest.map(([name, d]) => `${name} = ${at[d]}`).join(', ');
  const legend = TOP + f.rows * f.pitch + 15;
  if (!threads.length) {
    for (let k = 0; k < 40; ++k) s.rect(left + 26 + k * 1.6, legend - 8, 1.8, 8, timeColour(k / 39));
    s.text(left, legend, 'first', ink.soft, 10);
    s.text(left + 94, legend, 'last', ink.soft, 10);
  } else {
    s.text(left, legend, 'one colour a thread or block', ink.soft, 10);
  }
  if (words) s.text(s.width - 4, 11, words, ink.soft, 11, 'end');
}

function drawTiles(s, shown, f, left, keyOf, ink) {
  const keys = shown.map((n) => (n < 0 ? -1 : keyOf(n)));
  for (let r = 0; r < f.rows; ++r)
    for (let c = 0; c < f.columns; ++c) {
      const own = keys[r * f.columns + c];
      const x = left + c * f.pitch - 0.5, y = TOP + r * f.pitch - 0.5;
      if (c > 0 && keys[r * f.columns + c - 1] !== own) s.line([x, y, x, y + f.pitch], ink.ink, 1.3);
      if (r > 0 && keys[(r - 1) * f.columns + c] !== own) s.line([x, y, x + f.pitch, y], ink.ink, 1.3);
    }
}

/** Frames what runs at the same time as the current instance. */
function drawTogether(s, lane, shown, f, left, together, ink) {
  const now = lane.instance, own = lane.valuesOf(now), step = lane.list.step[now];
  const isWith = (n) => n >= 0 && lane.list.step[n] === step && lane.valuesOf(n).every((value, v) => value === own[v] || together.includes(v));
  shown.forEach((n, at) => {
    if (!isWith(n)) return;
    const x = left + (at % f.columns) * f.pitch, y = TOP + Math.floor(at / f.columns) * f.pitch;
    s.ring(x + 0.5, y + 0.5, f.pitch - 2, f.pitch - 2, ink.ink, 1.4);
  });
}

/** The two iterations that would run in the wrong order. */
function drawWitness(s, witness, f, lane, left, ink) {
  const middle = ({ iters }) => [
    left + ((iters[f.x] ?? 0) - lane.lo[f.x] + 0.5) * f.pitch,
    TOP + ((iters[f.y] ?? 0) - lane.lo[f.y] + 0.5) * f.pitch,
  ];
  const [x0, y0] = middle(witness.source), [x1, y1] = middle(witness.sink), half = f.pitch / 2;
  s.ring(x0 - half, y0 - half, f.pitch, f.pitch, ink.conflict, 3);
  s.ring(x1 - half, y1 - half, f.pitch, f.pitch, ink.conflict, 3);
  const bend = Math.max(14, Math.abs(x1 - x0) / 3);
  s.curve(x0, y0, (x0 + x1) / 2 + bend, (y0 + y1) / 2 - bend, x1, y1, ink.conflict, 2);
  s.dot(x1, y1, 3.5, ink.conflict);
}
