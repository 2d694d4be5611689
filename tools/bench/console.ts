import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Browser, chromium, type Page } from 'playwright-core';
import { findFreePort } from '../dev-stack/src/find-free-port';
import { findChromium } from './find-chromium';
import { endNpmProcess, startNpmProcess } from './npm-start';
import { computeMedian } from './rounds';
import { chooseSize } from './short';

// Measures the pages of the console in a browser, for an organization with a month of runs.

const runs = chooseSize(100_000, 200);
const rounds = chooseSize(5, 1);
const targets = { firstMs: 1000, againMs: 100, shift: 0.02, kilobytes: 180 };

interface Visit {
  firstMs: number;
  againMs: number;
  shift: number;
  kilobytes: number;
}

interface Person {
  email: string;
  password: string;
}

void (async () => {
  const executablePath = await findChromium();
  if (!executablePath) return console.log('console: skipped without Chromium\n');
  const dataDir = await mkdtemp(join(tmpdir(), 'muster-bench-'));
  const port = await findFreePort();
  const service = await startNpmProcess(['--port', String(port), '--data-dir', dataDir, '--no-demo']);
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
  try {
    const person = await generateDemoMonth(dataDir);
    console.log(`console: a month of ${runs} runs, medians of ${rounds}`);
    console.log(
      `  ${'page'.padEnd(10)}${['first', 'again', 'shift', 'scripts'].map((name) => name.padStart(12)).join('')}`,
    );
    console.log(formatRow('limit', targets));
    for (const name of ['Home', 'Runs', 'A run', 'An agent'] as const) {
      const visits: Visit[] = [];
      for (let round = 0; round < rounds; round += 1) {
        visits.push(await measureVisit(browser, `http://127.0.0.1:${port}`, name, person));
      }
      printVisits(name, visits);
    }
    console.log('');
  } finally {
    await browser.close();
    await endNpmProcess(service);
    await rm(dataDir, { recursive: true, force: true });
  }
})();

type PageName = 'Home' | 'Runs' | 'A run' | 'An agent';

async function generateDemoMonth(dataDir: string): Promise<Person> {
  const email = 'bench@muster.local';
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [join(__dirname, '../demo-month/demo-month.js'), '--runs', String(runs), '--email', email],
    { env: { PATH: process.env['PATH'], HOME: process.env['HOME'], MUSTER_DATA_DIR: dataDir }, maxBuffer: 2 ** 24 },
  );
  return { email, password: /the password (\S+)/.exec(stdout)![1]! };
}

/** Signs in with an empty cache, opens the page, leaves it and opens it again. */
async function measureVisit(browser: Browser, address: string, name: PageName, person: Person): Promise<Visit> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  await page.addInitScript(`
    window.shift = 0;
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shift += entry.value;
    }).observe({ type: 'layout-shift', buffered: true });
  `);
  try {
    // A link to the page of one resource is known only after a sign-in, so each path is read in its own session.
    const path = await findPath(address, name, person);
    await page.goto(`${address}${path}`);
    await page.getByLabel('Email').fill(person.email);
    await page.getByLabel('Password').fill(person.password);
    const began = performance.now();
    // Enter leaves the pointer where it is. After a click it could lie on a link, whose page would be loaded in advance.
    await page.getByLabel('Password').press('Enter');
    await waitInPage(page, isComplete);
    const firstMs = performance.now() - began;
    const kilobytes = await page.evaluate<number>(
      `performance.getEntriesByType('resource').filter(({ name }) => /\\.js$/.test(name))
        .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0) / 1000`,
    );
    // Waits for later requests and changes of the page, which may move it.
    await page.waitForTimeout(1000);
    const shift = await page.evaluate<number>('window.shift');
    await page.evaluate(`document.querySelector('nav[aria-label=Main] a[href$="/workflows"]').click()`);
    await waitInPage(page, `document.querySelector('h1')?.innerText === 'Workflows' && ${isComplete}`);
    const againMs = await measureBackNavigation(page);
    return { firstMs, againMs, shift, kilobytes };
  } finally {
    await context.close();
  }
}

/** Whether the page is shown and none of its parts is loading. */
const isComplete = `(document.querySelector('nav[aria-label=Main]') !== null && document.querySelector('h1') !== null
  && document.querySelector('main [aria-label=Loading]') === null)`;

/**
 * Waits until the condition is true in a painted frame. Playwright's own waiting calls `eval` in the page, which the
 * content security policy of the console refuses.
 */
function waitInPage(page: Page, condition: string): Promise<void> {
  return page.evaluate<void>(`new Promise((done) => {
    const check = () => (${condition} ? done() : requestAnimationFrame(check));
    check();
  })`);
}

/** Returns to the page before and measures in the page itself until it is painted. */
function measureBackNavigation(page: Page): Promise<number> {
  return page.evaluate<number>(`new Promise((done) => {
    const began = performance.now();
    history.back();
    const check = () => {
      if (document.querySelector('h1')?.innerText !== 'Workflows'
        && ${isComplete}) done(performance.now() - began);
      else requestAnimationFrame(check);
    };
    requestAnimationFrame(check);
  })`);
}

async function findPath(address: string, name: PageName, person: Person): Promise<string> {
  if (name === 'Home') return '/app';
  if (name === 'Runs') return '/app/runs';
  const signedIn = await fetch(`${address}/api/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(person),
  });
  const cookie = signedIn.headers
    .getSetCookie()
    .map((each) => each.split(';')[0])
    .join('; ');
  const [list, field, page] = name === 'A run' ? ['jobs', 'jobs', 'runs'] : ['agents', 'agents', 'agents'];
  const found = await fetch(`${address}/api/${list}?limit=1`, { headers: { cookie } });
  const body = (await found.json()) as Record<string, { id: string }[]>;
  return `/app/${page}/${body[field!]![0]!.id}`;
}

function printVisits(name: PageName, visits: Visit[]): void {
  const computeMedianOfField = (field: keyof Visit) => computeMedian(visits.map((visit) => visit[field]));
  const [firstMs, againMs, shift, kilobytes] = [
    computeMedianOfField('firstMs'),
    computeMedianOfField('againMs'),
    computeMedianOfField('shift'),
    computeMedianOfField('kilobytes'),
  ];
  const met =
    firstMs <= targets.firstMs &&
    againMs <= targets.againMs &&
    shift <= targets.shift &&
    kilobytes <= targets.kilobytes;
  console.log(`${formatRow(name, { firstMs, againMs, shift, kilobytes })}   ${met ? 'met' : 'not met'}`);
}

function formatRow(name: string, { firstMs, againMs, shift, kilobytes }: Visit): string {
  const cells = [
    `${firstMs.toFixed(0)} ms`,
    `${againMs.toFixed(0)} ms`,
    shift.toFixed(3),
    `${kilobytes.toFixed(0)} kB`,
  ];
  return `  ${name.padEnd(10)}${cells.map((cell) => cell.padStart(12)).join('')}`;
}
