// Long: kills the service behind an open page.
// Short: apps/e2e/src/console/stories.spec.ts
import { type HttpClient, waitFor } from '@muster/testing';
import { ConsoleLab, describeInBrowser } from './console-lab';

jest.setTimeout(240_000);

const lines = 60;
const script = `
import time
for number in range(${lines}):
    print(f"line {number}", flush=True)
    time.sleep(0.2)
`;

describeInBrowser('a page that is looked at', () => {
  let lab: ConsoleLab;
  let api: HttpClient;
  let agentId: string;

  beforeAll(async () => {
    lab = await ConsoleLab.startAlone();
    api = await lab.api();
    agentId = (await api.get('/api/agents')).body.agents[0].id;
  });
  afterAll(() => lab?.end());

  const launch = async () => {
    const workflow = await api.post('/api/workflows', { name: `Lines ${Date.now()}`, script });
    return (await api.post('/api/jobs/launch', { agentId, workflowId: workflow.body.id })).body.jobId as string;
  };

  it('shows each line of a run once and in order, though the service is killed meanwhile', async () => {
    const tab = await lab.signedIn(`/app/runs/${await launch()}`);
    const { page } = tab;
    await page
      .getByTestId('log-line')
      .filter({ hasText: /line 5$/ })
      .waitFor();
    lab.killService();
    await page.getByText('the connection is lost').waitFor();
    await page.getByText('the connection is lost').waitFor({ state: 'detached', timeout: 60_000 });
    await page.getByTestId('run-status').filter({ hasText: 'completed' }).waitFor({ timeout: 120_000 });
    // While lines come, the page follows its end.
    await page
      .getByTestId('log-line')
      .filter({ hasText: `line ${lines - 1}` })
      .waitFor();
    const all = await page.evaluate<string[]>(allLines);
    expect(all).toEqual(Array.from({ length: lines }, (_, number) => `line ${number}`));
    await tab.close();
  });

  it('shows within a second or so what happened to a machine', async () => {
    const tab = await lab.signedIn(`/app/agents/${agentId}`);
    const { page } = tab;
    await page.getByTestId('timeline-entry').first().waitFor();
    const began = performance.now();
    await api.post(`/api/agents/${agentId}/drain`, { mode: 'finish' });
    await page.getByTestId('agent-status').filter({ hasText: 'draining' }).waitFor();
    process.stdout.write(`console: a change is on the page after ${Math.round(performance.now() - began)} ms\n`);
    await api.post(`/api/agents/${agentId}/undrain`);
    await page.getByTestId('agent-status').filter({ hasText: 'online' }).waitFor();
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('lists a run within a second of its launch, and what became of it while the service was away', async () => {
    const tab = await lab.signedIn('/app/runs');
    const { page } = tab;
    const rows = page.getByRole('row');
    await rows.nth(1).waitFor();
    const workflow = await api.post('/api/workflows', { name: 'Short', script: 'import time\ntime.sleep(8)\n' });
    const shown = page.getByRole('row', { name: /Short/ });
    // The stream may be younger than the page.
    await waitFor('the stream', () => tab.streams.size > 0);
    await page.waitForTimeout(500);
    const began = performance.now();
    await api.post('/api/jobs/launch', { agentId, workflowId: workflow.body.id });
    await shown.waitFor();
    const tookMs = Math.round(performance.now() - began);
    process.stdout.write(`console: a launched run is in the list after ${tookMs} ms\n`);
    await shown.getByText('running').waitFor();
    lab.killService();
    await page.getByText('the connection is lost').waitFor();
    await page.getByText('the connection is lost').waitFor({ state: 'detached', timeout: 60_000 });
    await shown.getByText('completed').waitFor({ timeout: 60_000 });
    expect(await shown.count()).toBe(1);
    await tab.close();
  });

  it('sorts and searches runs where the address says so, and hands them out as a table', async () => {
    const tab = await lab.signedIn('/app/runs');
    const { page } = tab;
    const took = page.getByRole('columnheader', { name: 'Took' });
    expect(await page.getByRole('columnheader', { name: 'Queued' }).getAttribute('aria-sort')).toBe('descending');
    await took.getByRole('button').click();
    await page.waitForURL(/sort=-durationMs/);
    expect(await took.getAttribute('aria-sort')).toBe('descending');
    await took.getByRole('button').click();
    await page.waitForURL(/sort=durationMs/);
    expect(await took.getAttribute('aria-sort')).toBe('ascending');
    await page.getByRole('searchbox').fill('no run has this');
    await page.waitForURL(/q=no/);
    await page.getByText('No matching runs.').waitFor();
    await page.getByRole('searchbox').fill('short');
    await page.getByRole('row', { name: /Short/ }).waitFor();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Export CSV' }).click(),
    ]);
    expect(download.suggestedFilename()).toMatch(/^runs-.*\.csv$/);
    expect(new URL(download.url()).search).toBe('?q=short&sort=durationMs');
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('has one stream of each thing for all the tabs of a browser, and the next tab takes it over', async () => {
    const tab = await lab.signedIn(`/app/agents/${agentId}`);
    const second = await tab.another(`/app/agents/${agentId}`);
    // The organization's and the agent's.
    await waitFor('the leader’s streams', () => tab.streams.size === 2);
    await second.getByTestId('timeline-entry').first().waitFor();
    expect(tab.streams.size).toBe(2);
    await tab.page.close();
    await waitFor('the other tab’s streams', () => tab.streams.size === 4);
    await api.post(`/api/agents/${agentId}/drain`, { mode: 'finish' });
    await second.getByTestId('agent-status').filter({ hasText: 'draining' }).waitFor();
    await api.post(`/api/agents/${agentId}/undrain`);
    await tab.close();
  });
});

/** What the log holds, by scrolling through it: only what is in sight is in the document. */
const allLines = `(async () => {
  const log = document.querySelector('[role=log]');
  const seen = new Map();
  for (log.scrollTop = 0; ; log.scrollTop += 100) {
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    for (const row of log.querySelectorAll('[data-testid=log-line]')) {
      seen.set(Number(row.dataset.index), row.lastElementChild.textContent);
    }
    if (log.scrollTop + log.clientHeight >= log.scrollHeight - 1) break;
  }
  return [...seen.entries()].sort(([a], [b]) => a - b).map(([, text]) => text).filter((text) => text.startsWith('line '));
})()`;
