// The caches as sets and ways: colour is the array, strength the age, a corner what has changed; what just happened stands beside.
import { legible, mixed } from './draw.js';

const LEFT = 34, TOP = 17, MOST_SETS = 24, MOST_SLOTS = 1024;
export const KINDS = ['hit', 'compulsory miss', 'capacity miss', 'conflict miss'];

/** "B[3, 4..7]" for a line of an array. */
export function lineText(lane, level, line) {
  const stage = lane.replay.all.stages[level], { begin } = lane.replay.all;
  const a = stage.arrayOf[line], array = lane.program.arrays[a];
  const bytes = lane.caches[level].line_bytes, first = Math.max(0, Math.floor((line * bytes - begin[a]) / array.element_bytes));
  const count = Math.max(1, Math.floor(bytes / array.element_bytes));
  const index = [];
  let rest = first;
  for (let d = array.shape.length - 1; d >= 0; --d) {
    index.unshift(rest % array.shape[d]);
    rest = Math.floor(rest / array.shape[d]);
  }
  const last = index.pop() ?? 0;
  return `${array.name}[${[...index, count > 1 ? `${last}..${last + count - 1}` : last].join(', ')}]`;
}

/** Where levels stand: beside each other as far as there is room. */
function frames(lane, width) {
  const made = [];
  let left = 0, y = 0, high = 0;
  lane.replay.all.stages.forEach((stage, k) => {
    const { sets, ways } = stage.level;
    // One set is broken into rows.
    const columns = sets === 1 ? Math.min(ways, k === 0 ? 8 : 32) : ways, rows = sets === 1 ? Math.ceil(ways / columns) : sets;
    if (k > 0 && rows * columns > MOST_SLOTS) {
      // Its lines would be dust: only how many it holds is told.
      if (left > 0) y += high + 6;
      made.push({ k, columns, rows: 0, w: 1, h: 1, x: 0, y: y + TOP, isSmall: true, sets });
      left = 0;
      high = 0;
      y += TOP;
      return;
    }
    const isSmall = k > 0 || rows > MOST_SETS;
    const w = Math.min((width - LEFT - 4) / columns, isSmall ? 9 : 66), h = isSmall ? Math.max(2, Math.min(9, 110 / rows)) : Math.min(18, 220 / rows);
    const wide = Math.max(LEFT + columns * w, 232) + 12;
    if (left > 0 && left + wide > width) {
      left = 0;
      y += high + 6;
      high = 0;
    }
    made.push({ k, columns, rows, w, h, x: left, y: y + TOP, isSmall, sets });
    left += wide;
    high = Math.max(high, TOP + rows * h);
  });
  return { made, height: y + high + 6 };
}

export const heightOf = (lane, _, width) => frames(lane, width).height + 18;

export function draw(s, lane, _, ink) {
  const { made, height } = frames(lane, s.width);
  for (const f of made) drawLevel(s, lane, f, ink);
  s.text(2, height + 11, whatHappened(lane), lane.access < 0 ? ink.soft : ink.kinds[lane.seen.kind[lane.access]], 11, 'start', 'bold');
}

/** "read B[3, 4]: conflict miss, puts out A[0, 0..3]" */
export function whatHappened(lane) {
  if (lane.access < 0) return 'nothing has been touched yet';
  const k = lane.access, { list, program, seen } = lane, r = program.references[list.reference[k]];
  const out = seen.evicted[k] >= 0 ? `, puts out ${lineText(lane, 0, seen.evicted[k])}${seen.wroteBack[k] ? ' (written back)' : ''}` : '';
  return `${r.kind} ${r.text}: ${KINDS[seen.kind[k]]}${out}`;
}

function drawLevel(s, lane, f, ink) {
  const stage = lane.replay.all.stages[f.k], { level } = stage, d = lane.caches[f.k];
  const size = d.bytes >= 1024 && d.bytes % 1024 === 0 ? `${d.bytes / 1024} KiB` : `${d.bytes} B`;
  const organised = f.sets === 1 ? 'one set' : `${level.sets} sets × ${level.ways} ways`;
  s.text(f.x + 2, f.y - 5, `${d.name || `L${f.k + 1}`}: ${size}, ${organised}, ${d.line_bytes} B lines, ${level.policy}${f.rows === 0 ? `: ${level.lineAt.reduce((n, l) => n + (l >= 0), 0)} lines in it` : ''}`, ink.soft, 11);
  const line = f.k === 0 && lane.access >= 0 ? lane.lines[lane.access] : -1;
  for (let row = 0; row < f.rows; ++row) {
    const ages = f.sets > 1 && level.policy === 'lru' ? level.agesOf(row) : null;
    if (f.sets > 1 && !f.isSmall) s.text(f.x + LEFT - 5, f.y + row * f.h + f.h - 4, `${row}`, ink.soft, 9, 'end');
    for (let column = 0; column < f.columns; ++column) {
      const slot = row * f.columns + column;
      if (slot >= level.lineAt.length) break;
      const held = level.lineAt[slot], x = f.x + LEFT + column * f.w, y = f.y + row * f.h;
      const gap = f.w > 4 ? 1 : 0;
      if (held < 0) {
        s.rect(x, y, f.w - gap, f.h - gap, ink.ground);
        continue;
      }
      const fresh = ages ? 1 - (0.62 * ages[column]) / Math.max(1, f.columns) : 0.85;
      const colour = mixed(ink.array(stage.arrayOf[held]), ink.paper, fresh);
      s.rect(x, y, f.w - gap, f.h - gap, colour);
      if (level.changed[slot]) s.rect(x + f.w - gap - Math.min(5, f.w / 2), y, Math.min(5, f.w / 2), Math.min(5, f.h / 2), ink.ink);
      if (!f.isSmall && f.w >= 52 && f.h >= 11) {
        s.text(x + 4, y + f.h - 5, lineText(lane, f.k, held), legible(colour), 9);
      }
      if (held === line) s.ring(x, y, f.w - gap, f.h - gap, ink.kinds[lane.seen.kind[lane.access]], 3);
    }
  }
}
