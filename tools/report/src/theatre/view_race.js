// Both schedules by work done: bytes per operation that came into the L1 so far, and the least that any order needs.

const LEFT = 44, TOP = 16, BOTTOM = 24, RIGHT = 92;
export const heightOf = () => 170;

/** Bytes that any order loads into so many bytes of cache, at least; nothing where it is not known. */
export function leastOf(program, fastBytes) {
  const found = (program.least || []).find(([bytes]) => bytes >= fastBytes);
  return found ? found[1] : null;
}

const SAMPLES = 160;
function curveOf(lane) {
  const { list, seen } = lane, line = lane.caches[0].line_bytes, made = [];
  if (list.instances === 0) return made;
  for (let k = 1; k <= SAMPLES; ++k) {
    const instance = Math.min(list.instances - 1, Math.ceil((k * list.instances) / SAMPLES) - 1);
    const end = instance + 1 < list.instances ? list.first[instance + 1] : list.accesses;
    const work = lane.workOf(instance);
    if (work > 0) made.push([work, (seen.misses[0][end] * line) / work]);
  }
  return made;
}

export function draw(s, lanes, options, ink) {
  const playable = lanes.filter((lane) => lane.isPlayable);
  if (playable.length === 0) return;
  const curves = playable.map(curveOf), program = lanes[0].program;
  const total = playable[0].allWork, least = leastOf(program, playable[0].caches[0].bytes);
  const bound = least !== null && total > 0 ? least / total : null;
  // What comes before a tenth of the work is mostly first uses.
  const values = curves.flatMap((c) => c.slice(Math.floor(c.length / 12)).map((p) => p[1])).filter((v) => v > 0);
  const most = Math.max(...values, bound || 0) * 1.25 || 1, fewest = Math.min(...values, bound || Infinity) / 1.4;
  const w = s.width - LEFT - RIGHT, h = s.height - TOP - BOTTOM;
  const xOf = (work) => LEFT + (work / total) * w;
  const yOf = (v) => TOP + h - (Math.log(Math.min(Math.max(v, fewest), most) / fewest) / Math.log(most / fewest)) * h;
  s.rect(LEFT, TOP, w, h, ink.ground);
  for (let p = Math.ceil(Math.log2(fewest)); p <= Math.log2(most); p += Math.max(1, Math.round(Math.log2(most / fewest) / 5))) {
    const y = yOf(2 ** p);
    s.line([LEFT, y, LEFT + w, y], ink.line, 1);
    s.text(LEFT - 4, y + 4, 2 ** p >= 1 ? 2 ** p : `1/${2 ** -p}`, ink.soft, 10, 'end');
  }
  s.text(LEFT, 11, `bytes into L1 per ${options.unit}, by work done`, ink.soft, 11);
  s.text(LEFT + w / 2, s.height - 7, `${options.unit} done →`, ink.soft, 11, 'middle');
  if (bound) {
    s.line([LEFT, yOf(bound), LEFT + w, yOf(bound)], ink.bound, 1.4, [6, 4]);
    s.text(LEFT + 4, yOf(bound) + 13, `no order needs less than ${short(bound)}`, ink.bound, 10.5);
  }
  const labels = [];
  playable.forEach((lane, k) => {
    const colour = lane === lanes[0] ? ink.a : ink.b;
    const points = curves[k].flatMap(([work, v]) => [xOf(work), yOf(v)]);
    if (points.length > 3) s.line(points, colour, 1, [2, 3]);
    const done = curves[k].filter(([work]) => work <= lane.work).flatMap(([work, v]) => [xOf(work), yOf(v)]);
    const now = lane.work > 0 ? lane.bytesIn(0) / lane.work : 0;
    if (lane.work > 0) {
      if (done.length > 3) s.line([...done, xOf(lane.work), yOf(now)], colour, 2.6);
      s.dot(xOf(lane.work), yOf(now), 4.5, colour);
    }
    const end = curves[k].length ? curves[k][curves[k].length - 1][1] : 0;
    labels.push({ y: yOf(lane.work > 0 ? now : end), text: short(lane.work > 0 ? now : end), name: lane === lanes[0] ? 'A' : 'B', colour });
  });
  labels.sort((a, b) => a.y - b.y);
  if (labels.length === 2 && labels[1].y - labels[0].y < 22) {
    const middle = (labels[0].y + labels[1].y) / 2;
    labels[0].y = middle - 11;
    labels[1].y = middle + 11;
  }
  for (const label of labels) s.text(LEFT + w + 8, label.y + 7, `${label.name}  ${label.text}`, label.colour, 19, 'start', 'bold');
}

export const short = (v) => (v >= 100 ? v.toFixed(0) : v >= 10 ? v.toFixed(1) : v >= 1 ? v.toFixed(2) : v >= 0.0995 ? v.toFixed(2) : v.toFixed(3));
