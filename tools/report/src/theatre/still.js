// A still of the stage as one SVG: loops, iteration space, arrays, caches, reuse and the race, for both schedules.
import { inksOf, SvgSurface } from './draw.js';
import { Stage, metersOf } from './stage.js';
import * as arrays from './view_arrays.js';
import * as caches from './view_caches.js';
import * as loops from './view_loops.js';
import * as race from './view_race.js';
import * as reuse from './view_reuse.js';
import * as space from './view_space.js';

export const VIEWS = { loops, space, arrays, caches, reuse };
const WIDE = 430, GAP = 24;

/** What a view of lane k needs to know besides the lane. */
export function viewOptions(stage, k) {
  const { schedule } = stage.lanes[k];
  return {
    x: stage.x, y: stage.y, names: stage.names, unit: stage.data.unit || 'FLOP',
    witness: schedule.source && schedule.sink ? { source: schedule.source, sink: schedule.sink } : null,
  };
}
/** Without the distribution that only makes room for what follows. */
export const titleOf = (schedule) => schedule.title || (schedule.directives || 'as written').replace(/^(distribute\([^)]*\); )+/, '');

/** The SVG of a stage. `views`: which of them, in order; `both`: also schedule B. */
export function stillOf(stage, { views = ['loops', 'space', 'arrays', 'caches'], both = true, isDark = false, withRace = true } = {}) {
  const ink = inksOf(isDark), lanes = both ? [0, 1] : [0];
  const heights = views.map((name) => Math.max(...lanes.map((k) => VIEWS[name].heightOf(stage.lanes[k], viewOptions(stage, k), WIDE))));
  const columns = lanes.map((k) => {
    const lane = stage.lanes[k], options = viewOptions(stage, k);
    let y = 24;
    const parts = views.map((name, n) => {
      const height = heights[n], picture = new SvgSurface(WIDE, height);
      VIEWS[name].draw(picture, lane, options, ink);
      const part = { picture, y };
      y += height + 8;
      return part;
    });
    return { parts, height: y, lane };
  });
  const width = lanes.length * WIDE + (lanes.length - 1) * GAP + 24;
  const raceHeight = withRace ? race.heightOf() + 8 : 0;
  const whole = new SvgSurface(width, raceHeight + Math.max(...columns.map((c) => c.height)) + 8);
  whole.rect(0, 0, width, whole.height, ink.paper);
  if (withRace) {
    const picture = new SvgSurface(width - 24, race.heightOf());
    race.draw(picture, both ? stage.lanes : [stage.lanes[0]], viewOptions(stage, 0), ink);
    whole.add(picture, 12, 8);
  }
  columns.forEach((column, k) => {
    const x = 12 + k * (WIDE + GAP);
    const name = both ? `${'AB'[k]}  ${titleOf(column.lane.schedule)}` : titleOf(column.lane.schedule);
    whole.text(x, raceHeight + 20, name.length > 64 ? `${name.slice(0, 63)}…` : name, k === 0 ? ink.a : ink.b, 14, 'start', 'bold');
    for (const { picture, y } of column.parts) whole.add(picture, x, raceHeight + y + 8);
  });
  return whole.toString();
}

/** The same of the theatre's data: what `mount` would show first. */
export const still = (data, options = {}) => stillOf(new Stage(data, options), options);
export { Stage, metersOf };
