// Sliders for the caches: what is dragged is simulated anew at once.
import { el } from './element.js';

const MOST_LEVELS = 3;
const powers = (from, to) => {
  const made = [];
  for (let x = from; x <= to; x *= 2) made.push(x);
  return made;
};
const sizeText = (bytes) => (bytes >= 1024 && bytes % 1024 === 0 ? `${bytes / 1024} KiB` : `${bytes} B`);

export class CacheControls {
  constructor(stage, changed) {
    this.stage = stage;
    this.changed = changed;
    const shown = stage.caches.slice(0, MOST_LEVELS);
    this.levels = shown.map((d, k) => this.#level(d, k));
    this.elements = this.levels.map((each) => each.element);
    this.update();
  }

  #level(d, k) {
    const name = d.name || `L${k + 1}`;
    const slider = (key, words, valuesOf, text) => {
      const output = el('output');
      const input = el('input', { type: 'range', min: '0', step: '1', 'aria-label': `${words} of ${name}`, oninput: () => this.#set(k, key, valuesOf()[Number(input.value)]) });
      const show = () => {
        const values = valuesOf(), now = this.stage.caches[k][key];
        let place = values.indexOf(now);
        if (place < 0) place = values.reduce((best, v, n) => (Math.abs(v - now) < Math.abs(values[best] - now) ? n : best), 0);
        input.max = String(values.length - 1);
        input.value = String(place);
        output.textContent = text(now);
        input.setAttribute('aria-valuetext', text(now));
      };
      return { element: el('label', {}, words, input, output), show };
    };
    const own = () => this.stage.caches[k];
    const most = Math.max(this.stage.data.bytes * 4, d.bytes);
    const bytes = slider('bytes', 'capacity', () => powers(Math.max(64, own().line_bytes), 2 ** Math.ceil(Math.log2(most))), sizeText);
    const line = slider('line_bytes', 'line', () => powers(k === 0 ? 4 : this.stage.caches[k - 1].line_bytes, 256), (v) => `${v} B`);
    const ways = slider('ways', 'ways', () => powers(1, own().bytes / own().line_bytes).slice(0, own().policy === 'plru' ? 7 : undefined), (v) => (v * own().line_bytes >= own().bytes ? `${v}, all` : String(v)));
    const policy = el('select', { 'aria-label': `policy of ${name}`, onchange: () => this.#set(k, 'policy', policy.value) }, ['lru', 'plru', 'fifo'].map((p) => el('option', { value: p }, p)));
    const showPolicy = () => {
      policy.value = own().policy;
    };
    const parts = [bytes, line, ways];
    return { element: el('fieldset', {}, el('legend', {}, name), parts.map((p) => p.element), policy), show: () => [...parts.map((p) => p.show()), showPolicy()] };
  }
  #set(k, key, value) {
    if (value === undefined) return;
    this.stage.change(k, key, value);
    // A tree chooses among powers of two, up to 64 ways.
    const d = this.stage.caches[k];
    if (d.policy === 'plru' && (d.ways > 64 || (d.ways & (d.ways - 1)) !== 0)) this.stage.change(k, 'ways', Math.min(64, 2 ** Math.floor(Math.log2(d.ways))));
    this.changed();
  }
  update() {
    this.levels.forEach((level) => level.show());
  }
}
