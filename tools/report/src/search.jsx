// What can be found by name, and the keys.

import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { clipped } from './format.js';
import { idOf } from './data.js';

const kMostFound = 40;

/** Everything that has a name: {name, kind, section, select?}. */
function namesOf(report, sections) {
  const all = sections.map(({ id, title }) => ({ name: title, kind: 'section', section: id }));
  const add = (name, kind, section, select) => all.push({ name: String(name), kind, section, select });
  (report.kernels ?? []).forEach((kernel, k) => add(kernel.name, 'kernel', 'kernels', { kernel: idOf(kernel, k) }));
  for (const node of report.graph?.nodes ?? []) add(`${node.id} ${node.op}`, 'operator', 'fusion', { node: node.id });
  for (const edge of report.graph?.edges ?? []) add(edge.tensor, 'tensor', 'fusion', { node: edge.from });
  for (const tensor of report.arena?.tensors ?? []) add(tensor.name, 'in the arena', 'arena');
  for (const each of report.dependences ?? []) add(`${each.from} → ${each.to} ${each.array}`, 'dependence', 'schedule');
  for (const nest of report.nests ?? []) for (const plan of nest.candidates) add(`${nest.statements} ${plan.rule}`, 'plan', 'schedule');
  for (const part of report.energy?.parts ?? []) add(part.name, 'energy', 'energy');
  return all;
}

function useDialog(isOpen) {
  const element = useRef(null);
  useEffect(() => {
    if (isOpen && !element.current.open) element.current.showModal();
    if (!isOpen && element.current.open) element.current.close();
  }, [isOpen]);
  return element;
}

export function Search({ report, sections, isOpen, onClose, onGo }) {
  const element = useDialog(isOpen), field = useRef(null);
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const all = useMemo(() => (isOpen ? namesOf(report, sections) : []), [isOpen, report]);
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const found = all.filter(each => words.every(word => each.name.toLowerCase().includes(word))).slice(0, kMostFound);
  useEffect(() => { if (isOpen) { setText(''); setAt(0); field.current.focus(); } }, [isOpen]);
  const onKey = event => {
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      setAt(Math.max(0, Math.min(found.length - 1, at + (event.key === 'ArrowDown' ? 1 : -1))));
    }
    if (event.key === 'Enter' && found[at]) { event.preventDefault(); onGo(found[at]); }
  };
  return (
    <dialog ref={element} aria-label="Search" onClose={onClose} class="search">
      <label>Search <input ref={field} type="search" value={text} onInput={e => { setText(e.target.value); setAt(0); }} onKeyDown={onKey}
        role="combobox" aria-expanded="true" aria-controls="search-found" aria-activedescendant={found[at] ? `found-${at}` : undefined} autocomplete="off" /></label>
      <ul id="search-found" role="listbox" aria-label="Found">
        {found.map((each, k) => (
          <li id={`found-${k}`} role="option" aria-selected={k === at} onClick={() => onGo(each)}>
            <span>{clipped(each.name, 90)}</span> <small>{each.kind}</small>
          </li>
        ))}
      </ul>
      <p class="note" aria-live="polite">{found.length === 0 ? 'Nothing has that name.' : `${found.length}${found.length === kMostFound ? ' first' : ''} of ${all.length} names; Enter goes there, Esc closes.`}</p>
    </dialog>
  );
}

const kKeys = [
  ['/', 'search'], ['?', 'these keys'], ['j, k', 'next section, the one before'], ['w', 'what if: the sliders'], ['t', 'light or dark'],
  ['arrows', 'move the selection in a picture'], ['+, −', 'zoom in and out in a picture'], ['Enter', 'open what is selected'],
  ['Home, End', 'first and last'], ['Esc', 'close'],
];

export function Keys({ isOpen, onClose }) {
  const element = useDialog(isOpen);
  return (
    <dialog ref={element} aria-label="Keys" onClose={onClose}>
      <h2>Keys</h2>
      <dl class="keys">{kKeys.map(([key, what]) => <div><dt><kbd>{key}</kbd></dt><dd>{what}</dd></div>)}</dl>
      <button type="button" onClick={onClose}>close</button>
    </dialog>
  );
}
