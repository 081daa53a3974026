// Chromium, and a page of it whose requests, errors and scripts are watched.

import { createRequire } from 'node:module';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deflateRawSync } from 'node:zlib';

const [folder, program] = process.argv.slice(2);
const require = createRequire(join(folder, 'bundle', 'package.json'));
const { chromium } = require('playwright-core');
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

export const failures = [];
export function expect(isTrue, what) {
  if (isTrue) return;
  failures.push(what);
  console.log(what);
}

/** Expects what becomes true within ten seconds: the page draws what a key changes a little later. */
export async function eventually(holds, what) {
  const end = performance.now() + 10_000;
  let isTrue = await holds();
  while (!isTrue && performance.now() < end) {
    await new Promise(resolve => setTimeout(resolve, 20));
    isTrue = await holds();
  }
  expect(isTrue, what);
}

const kFlags = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync'];

export const launch = () => chromium.launch({ executablePath: program, args: kFlags });

export const pathOf = name => join(folder, name);

/** Loads a page and runs `test` on it; then nothing may have been asked for, or have gone wrong. */
export async function visit(context, name, test, { media = {}, width = 1280 } = {}) {
  const page = await context.newPage(), requests = [], errors = [];
  page.on('request', request => requests.push(request.url()));
  page.on('console', message => ['error', 'warning'].includes(message.type()) && errors.push(message.text()));
  page.on('pageerror', error => errors.push(error.message));
  page.on('dialog', dialog => { errors.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  await page.setViewportSize({ width, height: 900 });
  await page.emulateMedia(media);
  await page.goto(`file://${pathOf(name)}`);
  await page.waitForSelector('#page', { timeout: 60000 });
  const what = `${name} ${JSON.stringify(media)} ${width}`;
  await test(page, what);
  const others = requests.filter(url => !url.startsWith('blob:file://') && !url.startsWith('blob:null/')).slice(1);
  expect(others.length === 0, `${what}: asks for ${others.slice(0, 3)}`);
  expect(errors.length === 0, `${what}: the console says ${errors.slice(0, 3)}`);
  await page.close();
}

/** Violations of the rules of accessibility. Run from outside: the page's policy allows no other script. */
export async function accessible(page, what) {
  await page.evaluate(`${axe}; undefined`);
  const found = await page.evaluate(async () => (await globalThis.axe.run(document, { resultTypes: ['violations'] })).violations
    .map(each => `${each.id}: ${each.nodes.length} x ${each.nodes[0].target} ${each.nodes[0].failureSummary}`));
  found.forEach(each => expect(false, `${what}: ${each}`));
}

/** A page like `name` with another report in it. */
export function withReport(name, report, made, { isDeflated }) {
  const text = readFileSync(pathOf(name), 'utf8'), json = JSON.stringify(report);
  const data = isDeflated
    ? `<script id="report-data" type="application/json" data-encoding="deflate-raw">${deflateRawSync(json, { level: 9 }).toString('base64')}</script>`
    : `<script id="report-data" type="application/json">${json.replaceAll('<', '\\u003c')}</script>`;
  const [begin, end] = [text.indexOf('<script id="report-data"'), text.indexOf('<script id="report-script"')];
  writeFileSync(pathOf(made), `${text.slice(0, begin)}${data}\n${text.slice(end)}`);
}
