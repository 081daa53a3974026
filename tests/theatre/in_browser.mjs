// The gallery's pages in a real Chromium: in_browser.mjs GALLERY. Skipped (77) where there is no Chromium or no playwright-core in tools/report.
import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-headless-shell', '/usr/bin/chromium-browser'].find(existsSync);
const parts = process.env.KAWARA_REPORT_PARTS || path.resolve(import.meta.dirname, '../../tools/report');
const skip = (why) => {
  console.log(`skipped: ${why}`);
  process.exit(77);
};
if (!CHROMIUM) skip('there is no Chromium');
let playwright, axe;
try {
  const require = createRequire(path.join(parts, 'package.json'));
  playwright = require('playwright-core');
  axe = require.resolve('axe-core');
} catch {
  skip('playwright-core and axe-core are not there: run tests/report/report.py first, or npm ci in tools/report');
}
const gallery = path.resolve(process.argv[2]);
const browser = await playwright.chromium.launch({
  executablePath: CHROMIUM,
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});

/** A page, what it asked for and what it complained of. */
async function opened(name, { hash = '', ...settings } = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 1000 }, ...settings });
  const page = await context.newPage(), requests = [], complaints = [];
  page.on('request', (r) => { if (!/^(data|blob):/.test(r.url())) requests.push(r.url()); });
  page.on('console', (m) => { if (['error', 'warning'].includes(m.type())) complaints.push(m.text()); });
  page.on('pageerror', (e) => complaints.push(String(e)));
  await page.goto(pathToFileURL(path.join(gallery, `${name}.html`)).href + hash);
  return { page, requests, complaints, context };
}
const status = (page) => page.locator('.th [role=status]').textContent();
const soFar = async (page) => Number((await page.locator('.th-is-a caption').textContent()).match(/so far: (\d+)/)[1]);

async function clean(name, settings) {
  const { page, requests, complaints, context } = await opened(name, settings);
  await page.addScriptTag({ path: axe }).catch(() => {});
  // The page's policy keeps scripts out: axe comes in through the debugger.
  const { readFileSync } = await import('node:fs');
  await page.evaluate(readFileSync(axe, 'utf8'));
  const { violations } = await page.evaluate(() => window.axe.run());
  assert.deepEqual(violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.html).join(' | ').slice(0, 300)}`), [], `${name} ${JSON.stringify(settings)}`);
  assert.equal(requests.length, 1, `${name} asks for ${requests}`);
  assert.deepEqual(complaints.filter((c) => !c.includes('script-src')), []);
  await context.close();
}

async function keys() {
  const { page, complaints, context } = await opened('conflict');
  await page.focus('.th');
  const before = await soFar(page);
  await page.keyboard.press('.');
  assert.equal(await soFar(page), before + 1);
  await page.keyboard.press(',');
  assert.equal(await soFar(page), before);
  await page.keyboard.press('n');
  assert.match(await status(page), /miss/);
  await page.keyboard.press('c');
  assert.match(await status(page), /conflict miss, puts out A/);
  await page.keyboard.press('Home');
  assert.equal(await soFar(page), 0);
  await page.keyboard.press(' ');
  await page.waitForFunction(() => Number(document.querySelector('.th-is-a caption').textContent.match(/so far: (\d+)/)[1]) > 3);
  await page.keyboard.press(' ');
  const stopped = await soFar(page);
  await page.waitForTimeout(200);
  assert.equal(await soFar(page), stopped, 'it goes on after it was stopped');
  assert.deepEqual(complaints, []);
  await context.close();
}

async function dragging() {
  const { page, context } = await opened('conflict');
  await page.focus('.th');
  await page.keyboard.press('End');
  const hits = () => page.locator('.th-is-a tbody tr').first().locator('td').nth(3).textContent();
  const before = parseFloat(await hits());
  await page.locator('input[aria-label="ways of L1"]').fill('4');
  assert.ok(parseFloat(await hits()) > before + 20, `one set of all lines cures the conflicts: ${before} ${await hits()}`);
  // The link has the state.
  const address = page.url();
  assert.match(decodeURIComponent(address), /c=512,32,16,lru/);
  const again = await opened('conflict', { hash: address.slice(address.indexOf('#')) });
  assert.equal(await soFar(again.page), await soFar(page));
  assert.equal(await again.page.locator('.th-is-a tbody tr').first().locator('td').nth(3).textContent(), await hits());
  await again.context.close();
  const tile = await opened('tiled_walk');
  await tile.page.locator('input[aria-label="tile size of schedule B"]').fill('2');
  assert.match(await tile.page.locator('.th-is-b .th-loops').textContent(), /range\(min\(4/);
  await tile.context.close();
  await context.close();
}

async function refusal() {
  const { page, context } = await opened('witness');
  const text = await page.locator('.th-is-a .th-refusal').textContent();
  assert.match(text, /S0 at \(t=0, i=2\) writes A\[1, 2\]; S0 at \(t=1, i=1\) reads that value/);
  await page.focus('.th');
  await page.keyboard.press('Home');
  await page.keyboard.press('End');
  assert.match(await page.locator('.th-is-a').textContent(), /cannot be played/);
  await page.locator('.th-is-a .th-refusal button').first().click();
  assert.match(await page.locator('.th-is-a').textContent(), /proved legal for all sizes/);
  assert.ok(await page.locator('.th-is-a .th-refusal').isHidden());
  await context.close();
}

async function stills() {
  const { page, context } = await opened('tiled_walk', { reducedMotion: 'reduce' });
  assert.equal(await page.locator('.th-stills button').count(), 5);
  assert.ok(await page.locator('.th-play').isHidden());
  await page.focus('.th');
  const before = await soFar(page);
  await page.keyboard.press(' ');
  await page.waitForTimeout(200);
  assert.equal(await soFar(page), before, 'it plays though motion is not wanted');
  await page.locator('.th-stills button').nth(4).click();
  assert.match(await page.locator('.th-is-a caption').textContent(), /so far: 1152 of 1152/);
  await context.close();
}

async function speed() {
  const { page, context } = await opened('tiled_walk');
  const ms = await page.evaluate(() => {
    const clock = document.querySelector('.th-clock'), begin = performance.now();
    for (let k = 0; k < 60; ++k) {
      clock.value = String((k * 379) % 1000);
      clock.dispatchEvent(new Event('input'));
    }
    return (performance.now() - begin) / 60;
  });
  console.log(`scrubbing: ${ms.toFixed(1)} ms a picture`);
  await context.close();
}

const names = readdirSync(gallery).filter((f) => f.endsWith('.html')).map((f) => f.slice(0, -5));
assert.ok(names.length >= 4);
for (const name of names) await clean(name, {});
await clean(names[0], { colorScheme: 'dark' });
await clean('witness', { colorScheme: 'dark', reducedMotion: 'reduce' });
await keys();
await dragging();
await refusal();
await stills();
await speed();
await browser.close();
console.log(`${names.length} pages`);
