// What the reader has chosen and where the clock stands, without a page around it.
import { Lane } from './lane.js';

/** Directives with a gap for numbers: tilings of the same loops are one family. */
const shapeOf = (directives) => directives.replace(/=\s*\d+/g, '=…');

export class Stage {
  /** options: a, b (numbers or directives of schedules), caches, x, y, share (of the work that is done) */
  constructor(data, options = {}) {
    this.data = data;
    this.given = options.given || options.caches || data.caches; // before the reader moved anything
    this.caches = structuredClone(options.caches || this.given);
    this.chosen = [this.find(options.a, 0), this.find(options.b, this.#other())];
    this.lanes = [new Lane(data), new Lane(data)];
    this.leader = 0;
    this.names = data.statements[data.main].iters;
    const depth = this.names.length;
    const named = (name, otherwise) => (this.names.includes(name) ? this.names.indexOf(name) : otherwise);
    this.y = named(options.y, Math.max(0, depth >= 3 ? depth - 3 : depth - 2));
    this.x = named(options.x, Math.max(0, depth >= 3 ? depth - 2 : depth - 1));
    this.fresh();
    this.toShare(options.share ?? 0.4);
  }

  /** The number of a schedule that is named by its number or directives. */
  find(which, otherwise) {
    if (typeof which === 'number' && this.data.schedules[which]) return which;
    const found = typeof which === 'string' ? this.data.schedules.findIndex((s) => s.directives === which) : -1;
    return found >= 0 ? found : otherwise;
  }
  /** A second schedule worth a look: the tiling that brings least into the L1, else another order. */
  #other() {
    const { schedules } = this.data;
    const cost = (s) => (s.counts && s.counts[0] ? s.counts[0].compulsory + s.counts[0].capacity + s.counts[0].conflict : Infinity);
    let best = Math.min(1, schedules.length - 1);
    schedules.forEach((s, k) => {
      if (s.code && k > 0 && cost(s) < cost(schedules[best])) best = k;
    });
    return best;
  }

  /** Simulates anew after a choice; the share of work that is done stays. */
  fresh() {
    const share = this.lanes[0].list ? this.share : 0;
    this.lanes.forEach((lane, k) => lane.set(this.data.schedules[this.chosen[k]], this.caches, this.data.schedules[0]));
    if (!this.lanes[this.leader].isPlayable && this.lanes[1 - this.leader].isPlayable) this.leader = 1 - this.leader;
    this.toShare(share);
  }
  choose(k, schedule) {
    this.chosen[k] = schedule;
    this.fresh();
  }
  /** Of one cache: bytes, line_bytes, ways or policy. What does not fit follows. */
  change(level, key, value) {
    this.caches[level] = { ...this.caches[level], [key]: value };
    let line = this.caches[0].line_bytes;
    this.caches = this.caches.map((d, k) => {
      line = k === level ? d.line_bytes : Math.max(line, k > level ? line : d.line_bytes);
      const bytes = Math.max(d.bytes, line), lines = bytes / line;
      return { ...d, line_bytes: line, bytes, ways: Math.min(d.ways, lines) };
    });
    for (let k = 1; k < this.caches.length; ++k) this.caches[k].line_bytes = Math.max(this.caches[k].line_bytes, this.caches[k - 1].line_bytes);
    this.fresh();
  }

  /** Schedules that are the chosen one with other numbers, by number. */
  familyOf(k) {
    const own = this.data.schedules[this.chosen[k]];
    if (!own.tile) return [];
    return this.data.schedules
      .map((s, n) => [s, n])
      .filter(([s]) => s.tile && s.family === own.family && shapeOf(s.directives) === shapeOf(own.directives))
      .map(([s, n]) => ({ tile: s.tile, schedule: n }))
      .sort((a, b) => a.tile - b.tile);
  }

  get lead() {
    return this.lanes[this.leader];
  }
  get share() {
    return this.lead.list.accesses ? this.lead.at / this.lead.list.accesses : 0;
  }
  toShare(share) {
    this.to(Math.round(share * this.lead.list.accesses));
  }
  /** The leader's first `count` accesses are done, and of the other as much work. */
  to(count) {
    this.lead.to(count);
    const other = this.lanes[1 - this.leader];
    if (this.lead.at >= this.lead.list.accesses) other.to(other.list.accesses);
    else other.toWork(this.lead.work);
  }
  isAtEnd() {
    return this.lead.at >= this.lead.list.accesses;
  }

  /** One access, iteration or tile on (1) or back (-1). */
  step(unit, by) {
    const { lead } = this, { list } = lead;
    if (unit === 'access') return this.to(lead.at + by);
    const tiles = unit === 'tile' ? this.tileKey : (n) => n;
    const now = Math.max(0, lead.instance), own = tiles(now);
    let n = now;
    if (by > 0) {
      while (n < list.instances && tiles(n) === own) ++n;
      return this.to(n < list.instances ? (unit === 'tile' ? list.first[n] + 1 : this.#endOf(n)) : list.accesses);
    }
    while (n > 0 && tiles(n) === own) --n;
    return this.to(unit === 'tile' ? list.first[n] : this.#endOf(n));
  }
  #endOf(instance) {
    const { list } = this.lead;
    return instance + 1 < list.instances ? list.first[instance + 1] : list.accesses;
  }
  /** Which tile an instance is in, or which iteration of the outermost loop where nothing is tiled. */
  get tileKey() {
    const { lead } = this;
    return (n) => {
      const values = lead.valuesOf(n);
      return this.tiles && this.tiles.length ? this.tiles.map((v) => values[v]).join(' ') : values[0];
    };
  }
  /** Plays to the next access that is a 'miss', 'conflict' or 'eviction'; whether there was one. */
  next(what) {
    const { seen } = this.lead;
    const tests = { miss: (k) => seen.kind[k] !== 0, conflict: (k) => seen.kind[k] === 3, eviction: (k) => seen.evicted[k] >= 0 };
    const end = this.lead.next(tests[what]);
    if (end >= 0) this.to(end);
    return end >= 0;
  }
}

/** Numbers for people: of one lane at its moment. */
export function metersOf(stage, k) {
  const lane = stage.lanes[k], { data } = stage;
  const energy = data.energy;
  const rows = lane.caches.map((d, l) => {
    const bytes = lane.bytesIn(l), back = lane.bytesOut(l);
    const accesses = l === 0 ? lane.at : lane.seen.misses[l - 1][lane.at], misses = lane.seen.misses[l][lane.at];
    const from = lane.caches[l + 1]?.name || 'memory';
    const figure = energy?.bytes.find((e) => e.name === from);
    return {
      name: d.name || `L${l + 1}`, from, bytes, back, hitRate: accesses ? 1 - misses / accesses : null,
      perWork: lane.work > 0 ? bytes / lane.work : null,
      picojoules: figure ? (bytes + back) * figure.picojoules : null,
    };
  });
  return rows;
}
