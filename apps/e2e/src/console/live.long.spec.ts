// This test is long because it kills the service behind an open page.
// A short test of the same code: apps/e2e/src/console/stories.spec.ts
import { type HttpClient, waitFor } from '@muster/testing';
import { ConsoleFixture, describeInBrowser } from './console-fixture';

jest.setTimeout(240_000);

const lines = 60;
const script = `
import time
for number in range(${lines}):
    print(f"line {number}", flush=True)
    time.sleep(0.2)
`;

describeInBrowser('an open page', () => {
  let fixture: ConsoleFixture;
  let api: HttpClient;
  let agentId: string;

  beforeAll(async () => {
    fixture = await ConsoleFixture.startOwnService();
    api = await fixture.createApiClient();
    agentId = (await api.get('/api/agents')).body.agents[0].id;
  });
  afterAll(() => fixture?.end());

  const launchLineScript = async () => {
    const workflow = await api.post('/api/workflows', { name: `Lines ${Date.now()}`, script });
    return (await api.post('/api/jobs/launch', { agentId, workflowId: workflow.body.id })).body.jobId as string;
  };

  it('an open page shows each line of a run once and in order even if the service is killed', async () => {
    const tab = await fixture.openSignedInTab(`/app/runs/${await launchLineScript()}`);
    const { page } = tab;
    await page
      .getByTestId('log-line')
      .filter({ hasText: /line 5$/ })
      .waitFor();
    fixture.killService();
    await page.getByText('the connection is lost').waitFor();
    await page.getByText('the connection is lost').waitFor({ state: 'detached', timeout: 60_000 });
    await page.getByTestId('run-status').filter({ hasText: 'completed' }).waitFor({ timeout: 120_000 });
    // While lines arrive, the page follows the end of the log.
    await page
      .getByTestId('log-line')
      .filter({ hasText: `line ${lines - 1}` })
      .waitFor();
    const all = await page.evaluate<string[]>(allLines);
    expect(all).toEqual(Array.from({ length: lines }, (_, number) => `line ${number}`));
    await tab.close();
  });

  it('an open page shows a change of an agent without a reload', async () => {
    const tab = await fixture.openSignedInTab(`/app/agents/${agentId}`);
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

  it('an open list shows a run right after its launch, and its outcome after a restart of the service', async () => {
    const tab = await fixture.openSignedInTab('/app/runs');
    const { page } = tab;
    const rows = page.getByRole('row');
    await rows.nth(1).waitFor();
    const workflow = await api.post('/api/workflows', { name: 'Short', script: 'import time\ntime.sleep(8)\n' });
    const row = page.getByRole('row', { name: /Short/ });
    // The page can be displayed before its event stream is open, so the test waits for the stream.
    await waitFor('the stream', () => tab.streams.size > 0);
    await page.waitForTimeout(500);
    const began = performance.now();
    await api.post('/api/jobs/launch', { agentId, workflowId: workflow.body.id });
    await row.waitFor();
    const tookMs = Math.round(performance.now() - began);
    process.stdout.write(`console: a launched run is in the list after ${tookMs} ms\n`);
    await row.getByText('running').waitFor();
    fixture.killService();
    await page.getByText('the connection is lost').waitFor();
    await page.getByText('the connection is lost').waitFor({ state: 'detached', timeout: 60_000 });
    await row.getByText('completed').waitFor({ timeout: 60_000 });
    expect(await row.count()).toBe(1);
    await tab.close();
  });

  it('the list of runs is sorted and searched with the parameters in the URL, and can be exported', async () => {
    const tab = await fixture.openSignedInTab('/app/runs');
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

  it('the tabs of a browser share one stream per resource, even after the tab that opened the stream is closed', async () => {
    const tab = await fixture.openSignedInTab(`/app/agents/${agentId}`);
    const second = await tab.openAnotherTab(`/app/agents/${agentId}`);
    // The streams of the organization and of the agent.
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

/** Returns all lines of the log by scrolling through it, because only the visible lines are in the document. */
const allLines = `(async () => {
  const log = document.querySelector('[role=log]');
  const seen = new Map();
  for (log.scrollTop = 0; ; log.scrollTop += 100) {
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    for (const row of log.querySelectorAll('[data-testid=log-line]')) {
      seen.set(Number(row.parentElement.dataset.index), row.lastElementChild.textContent);
    }
    if (log.scrollTop + log.clientHeight >= log.scrollHeight - 1) break;
  }
  return [...seen.entries()].sort(([a], [b]) => a - b).map(([, text]) => text).filter((text) => text.startsWith('line '));
})()`;
