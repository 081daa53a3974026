// Makes the page's bundle: one script, one style, the licences of what is inside, and the script's
// hash for the page's policy. `node build.mjs [FOLDER]`; without a folder it is dist/.
// Needs `npm ci` once. Building Kawara itself needs neither: dist/ is kept in the repository.

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild-wasm';

const here = dirname(fileURLToPath(import.meta.url));
const out = resolve(process.argv[2] ?? join(here, 'dist'));

const theatre = ['mount.js', 'mount.jsx', 'index.js'].map(name => join(here, 'src/theatre', name)).find(existsSync);

const made = await build({
  absWorkingDir: here,
  entryPoints: ['src/main.jsx'],
  bundle: true,
  minify: true,
  write: false,
  metafile: true,
  outdir: 'dist',
  entryNames: 'report',
  format: 'iife',
  target: ['es2022'],
  charset: 'ascii',
  legalComments: 'none',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  alias: { theatre: theatre ?? join(here, 'src/no_theatre.js') },
});

/** The packages that something of is in the bundle, by name. */
function packages() {
  const found = new Set();
  for (const input of Object.keys(made.metafile.inputs)) {
    const match = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input);
    if (match) found.add(match[1]);
  }
  return [...found].sort();
}

function licence(name) {
  const folder = join(here, 'node_modules', name);
  const about = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const file = ['LICENSE', 'LICENSE.md', 'LICENSE.txt', 'license'].map(each => join(folder, each)).find(existsSync);
  if (!file) throw new Error(`${name} has no text of its licence`);
  return `${name} ${about.version} (${about.license})\n\n${readFileSync(file, 'utf8').trim()}\n`;
}

mkdirSync(out, { recursive: true });
const write = (name, text) => writeFileSync(join(out, name), text);
for (const file of made.outputFiles) {
  // A script ends where its text says so, whatever that stands in.
  const text = file.text.replace(/<\/(script|style)/gi, '<\\/$1').replace(/<!--/g, '<\\!--');
  write(file.path.endsWith('.css') ? 'report.css' : 'report.js', text);
  if (file.path.endsWith('.js'))
    write('report.sha256', createHash('sha256').update(text, 'utf8').digest('base64') + '\n');
}
write('LICENSES.txt', packages().map(licence).join('\n' + '-'.repeat(80) + '\n\n'));
