// This test is long because it operates one page in a browser.
// A short test of the same code: apps/gateway/src/agents/machine-time.spec.ts
import { randomUUID } from 'node:crypto';
import { ConsoleFixture, describeInBrowser } from './console-fixture';

jest.setTimeout(180_000);

describeInBrowser('the machine time of an agent', () => {
  let fixture: ConsoleFixture;

  beforeAll(async () => {
    fixture = await ConsoleFixture.start();
  });
  afterAll(() => fixture?.end());

  it('the tab of machine time shows each day with its used and idle time, and leads to the runs of the day', async () => {
    const api = await fixture.createApiClient();
    await api.patch('/api/organization/settings', { timezone: 'UTC' });
    const { id } = (await api.post('/api/agents', { name: 'Night shift', provider: 'external' })).body.agent;
    const tab = await fixture.openSignedInTab(`/app/agents/${id}?tab=machine-time`);
    const { page } = tab;
    await page.getByText('No machine time yet.').waitFor();
    expect(await tab.findBarriersInBothThemes()).toEqual([]);

    // Yesterday the machine had a run of two hours, was on for three more hours, and then off until noon.
    const yesterday = new Date(Date.now() - 24 * 3_600_000).toISOString().slice(0, 10);
    const [workflow] = (await api.get('/api/workflows')).body.workflows;
    const runId = randomUUID();
    await fixture.queryDatabase(
      `WITH run AS (
         INSERT INTO job (id, organization_id, workflow_id, workflow_revision, agent_id, status, started_at, finished_at)
         SELECT $1::uuid, organization_id, $2::uuid, 1, id, 'completed', $4::date + interval '1 hour', $4::date + interval '3 hours'
         FROM agent WHERE id = $3 RETURNING organization_id)
       INSERT INTO job_log_seen (job_id, organization_id) SELECT $1::uuid, organization_id FROM run`,
      [runId, workflow.id, id, yesterday],
    );
    await fixture.queryDatabase(
      `INSERT INTO agent_idle (agent_id, organization_id, began_at, ended_at, on_ms)
       SELECT id, organization_id, $2::date + interval '3 hours', $2::date + interval '12 hours', 3 * 3600000
       FROM agent WHERE id = $1`,
      [id, yesterday],
    );
    await page.reload();
    const days = page.getByTestId('machine-day');
    await days.getByText('2 h 00 min used, 3 h 00 min idle').waitFor();
    expect(await days.count()).toBe(30);
    expect(await days.nth(1).innerText()).toContain('2 h 00 min used, 3 h 00 min idle');
    // The parts of the strip are as wide as their hours: used, idle, off.
    const parts = await days.nth(1).locator('[aria-hidden] > span').all();
    const boxes = await Promise.all(parts.slice(0, 3).map((part) => part.boundingBox()));
    const [used, ...others] = boxes.map((box) => box!.width);
    expect(others.map((width) => Math.round((10 * width) / used!) / 10)).toEqual([1.5, 3]);
    await page.getByText('Show as table').click();
    const cells = page.getByRole('table', { name: 'Machine time by day' }).getByRole('row').nth(2).getByRole('cell');
    const texts = (await cells.allInnerTexts()).slice(1);
    expect([...texts.slice(0, 4), texts[5]]).toEqual(['5 h 00 min', '2 h 00 min', '3 h 00 min', '6 h 00 min', '1']);
    expect(await tab.findBarriersInBothThemes()).toEqual([]);

    await days.nth(1).getByRole('link').click();
    await page.getByRole('heading', { level: 1, name: 'Runs' }).waitFor();
    await page.locator(`a[href*="${runId}"]`).first().waitFor();
    expect(new URL(page.url()).searchParams.get('agentId')).toBe(id);
    expect(new URL(page.url()).searchParams.get('endedFrom')).toBe(`${yesterday}T00:00:00.000Z`);
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });
});
