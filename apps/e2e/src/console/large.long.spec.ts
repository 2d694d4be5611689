// This test is long because it scrolls through 100,000 log lines and 10,000 runs.
// A short test of the same code: apps/gateway/src/jobs/job-lists.spec.ts
import { type HttpClient, waitFor } from '@muster/testing';
import { Client } from 'pg';
import type { Page } from 'playwright-core';
import { ConsoleFixture, describeInBrowser } from './console-fixture';

jest.setTimeout(300_000);

const lines = 200_000;
const runs = 10_000;
/** Maximum 95th percentile of frame times in milliseconds; generous, because test machines render without a GPU. */
const maxFrameMs = { line: 100, row: 400 };

describeInBrowser('large logs and lists', () => {
  let fixture: ConsoleFixture;
  let api: HttpClient;
  let database: Client;
  let jobId: string;
  let agentId: string;

  beforeAll(async () => {
    fixture = await ConsoleFixture.start();
    api = await fixture.createApiClient();
    const { jobs } = (await api.get('/api/jobs?limit=1')).body;
    ({ id: jobId, agentId } = jobs[0]);
    await waitFor('the end of the example', async () => {
      const { status } = (await api.get(`/api/jobs/${jobId}`)).body;
      return status === 'completed';
    });
    database = new Client({ connectionString: fixture.getDatabaseUrl() });
    await database.connect();
  });
  afterAll(async () => {
    await database?.end();
    await fixture?.end();
  });

  it('a large log is shown from its end, its beginning and by search, in bounded browser memory', async () => {
    await writeLines();
    const tab = await fixture.openSignedInTab(`/app/runs/${jobId}`);
    const { page } = tab;
    const log = page.getByRole('log', { name: 'Log' });
    const locateLogLine = (number: number) => log.getByText(`line ${number} of a log`);
    await locateLogLine(lines).waitFor();
    const before = await measureHeapMiB(page);
    const opened = await measureMs(async () => {
      await page.reload();
      await page.getByTestId('log-line').first().waitFor();
    });
    const scrolled = await scrollAndMeasureFrames(page, '[role=log]', -1);
    const oldest = await measureMs(async () => {
      await page.getByRole('button', { name: 'Oldest' }).click();
      await locateLogLine(1).waitFor();
    });
    const down = await scrollAndMeasureFrames(page, '[role=log]', 1);
    const newest = await measureMs(async () => {
      await page.getByRole('button', { name: 'Newest' }).click();
      await locateLogLine(lines).waitFor();
    });
    const found = await measureMs(async () => {
      await page.getByRole('searchbox', { name: 'Search the log' }).fill(`line ${lines / 2} `);
      await locateLogLine(lines / 2).waitFor();
    });
    // Matches all over the log: the newest appear first, the older ones follow automatically.
    const typeLogSearch = (text: string) => page.getByRole('searchbox', { name: 'Search the log' }).fill(text);
    const first = await measureMs(async () => {
      await typeLogSearch('line 19999');
      await locateLogLine(199_999).waitFor();
    });
    const whole = await measureMs(() => locateLogLine(19_999).waitFor());
    expect(await page.getByTestId('log-line').count()).toBe(11);
    const after = await measureHeapMiB(page);
    process.stdout.write(
      `console: ${lines} lines: first rows after ${opened} ms, oldest ${oldest} ms, newest ${newest} ms, ` +
        `found ${found} ms, the first of 11 matches after ${first} ms and the last ${whole} ms later; frames while scrolling: ${formatFrames(scrolled)} up, ${formatFrames(down)} down; ` +
        `heap ${before} MiB before, ${after} MiB after\n`,
    );
    expect(await page.getByTestId('log-line').count()).toBeLessThan(200);
    for (const { p95 } of [scrolled, down]) expect(p95).toBeLessThan(maxFrameMs.line);
    expect(after - before).toBeLessThan(64);
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('a large log loses and repeats no line while scrolling through more lines than memory keeps', async () => {
    const tab = await fixture.openSignedInTab(`/app/runs/${jobId}`);
    const { page } = tab;
    await page.getByTestId('log-line').first().waitFor();
    // The numbers of all lines that were visible while scrolling up beyond the kept lines and down again.
    const visited = await page.evaluate<number[]>(walk);
    const [first, last] = [Math.min(...visited), Math.max(...visited)];
    expect(last).toBe(lines);
    expect(last - first).toBeGreaterThan(4500);
    expect(new Set(visited).size).toBe(last - first + 1);
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('a list of 10,000 runs shows its first rows fast, and scrolls smoothly', async () => {
    await writeRuns();
    const tab = await fixture.openSignedInTab('/app/runs');
    const { page } = tab;
    const frame = '[role=region][aria-label=Runs]';
    await page.getByRole('row').nth(20).waitFor();
    const before = await measureHeapMiB(page);
    const opened = await measureMs(async () => {
      await page.reload();
      await page.getByRole('row').nth(5).waitFor();
    });
    const scrolled = await scrollAndMeasureFrames(page, frame, 1, 12_000);
    const after = await measureHeapMiB(page);
    process.stdout.write(
      `console: ${runs} runs: first rows after ${opened} ms; frames while scrolling: ${formatFrames(scrolled)}; ` +
        `heap ${before} MiB before, ${after} MiB after\n`,
    );
    expect(await page.getByRole('row').count()).toBeLessThan(100);
    expect(scrolled.p95).toBeLessThan(maxFrameMs.row);
    expect(after - before).toBeLessThan(96);
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  async function writeLines(): Promise<void> {
    await database.query(
      `WITH head AS (
         UPDATE timeline_head SET last_seq = last_seq + $2::int WHERE agent_id = $1 RETURNING organization_id, last_seq
       )
       INSERT INTO timeline_entry (agent_id, seq, organization_id, kind, level, message, source, job_id)
       SELECT $1, head.last_seq - $2::int + n, head.organization_id, 'execution', 'info',
              'line ' || n || ' of a log that is long', 'worker', $3
       FROM head, generate_series(1, $2::int) n`,
      [agentId, lines, jobId],
    );
  }

  async function writeRuns(): Promise<void> {
    const { rows } = await database.query<{ names: string }>(
      `SELECT string_agg(quote_ident(column_name), ', ') AS names FROM information_schema.columns
       WHERE table_name = 'job' AND column_name NOT IN ('id', 'queued_at') AND is_generated = 'NEVER'`,
    );
    const names = rows[0]!.names;
    await database.query(
      `INSERT INTO job (id, queued_at, ${names})
       SELECT overlay(gen_random_uuid()::text placing lpad(to_hex(n), 8, '0') from 1 for 8)::uuid,
              now() - make_interval(secs => $2::int - n), ${names}
       FROM job, generate_series(1, $2::int) n WHERE id = $1`,
      [jobId, runs],
    );
  }
});

interface Frames {
  count: number;
  /** Median, 95th percentile and longest frame time, in milliseconds. */
  median: number;
  p95: number;
  longest: number;
}

function formatFrames({ count, median, p95, longest }: Frames): string {
  return `${count} of ${median} ms (95%: ${p95} ms, longest ${longest} ms)`;
}

async function measureMs(act: () => Promise<void>): Promise<number> {
  const began = performance.now();
  await act();
  return Math.round(performance.now() - began);
}

/** Heap size of the tab in MiB after a garbage collection. */
async function measureHeapMiB(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = (await session.send('Runtime.getHeapUsage')) as { usedSize: number };
  await session.detach();
  return Math.round(usedSize / 1024 / 1024);
}

/** Scrolls for `forMs` milliseconds like a mouse wheel, and returns the frame times. */
function scrollAndMeasureFrames(page: Page, frame: string, direction: 1 | -1, forMs = 5000): Promise<Frames> {
  return page.evaluate<Frames>(`(async () => {
    const frame = document.querySelector(${JSON.stringify(frame)});
    const lengths = [];
    let last = await new Promise(requestAnimationFrame);
    for (const until = last + ${forMs}; last < until; ) {
      frame.scrollTop += ${direction * 120};
      const now = await new Promise(requestAnimationFrame);
      lengths.push(now - last);
      last = now;
    }
    lengths.sort((a, b) => a - b);
    const at = (part) => Math.round(lengths[Math.floor((lengths.length - 1) * part)]);
    return { count: lengths.length, median: at(0.5), p95: at(0.95), longest: at(1) };
  })()`);
}

const walk = `(async () => {
  const log = document.querySelector('[role=log]');
  const seen = new Set();
  const frame = () => new Promise(requestAnimationFrame);
  const look = () => {
    for (const row of log.querySelectorAll('[data-testid=log-line]')) {
      const found = /line (\\d+) /.exec(row.textContent);
      if (found) seen.add(Number(found[1]));
    }
  };
  const until = Date.now() + 90000;
  while (seen.size < 4800 && Date.now() < until) {
    look();
    log.scrollTop -= 300;
    await frame();
  }
  const first = Math.min(...seen);
  seen.clear();
  // Scrolls down again from the highest line.
  while (!seen.has(${lines}) && Date.now() < until) {
    look();
    log.scrollTop += 300;
    await frame();
  }
  return [...seen, ...(seen.has(first) ? [] : [first])];
})()`;
