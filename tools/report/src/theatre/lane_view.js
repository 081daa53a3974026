// One schedule's column on the page.
import { CanvasSurface } from './draw.js';
import { el, table } from './element.js';
import { metersOf } from './stage.js';
import { titleOf, viewOptions } from './still.js';
import * as arrays from './view_arrays.js';
import * as caches from './view_caches.js';
import { loopLines } from './view_loops.js';
import * as reuse from './view_reuse.js';
import * as space from './view_space.js';

const PICTURES = [
  ['space', space, 'Iterations'],
  ['arrays', arrays, 'Arrays'],
  ['caches', caches, 'Caches'],
  ['reuse', reuse, 'Space and time'],
];
const GROUPS = [
  ['as written', 'as written'], ['asked', 'of this report'], ['order', 'orders of the loops'], ['tile', 'tiles'], ['mark', 'parallel and vector loops'], ['repair', 'proved repairs'],
];

const bytesText = (b) => (b >= 10240 ? `${(b / 1024).toFixed(1)} KiB` : `${b} B`);
const shareText = (x) => (x === null ? '–' : `${(100 * x).toFixed(1)} %`);
export const energyText = (pj) => (pj === null ? '–' : pj >= 1e6 ? `${(pj / 1e6).toFixed(2)} µJ` : pj >= 1e3 ? `${(pj / 1e3).toFixed(1)} nJ` : `${pj.toFixed(0)} pJ`);

export class LaneView {
  /** `changed()` is told when the reader chose another schedule. */
  constructor(stage, k, changed, heading = 3) {
    this.heading = heading;
    this.stage = stage;
    this.k = k;
    this.changed = changed;
    const letter = 'AB'[k];
    this.select = el('select', { 'aria-label': `schedule ${letter}`, onchange: () => this.#choose(Number(this.select.value)) }, this.#choices());
    this.tile = el('input', { type: 'range', min: '0', step: '1', 'aria-label': `tile size of schedule ${letter}`, oninput: () => this.#drag() });
    this.tileOutput = el('output');
    this.tileLabel = el('label', {}, 'tile', this.tile, this.tileOutput);
    this.verdict = el('p', { class: 'th-note' });
    this.refusal = el('div', { class: 'th-refusal', role: 'note' });
    this.loops = el('ol', { class: 'th-loops', 'aria-label': `loops of schedule ${letter}` });
    this.canvases = PICTURES.map(([name, , title]) => {
      const canvas = el('canvas', { role: 'img', 'aria-label': `${title} of schedule ${letter}; the tables below say the same` });
      canvas.dataset.view = name;
      return canvas;
    });
    this.meters = el('div');
    this.element = el('article', { class: `th-lane th-is-${letter.toLowerCase()}`, 'aria-label': `schedule ${letter}` },
      el('div', {}, el('div', { class: 'th-name' }, el(`h${heading}`, { class: 'th-h' }, letter), this.select), this.tileLabel, this.verdict, this.refusal), this.loops,
      el('div', { class: 'th-pair' }, this.#picture(0), this.#picture(1)), this.#picture(2), this.#picture(3), this.meters);
    this.update();
  }

  #picture(n) {
    return el('div', {}, el(`h${this.heading + 1}`, { class: 'th-hh' }, PICTURES[n][2]), this.canvases[n]);
  }
  #choices() {
    const { schedules } = this.stage.data;
    return GROUPS.map(([family, title]) => {
      const own = schedules.map((s, n) => [s, n]).filter(([s]) => s.family === family);
      if (own.length === 0) return null;
      const options = own.map(([s, n]) => el('option', { value: String(n) }, `${s.verdict === 'legal' ? '' : '✗ '}${titleOf(s)}`));
      return el('optgroup', { label: title }, options);
    });
  }
  #choose(n) {
    this.stage.choose(this.k, n);
    this.changed();
  }
  #drag() {
    const family = this.stage.familyOf(this.k), to = family[Number(this.tile.value)];
    if (to) this.#choose(to.schedule);
  }

  /** After another choice. */
  update() {
    const { stage, k } = this, schedule = stage.lanes[k].schedule, family = stage.familyOf(k);
    this.select.value = String(stage.chosen[k]);
    this.tileLabel.hidden = family.length < 2;
    this.tile.max = String(Math.max(0, family.length - 1));
    const place = family.findIndex((f) => f.schedule === stage.chosen[k]);
    this.tile.value = String(Math.max(0, place));
    this.tileOutput.textContent = place >= 0 ? String(family[place].tile) : '';
    const isLegal = schedule.verdict === 'legal';
    const where = stage.data.for_all_sizes === false ? ' at these sizes' : ' for all sizes';
    this.verdict.className = `th-note ${isLegal ? 'th-good' : 'th-bad'}`;
    this.verdict.textContent = isLegal
      ? `proved legal${where}${schedule.reassociates ? '; sums are added in another order, as the contract allows' : ''}`
      : `${schedule.verdict}: it cannot be played; the picture has the order as written`;
    this.refusal.hidden = isLegal;
    this.refusal.replaceChildren(...(isLegal ? [] : this.#refused(schedule)));
  }
  #refused(schedule) {
    const { data } = this.stage;
    const repairs = (schedule.repairs || []).map((text) => {
      const n = data.schedules.findIndex((s) => s.directives === text && s.code);
      return el('p', {}, n >= 0 ? el('button', { type: 'button', onclick: () => this.#choose(n) }, 'play the proved repair') : 'proved instead: ', ' ', el('code', {}, text));
    });
    return [el('p', {}, el('strong', {}, schedule.headline || 'refused')), ...(schedule.body || []).map((text) => el('p', {}, text)), ...repairs,
      ...(repairs.length ? [] : [el('p', {}, 'No way out was looked for or found.')])];
  }

  /** At the moment of the clock. */
  draw(ink) {
    const { stage, k } = this, lane = stage.lanes[k];
    this.#drawLoops(lane);
    // Asking for widths makes the browser lay the page out; they change with the window alone.
    this.widths ??= this.canvases.map((canvas) => Math.max(120, canvas.parentElement.clientWidth));
    const options = viewOptions(stage, k);
    PICTURES.forEach(([, view], n) => {
      const canvas = this.canvases[n], width = this.widths[n];
      const height = view.heightOf(lane, options, width);
      view.draw(new CanvasSurface(canvas, width, height), lane, options, ink);
    });
    this.#drawMeters();
  }
  #drawLoops(lane) {
    const lines = loopLines(lane);
    if (this.shownOrder !== lane.order) {
      this.shownOrder = lane.order;
      this.rows = lines.map((line) => {
        const value = el('span', { class: 'th-value' });
        const row = el('li', {}, el('span', {}, ' '.repeat(2 * line.depth) + line.text), el('span', {}, line.mark ? el('span', { class: 'th-mark' }, `${line.mark}  `) : null, value));
        return { row, value };
      });
      this.loops.replaceChildren(...this.rows.map((each) => each.row));
    }
    lines.forEach((line, n) => {
      this.rows[n].row.className = line.isNow ? 'th-now' : '';
      const text = line.value === null ? '' : `= ${line.value}`;
      if (this.rows[n].value.textContent !== text) this.rows[n].value.textContent = text;
    });
  }
  #drawMeters() {
    const { stage, k } = this, unit = stage.data.unit || 'FLOP', rows = metersOf(stage, k), lane = stage.lanes[k];
    const hasEnergy = rows.some((r) => r.picojoules !== null);
    const names = ['bytes', 'came in', 'went back', `B/${unit}`, 'hits', ...(hasEnergy ? ['energy'] : [])];
    const entries = rows.map((r) => [
      `${r.from} → ${r.name}`, bytesText(r.bytes), bytesText(r.back), r.perWork === null ? '–' : r.perWork.toPrecision(3), shareText(r.hitRate),
      ...(hasEnergy ? [energyText(r.picojoules)] : []),
    ]);
    const caption = `so far: ${lane.at} of ${lane.list.accesses} accesses, ${Math.round(lane.work)} ${unit}`;
    if (!this.meterCells || this.meterCells.length !== entries.length * (names.length - 1)) {
      this.meters.replaceChildren(table(caption, names, entries));
      this.meterCells = [...this.meters.querySelectorAll('td')];
      this.caption = this.meters.querySelector('caption');
      return;
    }
    this.caption.textContent = caption;
    entries.flatMap(([, ...rest]) => rest).forEach((text, n) => {
      if (this.meterCells[n].textContent !== text) this.meterCells[n].textContent = text;
    });
  }
}
