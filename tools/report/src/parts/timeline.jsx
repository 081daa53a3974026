// Steps of a model over time, and what lies in memory meanwhile: on canvas, as there may be thousands.

import { scaleLinear } from 'd3-scale';
import { useMemo, useState } from 'preact/hooks';
import { amount, clipped, duration } from '../format.js';
import { save } from '../data.js';
import { interpolateHeat } from '../heat.js';
import { Canvas, Figure, Table, useColours, useWidth } from '../frame.jsx';

const kPalette = ['#0072b2', '#009e73', '#b34700', '#8a5aa8', '#7a6a00', '#a3386c', '#36688c', '#4d4d4d'];

const endOf = steps => steps.reduce((most, step) => Math.max(most, step.start_ms + step.duration_ms), 0);

/** Chrome's form of a trace, which Perfetto and others open. */
export function traceOf(report) {
  const lives = liveBytes(report);
  return {
    displayTimeUnit: 'ns',
    traceEvents: [
      { name: 'thread_name', ph: 'M', pid: 1, tid: 1, args: { name: `${report.title}, predicted` } },
      ...timed(report.steps).map(step => ({ name: step.name, cat: step.kernel == null ? 'call' : 'kernel', ph: 'X', ts: step.start_ms * 1e3,
        dur: step.duration_ms * 1e3, pid: 1, tid: 1, args: { threads: step.threads, reads: step.reads, writes: step.writes } })),
      ...lives.map((bytes, k) => ({ name: 'live bytes', ph: 'C', ts: (report.steps[k]?.start_ms ?? 0) * 1e3, pid: 1, args: { B: bytes } })),
    ],
  };
}

/** Steps with a time: of functions none is known, and they take no width. */
const timed = steps => steps.map(step => ({ ...step, duration_ms: step.duration_ms ?? 0, isKnown: step.duration_ms != null }));

/** Bytes of tensors in the arena during each step. */
export function liveBytes(report) {
  if (report.steps?.every(step => step.live_bytes != null)) return report.steps.map(step => step.live_bytes);
  const lives = new Array(report.steps?.length ?? 0).fill(0);
  for (const tensor of report.arena?.tensors ?? [])
    for (let k = tensor.first_step; k <= tensor.last_step && k < lives.length; ++k) lives[k] += tensor.bytes;
  return lives;
}

export function Timeline({ report, selected, onSelect }) {
  const steps = useMemo(() => timed(report.steps), [report]);
  const [at, setAt] = useState(0);
  const [span, setSpan] = useState([0, 1]);
  const [element, width] = useWidth();
  const colours = useColours();
  const names = useMemo(() => [...new Set(steps.map(step => step.kernel ?? step.call ?? step.name))], [steps]);
  const lives = useMemo(() => liveBytes(report), [report]);
  const end = endOf(steps), height = 150, bar = 62, base = height - 26;
  const x = scaleLinear([end * span[0], end * span[1]], [0, width]);
  const most = Math.max(...lives, 1), y = scaleLinear([0, most], [base, 88]);
  const step = steps[Math.min(at, steps.length - 1)];
  const zoomBy = factor => {
    const middle = (step.start_ms + step.duration_ms / 2) / end, half = Math.min(0.5, (span[1] - span[0]) / 2 * factor);
    const from = Math.max(0, Math.min(1 - 2 * half, middle - half));
    setSpan([from, from + 2 * half]);
  };
  const move = to => {
    const next = Math.min(steps.length - 1, Math.max(0, to)), reach = span[1] - span[0];
    const middle = (steps[next].start_ms + steps[next].duration_ms / 2) / end;
    setAt(next);
    if (steps[next].kernel != null) onSelect?.(steps[next].kernel);
    if (middle < span[0] || middle > span[1]) {
      const from = Math.max(0, Math.min(1 - reach, middle - reach / 2));
      setSpan([from, from + reach]);
    }
  };
  const onKey = event => {
    const keys = { ArrowRight: () => move(at + 1), ArrowLeft: () => move(at - 1), Home: () => move(0), End: () => move(steps.length - 1),
      '+': () => zoomBy(0.5), '-': () => zoomBy(2) };
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  };
  const onClick = event => {
    const ms = x.invert(event.offsetX), found = steps.findIndex(each => ms >= each.start_ms && ms <= each.start_ms + each.duration_ms);
    if (found >= 0) move(found);
  };
  const draw = context => {
    context.font = '11px system-ui, sans-serif';
    context.textBaseline = 'middle';
    let last = -1;
    steps.forEach((each, k) => {
      const from = x(each.start_ms), to = x(each.start_ms + each.duration_ms);
      if (to < 0 || from > width || (to - last < 0.4 && k !== at)) return;
      last = to;
      const colour = each.kernel == null ? '#6b6b6b' : kPalette[names.indexOf(each.kernel) % kPalette.length];
      context.fillStyle = colour;
      context.fillRect(from, 12, Math.max(0.8, to - from - 0.6), bar - 12);
      if (k === at || (selected != null && each.kernel === selected)) {
        context.strokeStyle = colours('mark');
        context.lineWidth = k === at ? 3 : 1;
        context.strokeRect(from + 0.5, 11, Math.max(2, to - from - 1), bar - 10);
      }
      if (to - from < 46) return;
      context.fillStyle = '#fff';
      context.fillText(clipped(each.name, Math.floor((to - from - 8) / 6)), from + 4, (12 + bar) / 2);
    });
    for (const tick of x.ticks(Math.max(2, Math.floor(width / 110)))) {
      context.fillStyle = colours('line');
      context.fillRect(x(tick), bar + 4, 1, base - bar);
      context.fillStyle = colours('soft');
      context.fillText(duration(tick * 1e-3), Math.min(width - 44, x(tick) + 3), height - 10);
    }
    if (!lives.some(bytes => bytes > 0)) return;
    context.beginPath();
    steps.forEach((each, k) => {
      context.lineTo(x(each.start_ms), y(lives[k]));
      context.lineTo(x(each.start_ms + each.duration_ms), y(lives[k]));
    });
    context.strokeStyle = colours('bar');
    context.lineWidth = 1.5;
    context.stroke();
    context.fillStyle = colours('soft');
    context.fillText(`live ${amount(most, 'B')}`, 4, 82);
  };
  const sentence = `${steps.length} steps, ${duration(end * 1e-3)}, ${step.label ?? 'predicted'}. Step ${at + 1}: ${clipped(step.name, 80)}, ${step.isKnown ? duration(step.duration_ms * 1e-3) : 'of unknown length'} from ${duration(step.start_ms * 1e-3)}.`;
  return (
    <div ref={element}>
      <div class="controls">
        <button type="button" onClick={() => zoomBy(0.5)} aria-label="closer">+</button>
        <button type="button" onClick={() => zoomBy(2)} aria-label="farther">−</button>
        <button type="button" onClick={() => setSpan([0, 1])}>all</button>
        <button type="button" onClick={() => save('trace.json', JSON.stringify(traceOf(report)))}>save as Chrome trace</button>
      </div>
      <Figure sentence={<span aria-live="polite">{sentence}</span>} wide>
        <div class="surface low" tabIndex={0} role="application" aria-label={`Timeline. ${sentence} Arrows move from step to step.`} onKeyDown={onKey}>
          <Canvas width={width} height={height} draw={draw} onClick={onClick} aria-hidden="true" />
        </div>
      </Figure>
      <details>
        <summary>Steps as a table</summary>
        <Table caption="Steps in order of execution" rows={steps} marked={row => row === step} onPick={row => move(steps.indexOf(row))} columns={[
          { name: 'step', text: row => `${row.index ?? steps.indexOf(row)}: ${clipped(row.name, 60)}`, value: row => row.index ?? 0 },
          { name: 'from', isNumber: true, text: row => duration(row.start_ms * 1e-3), value: row => row.start_ms },
          { name: 'takes', isNumber: true, text: row => (row.isKnown ? duration(row.duration_ms * 1e-3) : '–'), value: row => row.duration_ms },
          { name: 'how it is known', text: row => row.label ?? 'predicted', value: row => row.label ?? '' },
          { name: 'threads', isNumber: true, text: row => row.threads ?? '–' },
        ]} />
      </details>
    </div>
  );
}

/** Where each tensor lies and how long: the lower its place, the nearer to the arena's begin. */
export function Arena({ report }) {
  const { arena } = report;
  const [at, setAt] = useState(0);
  const [element, width] = useWidth();
  const colours = useColours();
  const left = 66, height = 300, base = height - 24;
  const last = arena.tensors.reduce((most, each) => Math.max(most, each.last_step), 0) + 1;
  const total = Math.max(arena.bytes, 1), x = scaleLinear([0, last], [left, width - 4]), y = scaleLinear([0, total], [base, 10]);
  const tensor = arena.tensors[Math.min(at, arena.tensors.length - 1)];
  if (!tensor) return null;
  const largest = Math.max(...arena.tensors.map(each => each.bytes), 1);
  const draw = context => {
    context.font = '11px system-ui, sans-serif';
    context.textBaseline = 'middle';
    for (const tick of y.ticks(5)) {
      context.fillStyle = colours('line');
      context.fillRect(left, y(tick), width, 1);
      context.fillStyle = colours('soft');
      context.fillText(amount(tick, 'B'), 0, y(tick));
    }
    arena.tensors.forEach((each, k) => {
      const [fill, ink] = interpolateHeat(0.15 + 0.85 * each.bytes / largest, colours);
      const from = x(each.first_step), to = x(each.last_step + 1), top = y(each.offset + each.bytes), bottom = y(each.offset);
      context.fillStyle = fill;
      context.fillRect(from, top, Math.max(1, to - from - 0.5), Math.max(1, bottom - top - 0.5));
      if (k === at) {
        context.strokeStyle = colours('mark');
        context.lineWidth = 3;
        context.strokeRect(from, top, Math.max(2, to - from), Math.max(2, bottom - top));
      }
      if (to - from > 60 && bottom - top > 13) {
        context.fillStyle = ink;
        context.fillText(clipped(each.name, Math.floor((to - from - 8) / 6)), from + 4, (top + bottom) / 2);
      }
    });
    context.fillStyle = colours('mark');
    context.fillRect(left, y(arena.most_live), width, 1.5);
    context.fillText(`most that lives at once: ${amount(arena.most_live, 'B')}`, left + 6, y(arena.most_live) + (y(arena.most_live) < 24 ? 10 : -8));
    context.fillStyle = colours('soft');
    for (const tick of x.ticks(Math.floor(width / 120))) context.fillText(`step ${tick}`, x(tick), height - 9);
  };
  const onKey = event => {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    setAt(Math.min(arena.tensors.length - 1, Math.max(0, at + by)));
  };
  const onClick = event => {
    const step = x.invert(event.offsetX), offset = y.invert(event.offsetY);
    const found = arena.tensors.findIndex(each => step >= each.first_step && step <= each.last_step + 1 && offset >= each.offset && offset <= each.offset + each.bytes);
    if (found >= 0) setAt(found);
  };
  const sentence = `The arena has ${amount(arena.bytes, 'B')} for ${arena.tensors.length} tensors, ${((arena.bytes / Math.max(arena.most_live, 1) - 1) * 100).toFixed(1)} % more than lives at once` +
    `${arena.constants ? `; constants are ${amount(arena.constants, 'B')} besides` : ''}.`;
  return (
    <div ref={element}>
      <Figure sentence={<span aria-live="polite">{sentence} {clipped(tensor.name, 60)}: {amount(tensor.bytes, 'B')} at {amount(tensor.offset, 'B')}, steps {tensor.first_step} to {tensor.last_step}.</span>} wide>
        <div class="surface low" tabIndex={0} role="application" aria-label={`Memory over steps. ${sentence} Arrows move from tensor to tensor.`} onKeyDown={onKey}>
          <Canvas width={width} height={height} draw={draw} onClick={onClick} aria-hidden="true" />
        </div>
      </Figure>
      <details>
        <summary>Tensors as a table</summary>
        <Table caption="Tensors of the arena" rows={arena.tensors} onPick={row => setAt(arena.tensors.indexOf(row))} columns={[
          { name: 'tensor', text: row => <code>{clipped(row.name, 60)}</code>, value: row => row.name },
          { name: 'bytes', isNumber: true, text: row => amount(row.bytes, 'B'), value: row => row.bytes },
          { name: 'offset', isNumber: true, text: row => amount(row.offset, 'B'), value: row => row.offset },
          { name: 'first step', isNumber: true, text: row => row.first_step, value: row => row.first_step },
          { name: 'last step', isNumber: true, text: row => row.last_step, value: row => row.last_step },
        ]} />
      </details>
    </div>
  );
}
