// Elements without templates: text is text, whatever it says.

/** el('p', {class: 'x', onclick: f}, 'words', child): attributes; functions are listeners, booleans properties. */
export function el(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === 'function') made.addEventListener(key.slice(2), value);
    else if (typeof value === 'boolean') made[key] = value;
    else if (value !== undefined && value !== null) made.setAttribute(key, value);
  }
  for (const child of children.flat(Infinity)) if (child !== null && child !== undefined) made.append(child);
  return made;
}

/** A table from rows of entries; the first of a row is its head. */
export function table(caption, names, rows) {
  return el('table', {},
    el('caption', {}, caption),
    el('thead', {}, el('tr', {}, names.map((name) => el('th', { scope: 'col' }, name)))),
    el('tbody', {}, rows.map(([head, ...entries]) => el('tr', {}, el('th', { scope: 'row' }, head), entries.map((entry) => el('td', {}, entry))))));
}

/** Offers a file to be kept. */
export function offer(name, blob) {
  const link = el('a', { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
