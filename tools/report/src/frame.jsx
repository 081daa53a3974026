// What all sections are made of: a section, a table that twins a picture, tiles, bars.

import { createContext } from 'preact';
import { useContext, useEffect, useRef, useState } from 'preact/hooks';

/** Which of several reports a part shows: makes its ids differ from the others'. */
export const Column = createContext('');
export const useId = name => `${name}${useContext(Column)}`;

export function Section({ id, title, note, children }) {
  return (
    <section id={id} aria-labelledby={`${id}-title`} tabIndex={-1}>
      <h2 id={`${id}-title`}>{title}</h2>
      {note && <p class="note">{note}</p>}
      {children}
    </section>
  );
}

/** A picture with its sentence. The table that says the same is beside it or below. */
export function Figure({ sentence, children, wide }) {
  return (
    <figure class={wide ? 'wide' : ''}>
      {children}
      <figcaption>{sentence}</figcaption>
    </figure>
  );
}

export const Bar = ({ share, kind = '' }) => (
  <span class={`bar ${kind}`} aria-hidden="true">
    <span style={{ width: `${Math.max(0, Math.min(1, share || 0)) * 100}%` }} />
  </span>
);

const kFirstRows = 15;

/**
 * Rows of elements below names of columns: {name, text(row), value?(row), isNumber?, isHead?}. A column
 * with a value can be sorted by. Long tables begin with their first rows.
 */
export function Table({ caption, columns, rows, marked, onPick, sortedBy }) {
  const [order, setOrder] = useState(sortedBy ?? null);
  const [most, setMost] = useState(kFirstRows);
  const column = order && columns.find(each => each.name === order.name);
  const sorted = column ? [...rows].sort((a, b) => {
    const [x, y] = [column.value(a), column.value(b)];
    const by = typeof x === 'string' || typeof y === 'string' ? String(x).localeCompare(String(y)) : (x ?? -Infinity) - (y ?? -Infinity);
    return order.isDown ? -by : by;
  }) : rows;
  const sort = name => setOrder(order?.name === name ? { name, isDown: !order.isDown } : { name, isDown: true });
  return (
    <div class="scroll" tabIndex={0} role="group" aria-label={caption}>
      <table>
        <caption>{caption}</caption>
        <thead>
          <tr>
            {columns.map(each => (
              <th scope="col" class={each.isNumber ? 'n' : ''}
                aria-sort={order?.name === each.name ? (order.isDown ? 'descending' : 'ascending') : undefined}>
                {each.value
                  ? <button type="button" class="plain" onClick={() => sort(each.name)}>{each.name}</button>
                  : each.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {sorted.slice(0, most).map(row => (
            <tr class={marked?.(row) ? 'marked' : ''} onClick={onPick && (() => onPick(row))}>
              {columns.map((each, k) => k === 0
                ? <th scope="row">{each.text(row)}</th>
                : <td class={each.isNumber ? 'n' : ''}>{each.text(row)}</td>)}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > most && (
        <button type="button" class="more" onClick={() => setMost(most * 4)}>
          {rows.length - most} more rows
        </button>
      )}
    </div>
  );
}

/** A button that copies a text, or selects it where the browser keeps pages from copying. */
export function Copyable({ text, label = 'copy' }) {
  const [said, say] = useState('');
  const field = useRef(null);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      say('copied');
    } catch {
      const range = document.createRange();
      range.selectNodeContents(field.current);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      say('selected');
    }
    setTimeout(() => say(''), 1500);
  };
  return (
    <span class="copyable">
      <code ref={field}>{text}</code>
      <button type="button" onClick={copy}>{said || label}</button>
    </span>
  );
}

/** Width of an element as it is laid out. */
export function useWidth(first = 640) {
  const element = useRef(null);
  const [width, setWidth] = useState(first);
  useEffect(() => {
    if (!element.current) return undefined;
    const watch = new ResizeObserver(([entry]) => setWidth(Math.max(280, Math.floor(entry.contentRect.width))));
    watch.observe(element.current);
    return () => watch.disconnect();
  }, []);
  return [element, width];
}

/** Colours of the page by their names in the style; read anew when the reader's choice changes. */
export function useColours() {
  const read = () => {
    const style = getComputedStyle(document.documentElement);
    return name => style.getPropertyValue(`--${name}`).trim();
  };
  const [colours, setColours] = useState(read);
  useEffect(() => {
    const again = () => setColours(read);
    const media = matchMedia('(prefers-color-scheme: dark)');
    media.addEventListener('change', again);
    addEventListener('kawara-theme', again);
    return () => {
      media.removeEventListener('change', again);
      removeEventListener('kawara-theme', again);
    };
  }, []);
  return colours;
}

/** A canvas drawn in units of the page: `draw(context, width, height)`. */
export function Canvas({ width, height, draw, ...more }) {
  const element = useRef(null);
  useEffect(() => {
    const canvas = element.current, dense = devicePixelRatio || 1;
    canvas.width = Math.round(width * dense);
    canvas.height = Math.round(height * dense);
    const context = canvas.getContext('2d');
    context.setTransform(dense, 0, 0, dense, 0, 0);
    context.clearRect(0, 0, width, height);
    draw(context, width, height);
  });
  return <canvas ref={element} style={{ width: `${width}px`, height: `${height}px` }} {...more} />;
}
