// The theatre on a page: mount(element, data, options).
//
// data      the key "theatre" of `kawara explain FILE --json`
// options   a, b: numbers or directives of the two schedules; caches; x, y: iterators across and down; share: of the work that is done at first;
//           isDark; reduced: no motion; heading: the level of its headings, 3; address: false keeps the page's address as it is
// returns   {stage, redraw, remove}
import { optionsOf, readAddress, stateText, writeAddress } from './address.js';
import { CacheControls } from './cache_controls.js';
import { CanvasSurface, inksOf } from './draw.js';
import { el, offer, table } from './element.js';
import { LaneView } from './lane_view.js';
import { Stage } from './stage.js';
import { stillOf, viewOptions } from './still.js';
import { STYLE } from './style.js';
import { whatHappened } from './view_caches.js';
import * as race from './view_race.js';
import * as space from './view_space.js';

const STILLS = [0, 0.25, 0.5, 0.75, 1];
const KEYS = [
  ['Space', 'play or stop'], [', .', 'a step back, a step on'], ['n', 'next miss'], ['c', 'next conflict'], ['e', 'next eviction'],
  ['[ ]', 'slower, faster'], ['Home End', 'first, last'], ['u', 'step by access, iteration or tile'],
];
const UNITS = ['access', 'iteration', 'tile'];
const prefers = (what) => typeof matchMedia === 'function' && matchMedia(what).matches;

const sizesText = (sizes) => Object.entries(sizes || {}).map(([name, value]) => `${name} = ${value}`).join(', ');
const sizeText = (bytes) => (bytes % 1048576 === 0 ? `${bytes / 1048576} MiB` : bytes % 1024 === 0 ? `${bytes / 1024} KiB` : `${bytes} B`);

class Theatre {
  constructor(element, data, options) {
    this.options = options;
    const given = options.caches || data.caches;
    const moved = options.address === false ? {} : optionsOf(readAddress(window.location), data, given);
    this.stage = new Stage(data, { ...options, ...moved, given });
    this.isReduced = options.reduced ?? prefers('(prefers-reduced-motion: reduce)');
    this.unit = 'access';
    this.speed = 5; // a power of two of accesses per second
    this.isPlaying = false;
    this.element = el('section', { class: 'th', tabindex: '0', 'aria-label': `${options.name ?? 'theatre'}: two schedules on one clock`, onkeydown: (event) => this.#key(event) });
    this.element.append(el('style', {}, STYLE), this.#about(), this.#transport(), this.#race(), this.#settings(), this.#lanes(), this.#foot());
    element.append(this.element);
    this.scheme = typeof matchMedia === 'function' ? matchMedia('(prefers-color-scheme: dark)') : null;
    this.onScheme = () => this.redraw();
    this.scheme?.addEventListener('change', this.onScheme);
    this.resize = typeof ResizeObserver === 'function' ? new ResizeObserver(() => this.#measure()) : null;
    this.resize?.observe(this.element);
    this.redraw();
  }

  // The parts of the page.
  #about() {
    const { data } = this.stage;
    const words = data.toy
      ? `shrunk to ${sizesText(data.sizes)}, from ${sizesText(data.real_sizes)}` +
        (this.options.caches ? '' : `; caches hold the same share of all arrays: ${data.caches.map((d, k) => `${d.name} ${sizeText(d.bytes)} for ${sizeText(data.real_caches[k].bytes)}`).join(', ')}`)
      : `at its own sizes${sizesText(data.sizes) ? `, ${sizesText(data.sizes)}` : ''}`;
    return el('p', { class: 'th-note' }, data.toy ? el('span', { class: 'th-badge' }, 'toy') : null, data.toy ? ' ' : null, words,
      data.label === 'predicted' ? '; predicted: both sides of choices on data are counted' : '; every access is simulated');
  }
  #transport() {
    const button = (words, does, title) => el('button', { type: 'button', onclick: does, title }, words);
    this.play = el('button', { type: 'button', class: 'th-play', onclick: () => this.toggle() }, '▶ play');
    this.clock = el('input', { type: 'range', class: 'th-clock', min: '0', max: '1000', step: '1', 'aria-label': 'clock: share of the accesses of the leading schedule', oninput: () => {
      this.stop();
      this.stage.toShare(Number(this.clock.value) / 1000);
      this.redraw();
    } });
    this.unitSelect = el('select', { 'aria-label': 'step by', onchange: () => { this.unit = this.unitSelect.value; } }, UNITS.map((u) => el('option', { value: u }, `by ${u}`)));
    this.speedInput = el('input', { type: 'range', min: '0', max: '14', step: '1', value: String(this.speed), 'aria-label': 'speed', oninput: () => this.#setSpeed(Number(this.speedInput.value)) });
    this.speedOutput = el('output', {}, `${2 ** this.speed}/s`);
    if (this.isReduced) this.play.hidden = true;
    return el('div', { class: 'th-bar', role: 'toolbar', 'aria-label': 'clock' }, this.play,
      button('◀ step', () => this.step(-1), 'a step back (,)'), button('step ▶', () => this.step(1), 'a step on (.)'), this.unitSelect,
      button('next miss', () => this.next('miss'), 'n'), button('next conflict', () => this.next('conflict'), 'c'), button('next eviction', () => this.next('eviction'), 'e'),
      this.clock, el('label', { hidden: this.isReduced }, 'speed', this.speedInput, this.speedOutput));
  }
  #race() {
    this.raceCanvas = el('canvas', { role: 'img', 'aria-label': 'bytes that came into the L1 per operation, by work done, of both schedules; the tables say the same' });
    this.status = el('p', { class: 'th-note', role: 'status', 'aria-live': 'off' });
    this.stillButtons = this.isReduced ? STILLS.map((share) => {
      const canvas = el('canvas', { 'aria-hidden': 'true' });
      return { share, canvas, button: el('button', { type: 'button', 'aria-pressed': 'false', onclick: () => { this.stage.toShare(share); this.redraw(); } }, canvas, `${Math.round(100 * share)} %`) };
    }) : [];
    const stills = el('div', { class: 'th-stills', 'aria-label': 'five stills of schedule A' }, this.stillButtons.map((s) => s.button));
    return el('div', {}, this.raceCanvas, this.isReduced ? stills : null, this.status);
  }
  #settings() {
    const { stage } = this;
    this.controls = new CacheControls(stage, () => this.#changed());
    const axis = (which, words) => {
      const select = el('select', { 'aria-label': `iterator ${words}`, onchange: () => { stage[which] = Number(select.value); this.#changed(); } },
        stage.names.map((name, d) => el('option', { value: String(d), selected: d === stage[which] }, name)));
      return el('label', {}, words, select);
    };
    this.leaderSelect = el('select', { 'aria-label': 'steps follow', onchange: () => { this.#lead(Number(this.leaderSelect.value)); } }, el('option', { value: '0' }, 'A'), el('option', { value: '1' }, 'B'));
    return el('div', { class: 'th-caches' }, this.controls.elements,
      el('fieldset', {}, el('legend', {}, 'picture'), axis('y', 'down'), axis('x', 'across'), el('label', {}, 'steps follow', this.leaderSelect)));
  }
  #lead(k) {
    const { stage } = this;
    if (stage.lanes[k].isPlayable) stage.leader = k;
    stage.to(stage.lead.at);
    this.redraw();
  }
  #lanes() {
    this.views = [0, 1].map((k) => new LaneView(this.stage, k, () => this.#changed(), this.options.heading));
    return el('div', { class: 'th-lanes' }, this.views.map((view) => view.element));
  }
  #foot() {
    this.details = el('details', { ontoggle: () => this.#table() }, el('summary', {}, 'all counts as a table'));
    const name = () => 'theatre';
    const save = (isPng) => () => {
      const svg = stillOf(this.stage, { isDark: this.isDark });
      if (!isPng) return offer(`${name()}.svg`, new Blob([svg], { type: 'image/svg+xml' }));
      return pngOf(svg).then((blob) => offer(`${name()}.png`, blob));
    };
    return el('div', {}, this.details,
      el('details', {}, el('summary', {}, 'keys'), el('ul', { class: 'th-keys' }, KEYS.map(([key, words]) => el('li', {}, el('kbd', {}, key), ` ${words}`)))),
      el('div', { class: 'th-bar' }, el('button', { type: 'button', onclick: save(false) }, 'save as SVG'), el('button', { type: 'button', onclick: save(true) }, 'save as PNG')));
  }

  // What the reader does.
  toggle() {
    if (this.isPlaying) return this.stop();
    if (this.isReduced) return undefined;
    if (this.stage.isAtEnd()) this.stage.to(0);
    this.isPlaying = true;
    this.play.textContent = '❚❚ stop';
    let before = null, rest = 0;
    const frame = (now) => {
      if (!this.isPlaying) return;
      rest += before === null ? 1 : ((now - before) / 1000) * 2 ** this.speed;
      before = now;
      const steps = Math.floor(rest);
      rest -= steps;
      if (steps > 0) {
        this.stage.to(this.stage.lead.at + steps);
        this.redraw();
      }
      if (this.stage.isAtEnd()) this.stop();
      else requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
    return undefined;
  }
  stop() {
    if (!this.isPlaying) return;
    this.isPlaying = false;
    this.play.textContent = '▶ play';
    this.#say();
    this.#remember();
  }
  step(by) {
    this.stop();
    this.stage.step(this.unit, by);
    this.redraw();
    this.#say();
  }
  next(what) {
    this.stop();
    const found = this.stage.next(what);
    this.redraw();
    this.#say(found ? '' : `there is no further ${what}`);
  }
  #setSpeed(power) {
    this.speed = Math.min(14, Math.max(0, power));
    this.speedInput.value = String(this.speed);
    this.speedOutput.textContent = `${2 ** this.speed}/s`;
  }
  #key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey || ['SELECT', 'TEXTAREA'].includes(event.target.tagName)) return;
    const isControl = event.target.tagName === 'INPUT' || event.target.tagName === 'BUTTON' || event.target.tagName === 'SUMMARY';
    const actions = {
      ',': () => this.step(-1), '.': () => this.step(1), n: () => this.next('miss'), c: () => this.next('conflict'), e: () => this.next('eviction'),
      '[': () => this.#setSpeed(this.speed - 1), ']': () => this.#setSpeed(this.speed + 1),
      u: () => { this.unit = this.unitSelect.value = UNITS[(UNITS.indexOf(this.unit) + 1) % UNITS.length]; },
      ...(isControl ? {} : { ' ': () => this.toggle(), Home: () => { this.stage.to(0); this.redraw(); }, End: () => { this.stage.toShare(1); this.redraw(); } }),
    };
    if (!actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  }
  #changed() {
    this.views.forEach((view) => view.update());
    this.controls.update();
    this.leaderSelect.value = String(this.stage.leader);
    this.redraw();
    this.#say();
    this.#remember();
  }

  // What the page shows.
  #say(words = '') {
    this.status.setAttribute('aria-live', this.isPlaying ? 'off' : 'polite');
    this.status.textContent = words || `${'AB'[this.stage.leader]}: ${whatHappened(this.stage.lead)}`;
    if (!this.isPlaying) this.#remember();
  }
  #remember() {
    if (this.options.address !== false) writeAddress(window, stateText(this.stage));
  }
  #measure() {
    this.width = undefined;
    this.views.forEach((view) => {
      view.widths = undefined;
    });
    this.redraw();
  }
  redraw() {
    const theme = document.documentElement.dataset.theme;
    this.isDark = this.options.isDark ?? (theme ? theme === 'dark' : Boolean(this.scheme?.matches));
    this.element.classList.toggle('th-dark', this.isDark);
    const ink = inksOf(this.isDark), width = (this.width ??= Math.max(280, this.element.clientWidth - 8));
    this.stage.tiles = space.tileVariables(this.stage.lead.order, this.stage.data.main);
    race.draw(new CanvasSurface(this.raceCanvas, width, race.heightOf()), this.stage.lanes, viewOptions(this.stage, 0), ink);
    this.views.forEach((view) => view.draw(ink));
    this.clock.value = String(Math.round(this.stage.share * 1000));
    this.clock.setAttribute('aria-valuetext', `${Math.round(this.stage.share * 100)} % of the accesses`);
    if (this.isPlaying || !this.status.textContent) this.status.textContent = `${'AB'[this.stage.leader]}: ${whatHappened(this.stage.lead)}`;
    this.#drawStills(ink);
    if (this.details.open && !this.isPlaying) this.#table();
  }
  #drawStills(ink) {
    if (this.stillButtons.length === 0) return;
    const { stage } = this, at = stage.lead.at, lane = stage.lanes[0], options = viewOptions(stage, 0);
    for (const each of this.stillButtons) {
      stage.toShare(each.share);
      const width = Math.max(80, each.button.clientWidth - 12);
      space.draw(new CanvasSurface(each.canvas, width, space.heightOf(lane, options, width)), lane, options, ink);
      each.button.setAttribute('aria-pressed', String(stage.lead.list.accesses > 0 && Math.abs(at / stage.lead.list.accesses - each.share) < 1e-3));
    }
    stage.to(at);
  }
  /** The twin of all pictures: every reference of both schedules at each cache, so far. */
  #table() {
    if (!this.details.open) return;
    const { stage } = this;
    const rows = [0, 1].flatMap((k) => {
      const lane = stage.lanes[k];
      return lane.replay.all.stages.flatMap((level, l) => stage.data.references.map((r, n) => {
        const c = level.of[n];
        return [`${'AB'[k]} ${lane.caches[l].name}: ${r.statement} ${r.kind} ${r.text}`, c.accesses, c.accesses - c.compulsory - c.capacity - c.conflict, c.compulsory, c.capacity, c.conflict, c.written_back].map(String);
      }));
    });
    this.details.querySelector('table')?.remove();
    this.details.append(table('counts so far', ['reference', 'accesses', 'hits', 'compulsory', 'capacity', 'conflict', 'written back'], rows));
  }
  remove() {
    this.stop();
    this.resize?.disconnect();
    this.scheme?.removeEventListener('change', this.onScheme);
    this.element.remove();
  }
}

/** An SVG text as the blob of a PNG, twice as large. */
function pngOf(svg) {
  return new Promise((resolve, reject) => {
    const picture = new Image();
    picture.onerror = () => reject(new Error('the picture cannot be drawn'));
    picture.onload = () => {
      const canvas = el('canvas', { width: String(picture.width * 2), height: String(picture.height * 2) });
      const context = canvas.getContext('2d');
      context.scale(2, 2);
      context.drawImage(picture, 0, 0);
      canvas.toBlob(resolve, 'image/png');
    };
    picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  });
}

export function mount(element, data, options = {}) {
  const theatre = new Theatre(element, data, options);
  return { stage: theatre.stage, redraw: () => theatre.redraw(), remove: () => theatre.remove() };
}
export { simulate } from './simulate.js';
