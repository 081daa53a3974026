// What is shown, as text behind the `#` of the page's address, so that a link shows the same.

const KEY = 'theatre';

/** "a=3&b=7&at=0.41&x=j&y=i&c=256,16,4,lru;2048,16,8,lru" of a stage. */
export function stateText(stage) {
  const caches = stage.caches.map((d) => [d.bytes, d.line_bytes, d.ways, d.policy].join(',')).join(';');
  const isOwn = JSON.stringify(stage.caches) === JSON.stringify(stage.given);
  const parts = [`a=${stage.chosen[0]}`, `b=${stage.chosen[1]}`, `at=${stage.share.toFixed(4)}`, `x=${stage.names[stage.x] || ''}`, `y=${stage.names[stage.y] || ''}`];
  if (!isOwn) parts.push(`c=${caches}`);
  return parts.join('&');
}

const whole = (text) => (/^\d+$/.test(text || '') ? Number(text) : undefined);

/** The caches of such a text; nothing where they make no sense in place of the given ones. */
function cachesOf(text, given) {
  const made = text.split(';').map((each, k) => {
    const [bytes, line, ways, policy] = each.split(',');
    const d = { ...given[k], bytes: whole(bytes), line_bytes: whole(line), ways: whole(ways), policy };
    const isPower = (x) => x > 0 && (x & (x - 1)) === 0;
    const fits = isPower(d.line_bytes) && d.line_bytes <= 4096 && d.bytes >= d.line_bytes && d.bytes <= 2 ** 30 && d.bytes % d.line_bytes === 0 &&
      d.ways >= 1 && (d.bytes / d.line_bytes) % d.ways === 0 && ['lru', 'plru', 'fifo'].includes(policy) && (policy !== 'plru' || isPower(d.ways));
    return fits ? d : null;
  });
  const grows = made.every((d, k) => d && (k === 0 || d.line_bytes >= made[k - 1].line_bytes));
  return made.length === given.length && grows ? made : undefined;
}

/** Options for a Stage from `stateText`. Whatever makes no sense is left out. */
export function optionsOf(text, data, given) {
  const fields = new URLSearchParams(text), options = {};
  for (const k of ['a', 'b']) {
    const n = whole(fields.get(k));
    if (n !== undefined && n < data.schedules.length) options[k] = n;
  }
  const share = Number(fields.get('at'));
  if (fields.has('at') && share >= 0 && share <= 1) options.share = share;
  for (const k of ['x', 'y']) if (fields.get(k)) options[k] = fields.get(k);
  const caches = fields.has('c') ? cachesOf(fields.get('c'), given) : undefined;
  if (caches) options.caches = caches;
  return options;
}

/** Reads and writes the theatre's part of the address; others' parts stay. */
export function readAddress(location) {
  const found = (location.hash || '').replace(/^#/, '').split('/').find((part) => part.startsWith(`${KEY}:`));
  return found ? decodeURIComponent(found.slice(KEY.length + 1)) : '';
}
export function writeAddress(window, text) {
  const others = (window.location.hash || '').replace(/^#/, '').split('/').filter((part) => part && !part.startsWith(`${KEY}:`));
  const hash = `#${[...others, `${KEY}:${encodeURIComponent(text)}`].join('/')}`;
  try {
    window.history.replaceState(null, '', hash);
  } catch {
    window.location.replace(hash); // some browsers keep histories of files from scripts
  }
}
