// The graph of a model: where time, bytes and energy go, what is fused and why the rest is not.

import { interpolateHeat } from '../heat.js';
import { zoom, zoomIdentity } from 'd3-zoom';
import { select } from 'd3-selection';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { amount, clipped, digits, duration, percent } from '../format.js';
import { idOf } from '../data.js';
import { groupsOf, kGap, kRow, kWidth, layoutSoon, layoutTask, rowsOf } from '../graph.js';
import { kernelMs } from '../what_if.js';
import { Canvas, Copyable, Figure, Table, useColours, useWidth } from '../frame.jsx';

const kHeats = {
  time: { title: 'time', of: (group, kernel) => (kernel ? kernelMs(kernel) : 0), text: v => duration(v * 1e-3) },
  bytes: { title: 'bytes', of: (group, kernel) => kernel?.bytes ?? group.nodes.reduce((s, n) => s + (n.bytes ?? 0), 0), text: v => amount(v, 'B') },
  energy: { title: 'energy', of: (group, kernel) => kernel?.joules?.value ?? 0, text: v => amount(v, 'J') },
};

function useLayout(graph, grouped, open) {
  const [made, setMade] = useState(null);
  useEffect(() => {
    let isOld = false;
    layoutSoon(layoutTask(graph, grouped, open), document.getElementById('report-script')?.textContent)
      .then(layout => { if (!isOld) setMade({ layout, open }); });
    return () => { isOld = true; };
  }, [graph, open]);
  return made;
}

/** Where everything is: groups with their rows. `t` is 0 for operators as written, 1 for kernels. */
function placed(grouped, made, t) {
  return grouped.groups.map((group, k) => {
    const { x, y } = made.layout.places[k], isOpen = made.open.has(group.id), rows = rowsOf(group, isOpen);
    const gap = kGap * (1 - t), height = rows * kRow + (rows - 1) * gap;
    const shown = group.nodes.slice(0, rows);
    return { group, isOpen, rows, x: x - kWidth / 2, y: y - height / 2, height, gap,
      hidden: group.nodes.length - rows, nodes: shown.map((node, r) => ({ node, y: y - height / 2 + r * (kRow + gap) })) };
  });
}

function draw(context, width, height, { boxes, lines, view, heatOf, colours, selected, t, most, nodeHeat }) {
  context.save();
  context.translate(view.x, view.y);
  context.scale(view.k, view.k);
  context.lineJoin = 'round';
  context.strokeStyle = colours('soft');
  context.lineWidth = 1.2;
  for (const points of lines) {
    context.beginPath();
    points.forEach((p, k) => {
      if (k === 0) return context.moveTo(p.x, p.y);
      const before = points[k - 1], middle = (before.x + p.x) / 2;
      return context.bezierCurveTo(middle, before.y, middle, p.y, p.x, p.y);
    });
    context.stroke();
  }
  const isSmall = view.k < 0.35;
  context.font = '12px system-ui, sans-serif';
  context.textBaseline = 'middle';
  for (const box of boxes) {
    const isSelected = box.group.id === selected;
    const whole = interpolateHeat(most > 0 ? heatOf(box.group) / most : 0, colours);
    box.nodes.forEach(({ node, y }, k) => {
      const [fill, ink] = t > 0.5 ? whole : interpolateHeat(nodeHeat(node), colours);
      context.fillStyle = fill;
      context.fillRect(box.x, y, kWidth, kRow);
      if (t < 0.99 || isSelected) {
        context.strokeStyle = isSelected ? colours('mark') : colours('soft');
        context.lineWidth = isSelected ? 2.5 : 0.8;
        if (t < 0.99) context.strokeRect(box.x, y, kWidth, kRow);
      }
      if (isSmall) return;
      context.fillStyle = ink;
      const more = k === box.rows - 1 && box.hidden > 0 ? ` + ${box.hidden} more` : '';
      context.fillText(clipped(node.op, 22 - more.length) + more, box.x + 7, y + kRow / 2);
    });
    context.strokeStyle = isSelected ? colours('mark') : colours('ink');
    context.lineWidth = isSelected ? 3 : 1.4 * t + 0.2;
    context.strokeRect(box.x, box.y, kWidth, box.height);
  }
  context.restore();
}

function fitted(boxes, width, height) {
  if (boxes.length === 0) return zoomIdentity;
  const [left, right] = [Math.min(...boxes.map(b => b.x)), Math.max(...boxes.map(b => b.x)) + kWidth];
  const [top, bottom] = [Math.min(...boxes.map(b => b.y)), Math.max(...boxes.map(b => b.y + b.height))];
  // A long model is shown from its begin in a size that can be read.
  const k = Math.min(1.2, Math.max(0.6, Math.min(width / (right - left + 40), height / (bottom - top + 40))));
  const x = (right - left) * k < width ? (width - (left + right) * k) / 2 : 20 - left * k;
  return zoomIdentity.translate(x, (height - (top + bottom) * k) / 2).scale(k);
}

export function Graph({ report, selected, onSelect }) {
  const { graph } = report;
  const grouped = useMemo(() => groupsOf(graph), [graph]);
  const kernels = useMemo(() => new Map(report.kernels.map((kernel, k) => [idOf(kernel, k), kernel])), [report]);
  const [open, setOpen] = useState(new Set());
  const [t, setT] = useState(1);
  const [heat, setHeat] = useState('time');
  const [view, setView] = useState(zoomIdentity);
  const made = useLayout(graph, grouped, open);
  const colours = useColours();
  const [element, width] = useWidth();
  const behaviour = useRef(null), surface = useRef(null), height = 420;
  const heatOf = group => kHeats[heat].of(group, kernels.get(group.kernel));
  const most = Math.max(...grouped.groups.map(heatOf), 0);
  const mostOfNode = Math.max(...graph.nodes.map(n => (heat === 'bytes' ? n.bytes : n.operations) ?? 0), 1);
  const nodeHeat = node => ((heat === 'bytes' ? node.bytes : node.operations) ?? 0) / mostOfNode;
  const boxes = made ? placed(grouped, made, t) : [];
  const chosen = grouped.groups.find(group => group.id === selected) ?? null;

  useEffect(() => {
    if (!made) return undefined;
    behaviour.current = zoom().scaleExtent([0.05, 4]).filter(event => event.type !== 'wheel' || event.ctrlKey || event.shiftKey || document.activeElement === surface.current)
      .on('zoom', event => setView(event.transform));
    const target = select(surface.current).call(behaviour.current);
    if (!open.size) target.call(behaviour.current.transform, fitted(boxes, width, height));
    return () => target.on('.zoom', null);
  }, [made !== null, width]);

  const show = id => {
    onSelect(id);
    const box = boxes.find(each => each.group.id === id);
    if (box) select(surface.current).call(behaviour.current.translateTo, box.x + kWidth / 2, box.y + box.height / 2);
  };
  const toggle = id => setOpen(new Set(open.has(id) ? [...open].filter(each => each !== id) : [...open, id]));
  const step = by => {
    const at = grouped.groups.findIndex(group => group.id === selected);
    show(grouped.groups[Math.min(grouped.groups.length - 1, Math.max(0, at + by))].id);
  };
  const onKey = event => {
    const keys = { ArrowDown: () => step(1), ArrowRight: () => step(1), ArrowUp: () => step(-1), ArrowLeft: () => step(-1),
      Home: () => show(grouped.groups[0].id), End: () => show(grouped.groups[grouped.groups.length - 1].id),
      Enter: () => selected && toggle(selected),
      '+': () => select(surface.current).call(behaviour.current.scaleBy, 1.3), '-': () => select(surface.current).call(behaviour.current.scaleBy, 1 / 1.3) };
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  };
  const onClick = event => {
    const bounds = surface.current.getBoundingClientRect();
    const [x, y] = view.invert([event.clientX - bounds.left, event.clientY - bounds.top]);
    const hit = boxes.find(box => x >= box.x && x <= box.x + kWidth && y >= box.y && y <= box.y + box.height);
    if (hit) onSelect(hit.group.id);
  };
  const sentence = `${graph.nodes.length} operators in ${grouped.groups.length} groups; ${graph.edges.filter(e => e.fused).length} of ${graph.edges.length} ` +
    `edges are inside of kernels. Arrows move through it, Enter opens a group, + and - zoom; the tables below say the same.`;
  return (
    <div ref={element}>
      <div class="controls">
        <label>operators <input type="range" min="0" max="1" step="0.05" value={t} onInput={e => setT(Number(e.target.value))}
          aria-label="before or after fusion" aria-valuetext={t < 0.5 ? 'operators as written' : 'kernels'} /> kernels</label>
        <label>colour by <select value={heat} onChange={e => setHeat(e.target.value)}>
          {Object.keys(kHeats).map(name => <option value={name}>{name}</option>)}
        </select></label>
        <span class="legend" aria-hidden="true">0 <i /> {t > 0.5 ? kHeats[heat].text(most) : heat === 'bytes' ? amount(mostOfNode, 'B') : amount(mostOfNode, 'OP')}</span>
        <button type="button" onClick={() => setOpen(new Set(open.size ? [] : grouped.groups.map(group => group.id)))}>
          {open.size ? 'fold all' : 'open all'}</button>
        <button type="button" disabled={!made} onClick={() => select(surface.current).call(behaviour.current.transform, fitted(boxes, width, height))}>fit</button>
      </div>
      <FusionNumbers fusion={report.fusion} t={t} />
      <Figure sentence={sentence} wide>
        <div ref={surface} class="surface" tabIndex={0} role="application" aria-label={`Graph of the model. ${sentence}`} onKeyDown={onKey} onClick={onClick}
          onDblClick={() => selected && toggle(selected)}>
          {made ? <Canvas width={width} height={height} aria-hidden="true"
            draw={(context, w, h) => draw(context, w, h, { boxes, lines: made.layout.lines, view, heatOf, colours, selected, t, most, nodeHeat })} />
            : <p class="note" style={{ height: `${height}px` }}>Laying out {grouped.groups.length} groups …</p>}
        </div>
      </Figure>
      <div aria-live="polite">{chosen && <Group group={chosen} kernel={kernels.get(chosen.kernel)} graph={graph} />}</div>
    </div>
  );
}

/** The bytes of operators alone become those of kernels, as the slider moves. */
function FusionNumbers({ fusion, t }) {
  if (!fusion?.before || !fusion?.after) return null;
  const { before, after } = fusion, side = t < 0.5 ? before : after;
  return (
    <p class="fusion-numbers">
      <b>{t < 0.5 ? 'operators as written' : 'kernels'}</b>: {amount(side.bytes, 'B')}
      {side.ms != null && `, ${duration(side.ms * 1e-3)}`}, {digits(side.flops_per_byte)} FLOP per byte.
      {' '}Fusion moves {digits(before.bytes / Math.max(after.bytes, 1))} x fewer bytes
      {before.ms != null && after.ms != null && ` and saves ${duration(Math.max(0, before.ms - after.ms) * 1e-3)}`}.
    </p>
  );
}

function Group({ group, kernel, graph }) {
  const ids = new Set(group.nodes.map(node => node.id));
  const around = graph.edges.filter(edge => ids.has(edge.from) || ids.has(edge.to));
  return (
    <div class="card">
      <h3>{kernel?.name ?? group.nodes.map(node => node.op).slice(0, 6).join(', ')}</h3>
      {kernel && <p>{duration(kernelMs(kernel) * 1e-3)} a call, {kernel.times} {kernel.times === 1 ? 'call' : 'calls'}, bound by {kernel.bound};{' '}
        {amount(kernel.operations, 'OP')}, {amount(kernel.bytes, 'B')}{kernel.repeat != null && `, each byte ${digits(kernel.repeat)} times`}.</p>}
      <p class="note">{group.nodes.map(node => clipped(`${node.id}: ${node.op}`, 48)).slice(0, 24).join(' · ')}{group.nodes.length > 24 && ` and ${group.nodes.length - 24} more`}</p>
      <Edges edges={around} caption="Its edges" />
    </div>
  );
}

const gainOf = edge => edge.saves ?? edge.costs ?? {};
const joulesOf = edge => { const { joules } = gainOf(edge); return typeof joules === 'number' ? joules : joules?.value ?? null; };

export function Edges({ edges, caption, onPick }) {
  return (
    <Table caption={caption} rows={edges} onPick={onPick} sortedBy={{ name: 'bytes', isDown: true }} columns={[
      { name: 'tensor', text: edge => <span><code>{clipped(edge.tensor ?? '', 40)}</code><small>{clipped(edge.from, 28)} → {clipped(edge.to, 28)}</small></span>,
        value: edge => edge.tensor ?? '' },
      { name: 'fused', value: edge => Number(Boolean(edge.fused)), text: edge => (edge.fused ? 'fused' : 'not fused') },
      { name: 'bytes', isNumber: true, value: edge => gainOf(edge).bytes ?? edge.bytes ?? 0,
        text: edge => `${edge.fused ? 'saves ' : edge.costs ? 'costs ' : ''}${amount(gainOf(edge).bytes ?? edge.bytes ?? 0, 'B')}` },
      { name: 'time', isNumber: true, value: edge => gainOf(edge).ms ?? -1, text: edge => (gainOf(edge).ms == null ? '–' : duration(gainOf(edge).ms * 1e-3)) },
      { name: 'energy', isNumber: true, value: edge => joulesOf(edge) ?? -1, text: edge => (joulesOf(edge) === null ? '–' : amount(joulesOf(edge), 'J')) },
      { name: 'why', text: edge => <span class="why">{edge.reason}{edge.witness && <small>{edge.witness}</small>}</span> },
      { name: 'what would fuse it', text: edge => (edge.directive
        ? <span class="why"><Copyable text={edge.directive} />{edge.verdict && <small>{edge.verdict === 'not asked' ? 'the judge was not asked' : `the judge says: ${edge.verdict}`}</small>}</span>
        : edge.verdict === 'illegal' ? 'illegal' : '–') },
    ]} />
  );
}

/** How much neighbouring kernels share, before and after fusion. */
export function Pairs({ pairs }) {
  if (!pairs?.length) return null;
  return (
    <>
      <h3>What neighbouring kernels share</h3>
      <Table caption="Bytes that both of two neighbours touch" rows={pairs} columns={[
        { name: 'first', text: pair => clipped(String(pair.first), 40), value: pair => String(pair.first) },
        { name: 'second', text: pair => clipped(String(pair.second), 40), value: pair => String(pair.second) },
        { name: 'stage', text: pair => `${pair.stage} fusion`, value: pair => pair.stage },
        { name: 'times', isNumber: true, text: pair => pair.times ?? '–', value: pair => pair.times ?? 0 },
        ...['first', 'second', 'union'].map(end => ({ name: `of ${end === 'union' ? 'both' : `the ${end}`}`, isNumber: true,
          value: pair => pair[`overlap_of_${end}`] ?? -1,
          text: pair => (pair[`overlap_of_${end}`] == null ? '–' : percent(pair[`overlap_of_${end}`])) })),
      ]} />
    </>
  );
}
