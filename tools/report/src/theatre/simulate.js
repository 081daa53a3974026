// What caches do with a program in an order: the counts of `kawara cache`, in the page.
import { Hierarchy, COUNTED } from './caches.js';
import { trace } from './trace.js';

/** Goes through a trace up to any access, forwards from where it is. */
export class Replay {
  constructor(program, caches, list) {
    this.program = program;
    this.caches = caches;
    this.list = list;
    this.isStore = Uint8Array.from(program.references, (r) => (r.kind === 'write' ? 1 : 0));
    this.bytes = Int32Array.from(program.references, (r) => program.arrays[r.array].element_bytes);
    this.arrayOf = Uint16Array.from(program.references, (r) => r.array);
    this.rewind();
  }
  rewind() {
    this.at = 0;
    this.all = new Hierarchy(this.caches, this.program.arrays, this.program.references.length);
  }
  /** Address of an access: its first byte. */
  addressOf(access) {
    return this.all.begin[this.arrayOf[this.list.reference[access]]] + this.list.at[access];
  }
  lineOf(access) {
    return this.addressOf(access) >> this.all.stages[0].shift;
  }
  /** So that the first `count` accesses are done. */
  to(count) {
    if (count < this.at) this.rewind();
    const { all, list, isStore, bytes, arrayOf } = this, shift = all.stages[0].shift;
    for (let k = this.at; k < count; ++k) {
      const reference = list.reference[k], address = all.begin[arrayOf[reference]] + list.at[k];
      const last = (address + bytes[reference] - 1) >> shift;
      for (let line = address >> shift; line <= last; ++line) all.access(line, reference, isStore[reference] === 1);
    }
    this.at = Math.max(this.at, count);
  }
}

const sumOf = (of) => {
  const all = Object.fromEntries(COUNTED.map((name) => [name, 0]));
  for (const count of of) for (const name of COUNTED) all[name] += count[name];
  return { ...all, hits: all.accesses - all.compulsory - all.capacity - all.conflict };
};

/** The counts of each level so far, in the words of `kawara cache --json`. */
export function countsOf(replay) {
  return replay.all.stages.map((stage, k) => {
    const all = sumOf(stage.of), line = replay.caches[k].line_bytes;
    return {
      name: replay.caches[k].name || `L${k + 1}`,
      ...all,
      bytes_in: (all.compulsory + all.capacity + all.conflict) * line,
      bytes_out: all.written_back * line,
      received: stage.received, not_there: stage.not_there, passed_on: stage.passed_on,
      lines: stage.lines_used, lines_out: stage.lines_out,
      references: stage.of.map((count) => ({ ...sumOf([count]) })),
    };
  });
}

/**
 * What caches, nearest first, do with all accesses of the program in that order.
 * @returns {{accesses: number, flops: number, levels: object[]}}
 */
export function simulate(program, caches, order) {
  const list = trace(program, order);
  const replay = new Replay(program, caches, list);
  replay.to(list.accesses);
  return { accesses: list.accesses, flops: list.instances ? list.flops[list.instances - 1] : 0, levels: countsOf(replay) };
}

/** The same with what each access did: `depth` caches it missed, `kind` of its miss at the L1, running sums of misses and write-backs. */
export function record(program, caches, list) {
  const replay = new Replay(program, caches, list), n = list.accesses;
  const depth = new Uint8Array(n), kind = new Uint8Array(n), evicted = new Int32Array(n).fill(-1), wroteBack = new Uint8Array(n);
  const misses = caches.map(() => new Int32Array(n + 1)), back = caches.map(() => new Int32Array(n + 1));
  for (let k = 0; k < n; ++k) {
    const before = replay.all.stages[0].writtenBack;
    replay.to(k + 1);
    depth[k] = replay.all.depth;
    kind[k] = replay.all.kind;
    if (replay.all.kind !== 0) evicted[k] = replay.all.stages[0].level.evicted;
    wroteBack[k] = replay.all.stages[0].writtenBack > before ? 1 : 0;
    for (let l = 0; l < caches.length; ++l) {
      misses[l][k + 1] = replay.all.stages[l].misses;
      back[l][k + 1] = replay.all.stages[l].writtenBack;
    }
  }
  return { depth, kind, evicted, wroteBack, misses, back, counts: countsOf(replay) };
}
