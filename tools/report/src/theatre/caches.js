// Caches in a row, nearest first, behind which there is memory: what src/cache does, access by access.

/** Which lines a cache holds. Each line keeps its way while it is there, so that it can be drawn. */
export class Level {
  /** @param {{bytes: number, line_bytes: number, ways: number, policy: string}} description ways 0: one set */
  constructor(description, lines) {
    const all = Math.floor(description.bytes / description.line_bytes);
    this.ways = description.ways || all;
    this.sets = Math.floor(all / this.ways);
    this.policy = description.policy || 'lru';
    this.slotOf = new Int32Array(lines).fill(-1);
    this.lineAt = new Int32Array(this.sets * this.ways).fill(-1);
    this.changed = new Uint8Array(this.sets * this.ways);
    this.older = new Int32Array(this.sets * this.ways); // lru: a list of each set's slots, the last used first
    this.newer = new Int32Array(this.sets * this.ways);
    this.last = new Int32Array(this.sets);
    this.oldest = new Int32Array(this.sets);
    this.turn = new Int32Array(this.sets); // fifo: the next way
    this.bits = new Uint8Array(this.sets * this.ways); // plru: bit 1 is the root, 2b and 2b + 1 are below b
    for (let set = 0; set < this.sets; ++set) {
      const begin = set * this.ways, end = begin + this.ways - 1;
      for (let slot = begin; slot <= end; ++slot) {
        this.newer[slot] = slot < end ? slot + 1 : -1;
        this.older[slot] = slot > begin ? slot - 1 : -1;
      }
      this.last[set] = end;
      this.oldest[set] = begin;
    }
    this.isHit = true;
    this.evicted = -1; // of the last `use`: the line that made room, or -1
    this.evictedChanged = false;
  }

  holds(line) {
    return this.slotOf[line] >= 0;
  }

  /** The line is there afterwards; whether it was. */
  use(line, changes) {
    const slot = this.slotOf[line];
    this.evicted = -1;
    this.evictedChanged = false;
    if (slot >= 0) {
      if (changes) this.changed[slot] = 1;
      if (this.policy !== 'fifo') this.#touch(slot);
      return (this.isHit = true);
    }
    const set = line % this.sets;
    const taken = this.#victim(set);
    const out = this.lineAt[taken];
    if (out >= 0) {
      this.evicted = out;
      this.evictedChanged = this.changed[taken] === 1;
      this.slotOf[out] = -1;
    }
    this.lineAt[taken] = line;
    this.slotOf[line] = taken;
    this.changed[taken] = changes ? 1 : 0;
    if (this.policy !== 'fifo') this.#touch(taken);
    return (this.isHit = false);
  }
  useIfThere(line, changes) {
    this.evicted = -1;
    return this.slotOf[line] >= 0 && this.use(line, changes);
  }

  /** Age of a slot within its set under lru: 0 is the last used. */
  agesOf(set) {
    const ages = new Array(this.ways).fill(0);
    let age = 0;
    for (let slot = this.last[set]; slot >= 0; slot = this.older[slot]) ages[slot - set * this.ways] = age++;
    return ages;
  }

  #victim(set) {
    const begin = set * this.ways;
    if (this.policy === 'fifo') {
      const way = this.turn[set];
      this.turn[set] = way + 1 === this.ways ? 0 : way + 1;
      return begin + way;
    }
    if (this.policy === 'plru') {
      let node = 1;
      while (node < this.ways) node = node * 2 + this.bits[begin + node];
      return begin + node - this.ways;
    }
    return this.oldest[set];
  }
  #touch(slot) {
    const set = Math.floor(slot / this.ways);
    if (this.policy === 'plru') {
      const begin = set * this.ways;
      for (let node = slot - begin + this.ways; node > 1; node >>= 1) this.bits[begin + (node >> 1)] = node % 2 === 0 ? 1 : 0;
      return;
    }
    if (this.last[set] === slot) return;
    const newer = this.newer[slot], older = this.older[slot];
    this.older[newer] = older;
    if (older >= 0) this.newer[older] = newer;
    else this.oldest[set] = newer;
    this.older[slot] = this.last[set];
    this.newer[this.last[set]] = slot;
    this.newer[slot] = -1;
    this.last[set] = slot;
  }
}

export const COMPULSORY = 1, CAPACITY = 2, CONFLICT = 3;
export const COUNTED = ['accesses', 'compulsory', 'capacity', 'conflict', 'written_back'];

const emptyCount = () => ({ accesses: 0, compulsory: 0, capacity: 0, conflict: 0, written_back: 0 });

/** One after the other from address 0 on, each at a multiple of `unit` bytes. */
export function begins(arrays, unit) {
  let next = 0;
  return arrays.map((array) => {
    const begin = next;
    next += Math.ceil(array.bytes / unit) * unit;
    return begin;
  });
}

export class Hierarchy {
  constructor(descriptions, arrays, references) {
    this.begin = begins(arrays, descriptions[0].line_bytes);
    const end = arrays.reduce((most, array, a) => Math.max(most, this.begin[a] + array.bytes), 0);
    this.stages = descriptions.map((d) => {
      const shift = Math.log2(d.line_bytes);
      const lines = Math.floor(end / d.line_bytes) + 1;
      const level = new Level(d, lines);
      const needsFull = level.sets > 1 || level.policy !== 'lru';
      return {
        shift, lines, level,
        allocates: d.allocates !== false,
        writesBack: d.writes_back !== false,
        full: needsFull ? new Level({ ...d, ways: 0, policy: 'lru' }, lines) : null,
        wasUsed: new Uint8Array(lines),
        arrayOf: this.#arraysOf(arrays, lines, d.line_bytes),
        of: Array.from({ length: references }, emptyCount),
        lines_out: new Array(arrays.length).fill(0),
        lines_used: new Array(arrays.length).fill(0),
        received: 0, not_there: 0, passed_on: 0,
        misses: 0, writtenBack: 0,
      };
    });
    this.kind = 0; // of the access just done: which miss it was at the L1, or 0
    this.depth = 0; // ... and how many caches it missed
  }

  /** The last array that begins before a line's end. */
  #arraysOf(arrays, lines, lineBytes) {
    const made = new Uint16Array(lines);
    for (let line = 0; line < lines; ++line) {
      let found = 0, latest = 0;
      arrays.forEach((array, a) => {
        if (this.begin[a] < (line + 1) * lineBytes && this.begin[a] >= latest && array.bytes > 0) {
          found = a;
          latest = this.begin[a];
        }
      });
      made[line] = found;
    }
    return made;
  }

  /** An access to a line of the L1. */
  access(line, reference, isStore) {
    this.kind = 0;
    this.depth = 0;
    this.#use(0, line, reference, isStore);
  }

  #use(k, line, reference, isStore) {
    const stage = this.stages[k];
    ++stage.of[reference].accesses;
    if (isStore && !stage.allocates) return this.#storeAround(k, line, reference);
    const { level } = stage;
    const isHit = level.use(line, isStore && stage.writesBack);
    const evicted = level.evicted, evictedChanged = level.evictedChanged;
    const isInFull = stage.full !== null && stage.full.use(line, false);
    if (!isHit) {
      this.#countMiss(k, line, reference, isInFull);
      if (k + 1 < this.stages.length) this.#use(k + 1, this.#behind(k, line), reference, false);
      if (evictedChanged) this.#writeBack(k, evicted, reference);
    }
    if (isStore && !stage.writesBack) this.#passOn(k, line, reference);
  }
  #storeAround(k, line, reference) {
    const stage = this.stages[k];
    const isHit = stage.level.useIfThere(line, stage.writesBack);
    const isInFull = stage.full !== null && stage.full.useIfThere(line, false);
    if (!isHit) this.#countMiss(k, line, reference, isInFull);
    if (!isHit || !stage.writesBack) this.#passOn(k, line, reference);
  }
  #passOn(k, line, reference) {
    ++this.stages[k].passed_on;
    if (k + 1 < this.stages.length) this.#use(k + 1, this.#behind(k, line), reference, true);
  }
  #countMiss(k, line, reference, isInFull) {
    const stage = this.stages[k], count = stage.of[reference];
    const kind = this.#firstUse(stage, line) ? COMPULSORY : isInFull ? CONFLICT : CAPACITY;
    ++count[COUNTED[kind]];
    ++stage.misses;
    if (k === 0) this.kind = kind;
    this.depth = Math.max(this.depth, k + 1);
  }
  #firstUse(stage, line) {
    if (stage.wasUsed[line] === 1) return false;
    stage.wasUsed[line] = 1;
    ++stage.lines_used[stage.arrayOf[line]];
    return true;
  }
  #writeBack(k, line, reference) {
    const stage = this.stages[k];
    ++stage.of[reference].written_back;
    ++stage.writtenBack;
    ++stage.lines_out[stage.arrayOf[line]];
    if (k + 1 < this.stages.length) this.#receive(k + 1, this.#behind(k, line), reference);
  }
  #receive(k, line, reference) {
    const stage = this.stages[k];
    ++stage.received;
    const keeps = stage.writesBack;
    if (!stage.allocates) {
      if (!stage.level.useIfThere(line, keeps)) {
        ++stage.not_there;
        if (k + 1 < this.stages.length) this.#receive(k + 1, this.#behind(k, line), reference);
        return;
      }
    } else {
      this.#firstUse(stage, line);
      const isHit = stage.level.use(line, keeps);
      const evicted = stage.level.evicted, evictedChanged = stage.level.evictedChanged;
      if (stage.full) stage.full.use(line, false);
      if (!isHit) ++stage.not_there;
      if (evictedChanged) this.#writeBack(k, evicted, reference);
    }
    if (!keeps && k + 1 < this.stages.length) this.#receive(k + 1, this.#behind(k, line), reference);
  }
  #behind(k, line) {
    return line >> (this.stages[k + 1].shift - this.stages[k].shift);
  }
}
