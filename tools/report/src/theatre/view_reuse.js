// Space and time: every access by when (to the right) and where (down). Below, the last ones, with an arc to the use before: red where more lines than the
// cache has came in between, which is what a miss for want of capacity is.

const TOP = 14, ALL = 110, LAST = 130, GAP = 22, SHOWN = 96;

export const heightOf = () => TOP + ALL + GAP + LAST + 16;

export function draw(s, lane, _, ink) {
  const n = lane.list.accesses, lines = Math.max(1, lane.loads.length), width = s.width - 4;
  s.text(2, 10, 'all accesses: where, by when', ink.soft, 11);
  s.rect(2, TOP, width, ALL, ink.ground);
  const arrayOf = lane.replay.all.stages[0].arrayOf;
  const yOf = (line, top, height) => top + ((line + 0.5) / lines) * height;
  s.cached(lane, `reuse ${ink.isDark}`, (picture) => drawAll(picture, lane, n, width, lines, ink, arrayOf));
  const x = 2 + (lane.at / Math.max(1, n)) * width;
  s.line([x, TOP, x, TOP + ALL], ink.ink, 1.5);
  const top = TOP + ALL + GAP;
  const capacity = Math.floor(lane.caches[0].bytes / lane.caches[0].line_bytes);
  s.text(2, top - 6, `the last ${SHOWN}: an arc is a reuse, `, ink.soft, 11);
  s.text(172, top - 6, `red if ${capacity} lines or more came between`, ink.conflict, 11);
  s.rect(2, top, width, LAST, ink.ground);
  const from = Math.max(0, lane.at - SHOWN), step = width / SHOWN;
  const xOf = (k) => 2 + (k - from + 0.5) * step;
  for (let k = from; k < lane.at; ++k) {
    const y = yOf(lane.lines[k], top, LAST), before = lane.previous[k];
    if (before >= 0) {
      const isFar = lane.distances[k] >= capacity;
      const x0 = Math.max(2, xOf(before)), bend = Math.min(60, 6 + (xOf(k) - x0) / 4, 2 * (y - top) - 2);
      if (isFar || before >= from) s.curve(x0, y, (x0 + xOf(k)) / 2, y - bend, xOf(k), y, isFar ? ink.conflict : ink.hit, isFar ? 1.4 : 0.8);
    }
    const kind = lane.seen.kind[k];
    s.dot(xOf(k), y, kind ? 3 : 1.8, kind ? ink.kinds[kind] : ink.array(arrayOf[lane.lines[k]]));
  }
}

/** A mark for each place that has an access; misses above hits. */
function drawAll(s, lane, n, width, lines, ink, arrayOf) {
  const columns = Math.min(Math.floor(width / 2), Math.max(1, n)), rows = Math.min(lines, ALL >> 1);
  const marks = new Uint8Array(columns * rows), arrays = new Uint8Array(columns * rows);
  for (let k = 0; k < n; ++k) {
    const c = Math.floor((k * columns) / n), r = Math.floor((lane.lines[k] * rows) / lines), at = c * rows + r;
    const kind = lane.seen.kind[k];
    // A conflict can be cured; it is shown before capacity, and that before first uses.
    marks[at] = Math.max(marks[at], 1 + kind);
    arrays[at] = arrayOf[lane.lines[k]];
  }
  const w = width / columns, h = ALL / rows;
  const byColour = new Map();
  for (let at = 0; at < marks.length; ++at) {
    const mark = marks[at];
    if (mark === 0) continue;
    const colour = mark === 1 ? ink.array(arrays[at]) : ink.kinds[mark - 1], key = `${colour} ${mark === 1 ? 0.35 : 0.95}`;
    if (!byColour.has(key)) byColour.set(key, []);
    byColour.get(key).push(at);
  }
  for (const [key, places] of byColour) {
    const [colour, alpha] = key.split(' ');
    for (const at of places) s.rect(2 + Math.floor(at / rows) * w, TOP + (at % rows) * h, w + 0.2, h, colour, Number(alpha));
  }
}
