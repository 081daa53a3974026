// The pages in a browser: no request, no error, readable without script and in print, by keyboard alone, with
// names that would be markup elsewhere, soon there, and not large.

import { readFileSync, statSync } from 'node:fs';
import { accessible, eventually, expect, failures, launch, pathOf, visit, withReport } from './browser.mjs';
import { hostileNames, modelReport } from './made_report.mjs';

const kSoon = 1000, kProgramBytes = 500e3, kModelBytes = 1.5e6, kHostileNames = 10_000;

const browser = await launch(), context = await browser.newContext();
const textOf = (page, selector) => page.locator(selector).first().textContent();

async function looks(page, what) {
  await page.waitForTimeout(300);
  await accessible(page, what);
  const { wide, shown } = await page.evaluate(() => ({ wide: document.documentElement.scrollWidth, shown: document.documentElement.clientWidth }));
  expect(wide <= shown, `${what}: ${wide} wide, ${shown} are shown`);
}

const kWithPictures = ['gemm.html', 'limit.html', 'both.html', 'model.html', 'large.html'];
const names = hostileNames(kHostileNames);
withReport('model.html', modelReport(12), 'large.html', { isDeflated: true });
withReport('model.html', modelReport(12, k => names[k % names.length]), 'hostile.html', { isDeflated: false });
const many = modelReport(2);
many.missing = names;
many.graph.nodes = names.map((name, k) => ({ id: name, name, op: name, kernel: `k${k % 6}`, operations: 1, bytes: 1 }));
many.graph.edges = names.slice(1).map((name, k) => ({ ...many.graph.edges[k % many.graph.edges.length], from: names[k], to: name, tensor: name, reason: name, directive: name, fused: k % 3 > 0 }));
withReport('model.html', many, 'many.html', { isDeflated: true });

for (const name of kWithPictures)
  for (const media of [{ colorScheme: 'light' }, { colorScheme: 'dark', reducedMotion: 'reduce' }])
    await visit(context, name, looks, { media });
for (const name of ['gemm.html', 'large.html']) await visit(context, name, looks, { width: 390 });

expect(statSync(pathOf('gemm.html')).size <= kProgramBytes, `gemm.html has ${statSync(pathOf('gemm.html')).size} bytes`);
expect(statSync(pathOf('large.html')).size <= kModelBytes, `large.html has ${statSync(pathOf('large.html')).size} bytes`);

for (const name of ['gemm.html', 'large.html']) {
  let soonest = Infinity;
  for (let k = 0; k < 3; ++k)
    await visit(context, name, async page => {
      const painted = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? Infinity);
      soonest = Math.min(soonest, painted);
    });
  expect(soonest <= kSoon, `${name}: the first paint comes after ${soonest} ms`);
  console.log(`${name}: first paint after ${soonest.toFixed(0)} ms, ${statSync(pathOf(name)).size} bytes`);
}

for (const name of ['hostile.html', 'many.html'])
  await visit(context, name, async (page, what) => {
    await page.keyboard.press('/');
    await page.waitForSelector('dialog[open] input');
    await page.keyboard.type('<img');
    await eventually(async () => await page.locator('#search-found li').count() > 0, `${what}: the search finds no name`);
    await page.keyboard.press('Enter');
    await page.evaluate(() => document.querySelectorAll('button.more, summary').forEach(each => each.click()));
    await page.waitForTimeout(300);
    const state = await page.evaluate(() => ({ pwned: window.pwned, strange: document.querySelectorAll('#page script, #page img, #page [onerror], #page [onload], #page [onfocus], #page iframe').length,
      scripts: document.scripts.length, shown: document.body.textContent.includes('<script>window.pwned=1</script>') }));
    expect(state.pwned === undefined && state.strange === 0 && state.scripts === 2, `${what}: a name became markup: ${JSON.stringify(state)}`);
    expect(state.shown, `${what}: names are not shown as they are`);
  });

await visit(context, 'gemm.html', async (page, what) => {
  await page.keyboard.press('Tab');
  expect(await page.evaluate(() => document.activeElement.className) === 'skip', `${what}: Tab does not begin with the way to the report`);
  const seen = new Set();
  for (let k = 0; k < 400; ++k) {
    await page.keyboard.press('Tab');
    const at = await page.evaluate(() => {
      const element = document.activeElement, style = getComputedStyle(element);
      if (element === document.body) return null;
      return { section: element.closest('section')?.id ?? element.tagName, isSeen: style.outlineStyle !== 'none' || element.tagName === 'A' };
    });
    if (at === null) break;
    seen.add(at.section);
    expect(at.isSeen, `${what}: the focus is not seen in ${at.section}`);
  }
  for (const section of ['limits', 'bytes', 'schedule', 'energy', 'machine', 'what-if']) expect(seen.has(section), `${what}: Tab does not come to ${section}`);
  await page.keyboard.press('?');
  await eventually(async () => await page.locator('dialog[open]').count() === 1, `${what}: ? shows no keys`);
  await page.keyboard.press('Escape');
  await eventually(async () => await page.locator('dialog[open]').count() === 0, `${what}: Escape closes no dialog`);
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  await eventually(async () => await page.evaluate(() => document.activeElement.tagName) === 'SECTION', `${what}: j goes to no section`);
  const before = await textOf(page, '.tile .value');
  await page.keyboard.press('w');
  await page.keyboard.press('Enter');
  await page.waitForSelector('.what-if input[type=range]');
  await page.keyboard.press('Tab');
  for (let k = 0; k < 8; ++k) await page.keyboard.press('ArrowLeft');
  await eventually(async () => await textOf(page, '.tile .value') !== before, `${what}: peaks four times lower change no time`);
  await eventually(async () => await page.locator('p.changed').count() === 1, `${what}: does not say that the machine is another`);
  await page.locator('.what-if button', { hasText: 'as it is' }).click();
  await eventually(async () => await textOf(page, '.tile .value') === before, `${what}: the machine as it is has other figures than before`);
  await accessible(page, `${what}, sliders`);
});

await visit(context, 'large.html', async (page, what) => {
  await page.waitForSelector('#fusion canvas');
  await page.locator('#fusion .surface').focus();
  for (const key of ['ArrowRight', 'ArrowRight', 'Enter']) await page.keyboard.press(key);
  await eventually(async () => await page.locator('#fusion .card h3').count() === 1, `${what}: arrows select nothing in the graph`);
  const first = await textOf(page, '#time figcaption');
  await page.locator('#time .surface').focus();
  await page.keyboard.press('ArrowRight');
  await eventually(async () => await textOf(page, '#time figcaption') !== first, `${what}: arrows select nothing in the timeline`);
  await page.locator('#arena .surface').focus();
  await page.keyboard.press('ArrowRight');
  await eventually(async () => (await textOf(page, '#arena figcaption')).includes('steps 1 to 2'), `${what}: arrows select nothing in memory`);
  await page.locator('#fusion input[type=range]').fill('0');
  await eventually(async () => (await textOf(page, '#fusion .fusion-numbers')).startsWith('operators as written'), `${what}: the slider shows no operators`);
  const [download] = await Promise.all([page.waitForEvent('download'), page.locator('button', { hasText: 'Chrome trace' }).click()]);
  const spans = JSON.parse(readFileSync(await download.path(), 'utf8')).traceEvents.filter(event => event.ph === 'X');
  expect(spans.length === 72 && spans.every((span, k) => k === 0 || span.ts >= spans[k - 1].ts + spans[k - 1].dur - 1e-6), `${what}: spans of the trace overlap`);
  await page.keyboard.press('t');
  await accessible(page, `${what}, after all keys`);
});

await visit(context, 'gemm.html', async (page, what) => {
  await page.emulateMedia({ media: 'print' });
  expect(await page.locator('h1').isVisible() && await page.locator('#bytes table').first().isVisible(), `${what}: prints no numbers`);
  expect(!await page.locator('.what-if').isVisible() && !await page.locator('.tools').isVisible(), `${what}: prints buttons`);
});
const bare = await browser.newContext({ javaScriptEnabled: false });
for (const name of ['gemm.html', 'model.html', 'both.html']) {
  const page = await bare.newPage();
  await page.goto(`file://${pathOf(name)}`);
  expect(await page.locator('#static h1').first().isVisible() && await page.locator('#static table').count() > 0, `${name}: says nothing without script`);
  await page.close();
}
await browser.close();

console.log(`pages: ${failures.length} complaints`);
process.exit(failures.length ? 1 : 0);
