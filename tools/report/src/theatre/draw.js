// Pictures that are drawn to a canvas or written as SVG by the same calls.

// Okabe and Ito's colours, which most people can tell apart; each with a shade for dark paper.
const ARRAYS = {
  light: ['#0072b2', '#d55e00', '#009e73', '#aa4f86', '#5b6c00', '#7a5ea8', '#8a5a00'],
  dark: ['#56b4e9', '#f08a3c', '#2fc79b', '#dd94c0', '#c3cf4a', '#b39ddb', '#e6b450'],
};
const INKS = {
  light: {
    ink: '#1c1c1c', soft: '#5a5a5a', line: '#c8c8c8', paper: '#ffffff', ground: '#f3f3f1',
    hit: '#00734f', compulsory: '#3c5a78', capacity: '#b45f00', conflict: '#c2185b', a: '#0072b2', b: '#b34700', bound: '#1c1c1c',
  },
  dark: {
    ink: '#ececec', soft: '#b0b0b0', line: '#4a4a4a', paper: '#161616', ground: '#202022',
    hit: '#2fc79b', compulsory: '#8fb3d9', capacity: '#f0a03c', conflict: '#ff6fa3', a: '#56b4e9', b: '#f0a03c', bound: '#ececec',
  },
};

export function inksOf(isDark) {
  const ink = INKS[isDark ? 'dark' : 'light'];
  const arrays = ARRAYS[isDark ? 'dark' : 'light'];
  return { ...ink, isDark, array: (k) => arrays[k % arrays.length], kinds: [ink.hit, ink.compulsory, ink.capacity, ink.conflict] };
}

const channel = (hex, k) => parseInt(hex.slice(1 + 2 * k, 3 + 2 * k), 16);
const mixtures = new Map();
/** `share` of a over b, in steps of a hundredth. */
export function mixed(a, b, share) {
  const key = `${a}${b}${Math.round(share * 100)}`;
  if (!mixtures.has(key)) mixtures.set(key, mixedAnew(a, b, Math.round(share * 100) / 100));
  return mixtures.get(key);
}
function mixedAnew(a, b, share) {
  const part = (k) => Math.round(channel(a, k) * share + channel(b, k) * (1 - share)).toString(16).padStart(2, '0');
  return `#${part(0)}${part(1)}${part(2)}`;
}

/** Black or white, whichever is easier to read on a colour. */
export function legible(colour) {
  const light = (k) => {
    const v = channel(colour, k) / 255;
    return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  };
  // Equal contrast with both is at a luminance of 0.179.
  return 0.2126 * light(0) + 0.7152 * light(1) + 0.0722 * light(2) > 0.179 ? '#000000' : '#ffffff';
}

const TIMES = ['#440154', '#46327e', '#365c8d', '#277f8e', '#1fa187', '#4ac16d', '#a0da39', '#fde725']; // viridis
const MOMENTS = Array.from({ length: 256 }, (_, n) => {
  const at = (n / 255) * (TIMES.length - 1), k = Math.min(Math.floor(at), TIMES.length - 2);
  return mixedAnew(TIMES[k + 1], TIMES[k], at - k);
});
/** Colour of a moment between 0 and 1. */
export const timeColour = (share) => MOMENTS[Math.round(Math.min(Math.max(share, 0), 1) * 255)];
const hue = (k) => ((k * 137.5) % 360 + 360) % 360;
/** Colour of a thread or block, darker while it is to come. */
export function threadColour(number, share, isDark) {
  const l = (isDark ? 38 : 72) + (isDark ? 26 : -28) * share, s = 0.55, h = hue(number);
  const f = (n) => {
    const k = (n + h / 30) % 12, a = s * Math.min(l / 100, 1 - l / 100);
    return Math.round(255 * (l / 100 - a * Math.max(-1, Math.min(k - 3, 9 - k, 1)))).toString(16).padStart(2, '0');
  };
  return `#${f(0)}${f(8)}${f(4)}`;
}

const FONT = 'system-ui, sans-serif';

export class CanvasSurface {
  constructor(canvas, width, height) {
    const scale = (typeof window !== 'undefined' && window.devicePixelRatio) || 1;
    if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
      canvas.width = Math.round(width * scale);
      canvas.height = Math.round(height * scale);
      canvas.style.height = `${height}px`;
    }
    this.context = canvas.getContext('2d');
    this.context.setTransform(scale, 0, 0, scale, 0, 0);
    this.context.clearRect(0, 0, width, height);
    this.width = width;
    this.height = height;
  }
  /** What `draw` draws, kept with its owner until its pictures are forgotten. */
  cached(owner, name, draw) {
    const { canvas } = this.context, stamp = `${name} ${canvas.width} ${canvas.height}`;
    let picture = owner.pictures.get(stamp);
    if (!picture) {
      picture = canvas.ownerDocument.createElement('canvas');
      draw(new CanvasSurface(picture, this.width, this.height));
      owner.pictures.set(stamp, picture);
    }
    this.context.drawImage(picture, 0, 0, this.width, this.height);
  }
  rect(x, y, w, h, fill, alpha = 1) {
    const c = this.context;
    if (alpha !== 1) c.globalAlpha = alpha;
    if (this.filling !== fill) c.fillStyle = this.filling = fill;
    c.fillRect(x, y, w, h);
    if (alpha !== 1) c.globalAlpha = 1;
  }
  ring(x, y, w, h, stroke, width = 1) {
    this.context.strokeStyle = stroke;
    this.context.lineWidth = width;
    this.context.strokeRect(x, y, w, h);
  }
  /** Points as x, y, x, y, ... */
  line(points, stroke, width = 1, dash = []) {
    const c = this.context;
    c.strokeStyle = stroke;
    c.lineWidth = width;
    c.setLineDash(dash);
    c.beginPath();
    c.moveTo(points[0], points[1]);
    for (let k = 2; k < points.length; k += 2) c.lineTo(points[k], points[k + 1]);
    c.stroke();
    c.setLineDash([]);
  }
  curve(x0, y0, x1, y1, x2, y2, stroke, width = 1) {
    const c = this.context;
    c.strokeStyle = stroke;
    c.lineWidth = width;
    c.beginPath();
    c.moveTo(x0, y0);
    c.quadraticCurveTo(x1, y1, x2, y2);
    c.stroke();
  }
  dot(x, y, r, fill) {
    this.context.fillStyle = this.filling = fill;
    this.context.beginPath();
    this.context.arc(x, y, r, 0, 2 * Math.PI);
    this.context.fill();
  }
  text(x, y, words, fill, size = 11, anchor = 'start', weight = 'normal', font = FONT) {
    const c = this.context;
    c.font = `${weight} ${size}px ${font}`;
    c.fillStyle = this.filling = fill;
    c.textAlign = anchor === 'middle' ? 'center' : anchor;
    c.textBaseline = 'alphabetic';
    c.fillText(words, x, y);
  }
}

const safe = (words) => String(words).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
const at = (x) => +x.toFixed(1);

export class SvgSurface {
  constructor(width, height) {
    this.width = width;
    this.height = height;
    this.parts = [];
  }
  cached(_, __, draw) {
    draw(this);
  }
  rect(x, y, w, h, fill, alpha = 1) {
    const shade = `fill="${fill}"${alpha < 1 ? ` fill-opacity="${at(alpha)}"` : ''}`, path = `M${at(x)} ${at(y)}h${at(w)}v${at(h)}h${at(-w)}z`;
    // Those of one colour with nothing else in between are one path.
    if (this.filled !== this.parts.length) this.shades = new Map();
    const own = this.shades.get(shade);
    if (own === undefined) this.shades.set(shade, this.parts.push(`<path ${shade} d="${path}"/>`) - 1);
    else this.parts[own] = this.parts[own].replace('"/>', `${path}"/>`);
    this.filled = this.parts.length;
  }
  ring(x, y, w, h, stroke, width = 1) {
    this.parts.push(`<rect x="${at(x)}" y="${at(y)}" width="${at(w)}" height="${at(h)}" fill="none" stroke="${stroke}" stroke-width="${width}"/>`);
  }
  line(points, stroke, width = 1, dash = []) {
    const dashes = dash.length ? ` stroke-dasharray="${dash.join(' ')}"` : '';
    this.parts.push(`<polyline points="${points.map(at).join(' ')}" fill="none" stroke="${stroke}" stroke-width="${width}"${dashes}/>`);
  }
  curve(x0, y0, x1, y1, x2, y2, stroke, width = 1) {
    this.parts.push(`<path d="M${at(x0)} ${at(y0)}Q${at(x1)} ${at(y1)} ${at(x2)} ${at(y2)}" fill="none" stroke="${stroke}" stroke-width="${width}"/>`);
  }
  dot(x, y, r, fill) {
    this.parts.push(`<circle cx="${at(x)}" cy="${at(y)}" r="${at(r)}" fill="${fill}"/>`);
  }
  text(x, y, words, fill, size = 11, anchor = 'start', weight = 'normal', font = FONT) {
    const bold = (weight === 'normal' ? '' : ` font-weight="${weight}"`) + (font === FONT ? '' : ` font-family="${font}" xml:space="preserve"`);
    this.parts.push(`<text x="${at(x)}" y="${at(y)}" fill="${fill}" font-size="${size}" text-anchor="${anchor}"${bold}>${safe(words)}</text>`);
  }
  /** Another surface's parts, moved. */
  add(other, x, y) {
    this.parts.push(`<g transform="translate(${at(x)} ${at(y)})">${other.parts.join('')}</g>`);
  }
  toString() {
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${this.width}" height="${this.height}" viewBox="0 0 ${this.width} ${this.height}" ` +
      `font-family="${FONT}">${this.parts.join('')}</svg>\n`;
  }
}
