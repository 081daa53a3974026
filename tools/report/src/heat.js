// A scale from pale to hot that also people who confuse red and green can read, with an ink for text on it.

import { interpolateRgb } from 'd3-interpolate';

const luminance = text => {
  const [r, g, b] = text.match(/[\d.]+/g).map(Number).map(v => (v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};

const known = new Map();

/** [colour, ink] for 0 to 1. */
export function interpolateHeat(share, colours) {
  const step = Math.round(Math.max(0, Math.min(1, share || 0)) ** 0.6 * 40);
  const key = `${colours('paper')} ${step}`;
  if (!known.has(key)) {
    const fill = interpolateRgb(colours('cool'), colours('heat'))(step / 40);
    known.set(key, [fill, luminance(fill) > 0.18 ? '#000' : '#fff']);
  }
  return known.get(key);
}
