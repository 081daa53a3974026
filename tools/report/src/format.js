// Numbers as text, as `kawara explain` prints them.

const reaches = (value, scale) => value >= scale * 0.9995;

/** Three digits, no zeros at the end. */
export const digits = (value, count = 3) =>
  Number.isFinite(value) ? String(Number(value.toPrecision(count))) : '–';

export function duration(seconds) {
  for (const [scale, unit] of [[1, 's'], [1e-3, 'ms']])
    if (reaches(seconds, scale)) return `${digits(seconds / scale)} ${unit}`;
  return `${digits(seconds * 1e6)} us`;
}

export function amount(value, unit) {
  for (const [scale, prefix] of [[1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k'], [1, ''], [1e-3, 'm'],
    [1e-6, 'u'], [1e-9, 'n'], [1e-12, 'p']])
    if (reaches(value, scale)) return `${digits(value / scale)} ${prefix}${unit}`;
  return `0 ${unit}`;
}

/** Of a cache: 65536 is 64 KiB. */
export function size(bytes) {
  for (const [scale, unit] of [[2 ** 30, 'GiB'], [2 ** 20, 'MiB'], [2 ** 10, 'KiB']])
    if (bytes >= scale) return `${digits(bytes / scale, 4)} ${unit}`;
  return `${bytes} B`;
}

export function percent(share) {
  if (!Number.isFinite(share)) return '–';
  return share > 0 && share < 0.01 ? `${digits(share * 100, 1)} %` : `${(share * 100).toFixed(0)} %`;
}

/** "+12 %", "-3 %"; empty where nothing changed. */
export function change(now, before) {
  if (!(before > 0) || !Number.isFinite(now) || Math.abs(now / before - 1) < 1e-12) return '';
  const share = (now / before - 1) * 100;
  return `${share > 0 ? '+' : '−'}${digits(Math.abs(share), Math.abs(share) < 10 ? 2 : 3)} %`;
}

export const band = joules =>
  joules ? `${amount(joules.value, 'J')} (${amount(joules.low, 'J')} to ${amount(joules.high, 'J')})` : 'not known';

export const threadsText = threads => (threads === 1 ? '1 thread' : `${threads} threads`);

export const clipped = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
