// Arrays as grids: an element's shade is the nearest cache that holds it, the ring is this access, the number is how often it came into the L1.
import { legible, mixed } from './draw.js';

const TOP = 16, GAP = 14, MOST_HEIGHT = 300;

/** Rows, columns and panels of an array: the last two dimensions are a panel. */
function panelsOf(array) {
  const shape = array.shape.length ? array.shape : [1];
  const columns = shape[shape.length - 1], rows = shape.length > 1 ? shape[shape.length - 2] : 1;
  const panels = shape.slice(0, -2).reduce((all, x) => all * x, 1);
  return { rows, columns, panels };
}

function layout(lane, width) {
  const { arrays } = lane.program;
  const shapes = arrays.map(panelsOf).map((p) => {
    // Long rows of panels are broken.
    const across = Math.max(1, Math.ceil(Math.sqrt((p.panels * p.rows) / Math.max(p.columns, 1))));
    const beside = Math.min(p.panels, across);
    return { ...p, beside, below: Math.ceil(p.panels / beside), wide: beside * p.columns + (beside - 1), high: Math.ceil(p.panels / beside) * (p.rows + 1) - 1 };
  });
  // As large as there is room for, one array after the other, in rows.
  const packed = (pitch) => {
    let x = 2, y = TOP, high = 0;
    const places = shapes.map((p, a) => {
      const wide = Math.max(p.wide * pitch, 7 * arrays[a].name.length);
      if (x > 2 && x + wide > width) {
        x = 2;
        y += high + TOP + 4;
        high = 0;
      }
      const place = { ...p, pitch, x, y };
      x += wide + GAP;
      high = Math.max(high, p.high * pitch);
      return place;
    });
    return { places, height: y + high, fits: y + high <= MOST_HEIGHT + TOP && shapes.every((p) => p.wide * pitch <= width - 4) };
  };
  let pitch = 20;
  while (pitch > 1.5 && !packed(pitch).fits) pitch -= 0.5;
  return packed(pitch);
}

export const heightOf = (lane, _, width) => layout(lane, width).height + 18;

const placeOf = (p, element) => {
  const inside = p.rows * p.columns, panel = Math.floor(element / inside), rest = element % inside;
  const row = Math.floor(rest / p.columns), column = rest % p.columns;
  return [
    p.x + ((panel % p.beside) * (p.columns + 1) + column) * p.pitch,
    p.y + (Math.floor(panel / p.beside) * (p.rows + 1) + row) * p.pitch,
  ];
};

export function draw(s, lane, _, ink) {
  const { places } = layout(lane, s.width), { program, replay } = lane;
  const { stages, begin } = replay.all;
  const shades = stages.map((_, k) => [1, 0.5, 0.26, 0.16][Math.min(k, 3)]);
  program.arrays.forEach((array, a) => {
    const p = places[a], colour = ink.array(a), count = array.bytes / array.element_bytes;
    s.text(p.x, p.y - 4, `${array.name}`, colour, 12, 'start', 'bold');
    for (let e = 0; e < count; ++e) {
      const address = begin[a] + e * array.element_bytes;
      let nearest = 0;
      while (nearest < stages.length && !stages[nearest].level.holds(address >> stages[nearest].shift)) ++nearest;
      const [x, y] = placeOf(p, e), side = p.pitch - (p.pitch > 5 ? 1 : 0);
      const shade = nearest < stages.length ? mixed(colour, ink.paper, shades[nearest]) : ink.ground;
      s.rect(x, y, side, side, shade);
      if (p.pitch >= 11) {
        const loads = lane.loads[address >> stages[0].shift];
        if (loads > 0) s.text(x + side / 2, y + p.pitch / 2 + 3, loads > 99 ? '…' : loads, legible(shade), 8, 'middle');
      }
    }
  });
  if (lane.access >= 0) drawAccesses(s, lane, places, ink);
  const y = layout(lane, s.width).height + 13;
  let x = 2;
  stages.forEach((_, k) => {
    s.rect(x, y - 8, 9, 9, mixed(ink.array(0), ink.paper, shades[k]));
    s.text(x + 12, y, `in ${lane.caches[k].name || `L${k + 1}`}`, ink.soft, 10);
    x += 50;
  });
  s.rect(x, y - 8, 9, 9, ink.ground);
  s.text(x + 12, y, 'memory; number: loads into L1', ink.soft, 10);
}

/** Those of the current instance so far; the last one thicker, in the colour of what it did. */
function drawAccesses(s, lane, places, ink) {
  const { list, program, seen } = lane, last = lane.access;
  for (let k = list.first[list.instance[last]]; k <= last; ++k) {
    const r = program.references[list.reference[k]], array = program.arrays[r.array], p = places[r.array];
    const [x, y] = placeOf(p, list.at[k] / array.element_bytes);
    const isLast = k === last;
    s.ring(x - 1, y - 1, p.pitch + 1, p.pitch + 1, isLast ? ink.kinds[seen.kind[k]] : ink.ink, isLast ? 3 : 1.2);
  }
}
