// One schedule on the stage: its accesses, what the caches do with them, and how far it has come.
import { record, Replay } from './simulate.js';
import { trace } from './trace.js';

/** Lines used between two uses of a line, by access; -1: the first use. */
export function stackDistances(lines, count, mostLines) {
  const sum = new Int32Array(count + 1), last = new Int32Array(mostLines).fill(-1), made = new Int32Array(count);
  const add = (k, by) => {
    for (let x = k + 1; x <= count; x += x & -x) sum[x] += by;
  };
  const upTo = (k) => {
    let all = 0;
    for (let x = k + 1; x > 0; x -= x & -x) all += sum[x];
    return all;
  };
  for (let k = 0; k < count; ++k) {
    const before = last[lines[k]];
    made[k] = before < 0 ? -1 : upTo(k - 1) - upTo(before);
    if (before >= 0) add(before, -1);
    add(k, 1);
    last[lines[k]] = k;
  }
  return made;
}

export class Lane {
  constructor(program) {
    this.program = program;
    this.traces = new Map();
  }

  /** What to play: a legal schedule; one that is refused shows the order as written, and does not move. */
  set(schedule, caches, asWritten) {
    this.schedule = schedule;
    this.isPlayable = schedule.code !== undefined;
    const order = this.isPlayable ? schedule : asWritten;
    this.order = order;
    if (!this.traces.has(order)) this.traces.set(order, trace(this.program, order));
    this.list = this.traces.get(order);
    this.caches = caches;
    this.seen = record(this.program, caches, this.list);
    this.replay = new Replay(this.program, caches, this.list);
    const n = this.list.accesses, total = this.replay.all.stages[0].lines;
    this.lines = new Int32Array(n);
    for (let k = 0; k < n; ++k) this.lines[k] = this.replay.lineOf(k);
    this.distances = stackDistances(this.lines, n, total);
    this.previous = new Int32Array(n).fill(-1);
    const last = new Int32Array(total).fill(-1);
    for (let k = 0; k < n; ++k) {
      this.previous[k] = last[this.lines[k]];
      last[this.lines[k]] = k;
    }
    this.loads = new Int32Array(total);
    this.pictures = new Map();
    this.at = 0;
    this.#index();
  }

  /** So that its first `count` accesses are done. */
  to(count) {
    count = Math.max(0, Math.min(count, this.list.accesses));
    if (count < this.at) {
      this.replay.rewind();
      this.loads.fill(0);
      this.at = 0;
    }
    for (let k = this.at; k < count; ++k) if (this.seen.kind[k] !== 0) ++this.loads[this.lines[k]];
    this.replay.to(count);
    this.at = count;
  }

  /** The work that is done: operations; instances of statements where there are none. */
  get work() {
    return this.at === 0 ? 0 : this.workOf(this.list.instance[this.at - 1]);
  }
  get allWork() {
    return this.list.instances === 0 ? 0 : this.workOf(this.list.instances - 1);
  }
  workOf(instance) {
    const flops = this.list.flops[instance];
    return this.list.flops[this.list.instances - 1] > 0 ? flops : instance + 1;
  }
  /** Goes to where as much work is done. */
  toWork(work) {
    let lo = 0, hi = this.list.instances;
    while (lo < hi) {
      const middle = (lo + hi) >> 1;
      if (this.workOf(middle) <= work) lo = middle + 1;
      else hi = middle;
    }
    this.to(lo >= this.list.instances ? this.list.accesses : this.list.first[lo]);
  }

  /** The access and the instance that were done last, or -1. */
  get access() {
    return this.at - 1;
  }
  get instance() {
    return this.at === 0 ? -1 : this.list.instance[this.at - 1];
  }
  itersOf(instance) {
    const { iters, depth } = this.list;
    return Array.from(iters.subarray(instance * depth, instance * depth + this.program.statements[this.list.statement[instance]].iters.length));
  }
  valuesOf(instance) {
    const { values, variables } = this.list;
    return values.subarray(instance * variables, (instance + 1) * variables);
  }
  bytesIn(level) {
    return this.seen.misses[level][this.at] * this.caches[level].line_bytes;
  }
  bytesOut(level) {
    return this.seen.back[level][this.at] * this.caches[level].line_bytes;
  }
  /** Behind `from`, the end of the next access for which the test holds; -1 where there is none. */
  next(test, from = this.at) {
    for (let k = from; k < this.list.accesses; ++k) if (test(k)) return k + 1;
    return -1;
  }

  /** Bounds of the main statement's iterators, and where each of its iterations is in the order. */
  #index() {
    const { program, list } = this, main = program.main, depth = program.statements[main].iters.length;
    const lo = new Array(depth).fill(Infinity), hi = new Array(depth).fill(-Infinity);
    for (let n = 0; n < list.instances; ++n) {
      if (list.statement[n] !== main) continue;
      for (let d = 0; d < depth; ++d) {
        const x = list.iters[n * list.depth + d];
        if (x < lo[d]) lo[d] = x;
        if (x > hi[d]) hi[d] = x;
      }
    }
    this.lo = lo.map((x) => (Number.isFinite(x) ? x : 0));
    this.hi = hi.map((x) => (Number.isFinite(x) ? x : 0));
    const size = this.lo.reduce((all, x, d) => all * (this.hi[d] - x + 1), 1);
    this.instanceAt = size <= 4e6 ? new Int32Array(size).fill(-1) : null;
    if (!this.instanceAt) return;
    for (let n = 0; n < list.instances; ++n)
      if (list.statement[n] === main) this.instanceAt[this.#place((d) => list.iters[n * list.depth + d])] = n;
  }
  #place(of) {
    let at = 0;
    for (let d = 0; d < this.lo.length; ++d) {
      const x = of(d);
      if (x < this.lo[d] || x > this.hi[d]) return -1;
      at = at * (this.hi[d] - this.lo[d] + 1) + x - this.lo[d];
    }
    return at;
  }
  /** The instance of the main statement at these iterators; -1 where there is none. */
  find(iters) {
    if (!this.instanceAt) return -1;
    const at = this.#place((d) => iters[d]);
    return at < 0 ? -1 : this.instanceAt[at];
  }
}
