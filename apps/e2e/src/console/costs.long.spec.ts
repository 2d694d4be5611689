// This test is long because it operates one page in a browser.
// A short test of the same code: apps/gateway/src/pricing/costs.spec.ts
import { waitFor } from '@muster/testing';
import { ConsoleFixture, describeInBrowser } from './console-fixture';

jest.setTimeout(180_000);

describeInBrowser('the page of costs and returns', () => {
  let fixture: ConsoleFixture;

  beforeAll(async () => {
    fixture = await ConsoleFixture.start();
  });
  afterAll(() => fixture?.end());

  it('the page of costs leads from the figures about savings to the batches and runs that they count', async () => {
    const api = await fixture.createApiClient();
    const [run] = (await api.get('/api/jobs?limit=1')).body.jobs;
    const claims = ['eob_uploaded', 'no_eob_found', 'failed'].map((outcome, at) => ({
      claimId: `C-${at}`,
      npi: '1234567893',
      outcome,
      processingSeconds: 60,
      message: '<b>read</b>',
    }));
    const batchSummary = { batchId: '<i>morning</i>', jobId: run.id, startedAt: new Date().toISOString() };
    const summary = await api.post('/api/pilot/run-summary', { batchSummary, claimResults: claims });
    expect(summary.status).toBe(201);
    const tab = await fixture.openSignedInTab('/app/costs');
    const { page } = tab;
    // The figures and the outcomes of the claims are visible before the definitions are opened.
    const outcomes = page.getByRole('table', { name: 'Claims by outcome' });
    for (const outcome of [
      /Attempted .*3 100%/,
      /Processed .*2 66\.7%/,
      /No EOB found .*1 33\.3%/,
      /Failed .*1 33\.3%/,
    ]) {
      await outcomes.getByRole('row', { name: outcome }).waitFor();
    }
    await page.getByText('All figures and their definitions').click();
    const returns = page.getByRole('table', { name: 'Return on investment' });
    await waitFor('the claims', async () => /Claims attempted\s+3\s/.test(await returns.innerText()));
    // Each row explains its figure.
    for (const row of (await returns.getByRole('row').all()).slice(1)) {
      expect((await row.getByRole('cell').last().innerText()).length).toBeGreaterThan(15);
    }
    expect(await tab.findBarriersInBothThemes()).toEqual([]);
    await page.getByRole('button', { name: '<i>morning</i>' }).click();
    const batch = page.getByRole('dialog', { name: 'Batch <i>morning</i>' });
    await batch.getByRole('row', { name: /C-1 .*no eob found .*<b>read<\/b>/ }).waitFor();
    expect(await tab.findBarriersInBothThemes()).toEqual([]);
    await batch.getByTitle(run.id).click();
    await page.getByRole('heading', { level: 1, name: run.workflowName }).waitFor();
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('the page of costs leads from the cost of a workflow to its runs, and exports the table', async () => {
    const tab = await fixture.openSignedInTab('/app/costs');
    const { page } = tab;
    await page.getByRole('combobox', { name: 'Group by', exact: true }).selectOption('workflow');
    const spend = page.getByRole('table', { name: 'Spend' });
    await spend.getByRole('link', { name: 'Hello, Muster' }).waitFor();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Export CSV' }).click(),
    ]);
    expect(await download.failure()).toBeNull();
    expect(download.suggestedFilename()).toMatch(/\.csv$/);
    await spend.getByRole('link', { name: 'Hello, Muster' }).click();
    await page.getByRole('heading', { level: 1, name: 'Runs' }).waitFor();
    await page.getByRole('link', { name: 'Hello, Muster' }).first().waitFor();
    expect(new URL(page.url()).searchParams.has('workflowId')).toBe(true);
    // By day, the spend is a plot; the rows of its table lead to the runs that ended on the day.
    await page.goBack();
    await page.getByRole('combobox', { name: 'Group by', exact: true }).selectOption('day');
    const figure = page.getByRole('figure', { name: 'Spend' });
    await figure.locator('canvas').waitFor();
    await figure.getByText('Show as table').press('Enter');
    await figure
      .getByRole('row', { name: /^\w+ \d+ 1 / })
      .getByRole('link')
      .click();
    await page.getByRole('button', { name: /^Ended from .* to / }).waitFor();
    await page.getByRole('link', { name: 'Hello, Muster' }).first().waitFor();
    expect(await tab.findBarriers()).toEqual([]);
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });
});
