// This test is long because it operates one page in a browser.
// A short test of the same code: apps/e2e/src/console/stories.spec.ts
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeModel, type HttpClient, waitFor } from '@muster/testing';
import type { Page } from 'playwright-core';
import { ConsoleFixture, describeInBrowser } from './console-fixture';

jest.setTimeout(300_000);

const hasFfmpeg = spawnSync('ffmpeg', ['-version']).status === 0;
/** Without ffmpeg, no worker can extract frames from a video. */
const itWithFfmpeg = hasFfmpeg ? it : it.skip;

describeInBrowser('the pages of workflows', () => {
  let fixture: ConsoleFixture;
  let api: HttpClient;

  beforeAll(async () => {
    fixture = await ConsoleFixture.start();
    api = await fixture.createApiClient();
  });
  afterAll(() => fixture?.end());

  const createWorkflow = async (body: object) => {
    const created = await api.post('/api/workflows', { name: `W ${Date.now()}`, ...body });
    expect(created.status).toBe(201);
    return created.body.id as string;
  };
  const readWorkflow = async (id: string) => (await api.get(`/api/workflows/${id}`)).body;

  it('a workflow’s script, steps and variables are saved as one revision, which can be restored later', async () => {
    const id = await createWorkflow({ script: 'print("one")\n' });
    const tab = await fixture.openSignedInTab(`/app/workflows/${id}`);
    const { page } = tab;
    const save = page.getByRole('button', { name: 'Save', exact: true });
    await locateScriptField(page).fill('print("two")');
    await page.getByLabel('Names of variables').fill('PAYER, MONTH');
    await page.getByRole('button', { name: 'Add step' }).click();
    const dialog = page.getByRole('dialog', { name: 'New step' });
    await dialog.getByLabel('Type').selectOption('goto');
    await dialog.getByLabel('URL').fill('https://portal.example/{{PAYER}}');
    await dialog.getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByTestId('workflow-step').getByText('https://portal.example/').waitFor();
    await save.click();
    await page.getByText('Saved as revision 2.').waitFor();
    expect(await readWorkflow(id)).toMatchObject({
      revision: 2,
      script: 'print("two")',
      variables: ['PAYER', 'MONTH'],
      steps: [{ id: 'goto-1', type: 'goto', url: 'https://portal.example/{{PAYER}}' }],
    });
    await waitFor('the page to be saved', async () => save.isDisabled());

    await page.getByRole('button', { name: 'Revisions' }).click();
    await page.getByRole('button', { name: 'Compare' }).click();
    const difference = page.getByLabel('Differences from revision 1');
    await difference.getByText('+ variable PAYER').waitFor();
    expect(await difference.innerText()).toContain('+print("two")');
    expect(await tab.findBarriers()).toEqual([]);
    await page.getByRole('button', { name: 'Restore revision 1' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Restore' }).click();
    await page.getByText('Revision 1 is the current one again.').waitFor();
    expect(await readWorkflow(id)).toMatchObject({ revision: 3, script: 'print("one")\n', variables: [], steps: [] });
    await locateScriptField(page).getByText('print("one")').waitFor();
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('the page of a workflow shows both versions if two users save, and applies the chosen one', async () => {
    const id = await createWorkflow({ script: 'print("base")\n', description: 'old' });
    const tab = await fixture.openSignedInTab(`/app/workflows/${id}`);
    const { page } = tab;
    await locateScriptField(page).fill('print("mine")');
    await api.post(`/api/workflows/${id}/save`, { script: 'print("theirs")\n', variables: ['THEIRS'] });
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    const conflict = page.getByRole('dialog', { name: 'Another user has changed this' });
    await conflict.getByLabel('Script: theirs').getByText('print("theirs")').waitFor();
    expect(await conflict.getByLabel('Script: mine').innerText()).toBe('print("mine")');
    await conflict.getByText('The other user has also changed Variables').waitFor();
    expect(await tab.findBarriers()).toEqual([]);
    await conflict.getByRole('button', { name: 'Keep mine' }).click();
    await page.getByText('Saved as revision 3.').waitFor();
    expect(await readWorkflow(id)).toMatchObject({ script: 'print("mine")', variables: ['THEIRS'] });

    await page.getByRole('button', { name: 'Edit details' }).click();
    const details = page.getByRole('dialog', { name: /^Edit / });
    await details.getByLabel('Description').fill('mine');
    await api.patch(`/api/workflows/${id}`, { description: 'theirs', name: 'Renamed' });
    await details.getByRole('button', { name: 'Save' }).click();
    await conflict.getByLabel('Description: theirs').getByText('theirs').waitFor();
    await conflict.getByRole('button', { name: 'Take theirs' }).click();
    await page.getByRole('heading', { level: 1, name: 'Renamed' }).waitFor();
    expect(await readWorkflow(id)).toMatchObject({ name: 'Renamed', description: 'theirs' });
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  itWithFfmpeg('a video becomes a draft, and a person confirms its uncertain step', async () => {
    const model = await FakeModel.start();
    const folder = mkdtempSync(join(tmpdir(), 'muster-film-'));
    try {
      expect((await api.put('/api/vault/MODEL_KEY', { value: model.key })).status).toBeLessThan(300);
      const own = { baseUrl: model.url, name: model.name, visionName: model.visionName, apiKeyVaultKey: 'MODEL_KEY' };
      expect((await api.put('/api/organization/model', own)).status).toBe(200);
      model.addRule(({ schemaName }) => (schemaName === 'video_steps' ? { json: { steps: videoSteps } } : undefined));
      const tab = await fixture.openSignedInTab('/app/workflows');
      const { page } = tab;
      await page.getByRole('button', { name: 'New from video' }).click();
      const dialog = page.getByRole('dialog', { name: 'New from video' });
      await dialog.getByLabel('File').setInputFiles(makeVideo(folder));
      await dialog.getByLabel('Name').fill('Of a <i>film</i>');
      expect(await tab.findBarriers()).toEqual([]);
      await dialog.getByRole('button', { name: 'Analyze' }).click();
      await page.getByTestId('film-analysis').waitFor();
      await page.reload();
      await page.getByRole('link', { name: 'Open the draft' }).click({ timeout: 90_000 });
      await page.getByRole('heading', { level: 1, name: 'Of a <i>film</i>' }).waitFor();
      await page.getByText('One step needs a review').waitFor();
      const uncertain = page.getByTestId('workflow-step').filter({ hasText: '40% sure, seen at 0:02' });
      await uncertain.getByRole('img', { name: 'The video where the step was seen' }).waitFor();
      expect(await tab.findBarriers()).toEqual([]);
      await uncertain.getByRole('button', { name: 'Confirm' }).click();
      await uncertain.getByText('confirmed by a person').waitFor();
      await page.getByText('One step needs a review').waitFor({ state: 'detached' });
      expect(tab.complaints).toEqual([]);
      expect(model.faults).toEqual([]);
      await tab.close();
    } finally {
      await model.close();
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('a batch accepts 5,000 rows, maps columns to variables, and lists each invalid row', async () => {
    const id = await createWorkflow({ name: 'Claims', script: 'print(1)\n', variables: ['PATIENT', 'PAYER'] });
    const tab = await fixture.openSignedInTab(`/app/workflows/${id}`);
    const { page } = tab;
    await page.getByRole('button', { name: 'Batch' }).click();
    const dialog = page.getByRole('dialog', { name: 'Batch Claims' });
    // Every fifth row is invalid, because it has one cell more than there are columns.
    const rows = Array.from({ length: 5000 }, (_, at) => `"Doe, <b>${at}</b>",Acme${at % 5 === 0 ? ',surplus' : ''}`);
    const csv = `Patient,payer\n${rows.join('\n')}\n`;
    await dialog.getByLabel('CSV file').setInputFiles(buildCsvFile('claims.csv', csv));
    await dialog.getByRole('cell', { name: 'Doe, <b>0</b>' }).waitFor();
    expect(await dialog.getByLabel('PATIENT').inputValue()).toBe('Patient');
    expect(await dialog.getByLabel('PAYER').inputValue()).toBe('payer');
    // The rows are checked before a run is queued, and again after each change of a column.
    await dialog.getByText('1,000 of 5,000 rows are invalid and cannot be queued.').waitFor();
    await dialog.getByRole('region', { name: 'Rows that cannot be queued' }).getByText('Row 1:').waitFor();
    expect(await dialog.getByTestId('row-errors').count()).toBe(1);
    const checked = page.waitForResponse((response) => response.url().endsWith('/api/jobs/batch/check'));
    await dialog.getByLabel('PATIENT').selectOption('payer');
    expect(await (await checked).json()).toMatchObject({ total: 5000, wrong: 1000 });
    await dialog.getByLabel('PATIENT').selectOption('Patient');
    expect((await api.get(`/api/batches?workflowId=${id}`)).body.batches).toEqual([]);
    await dialog.getByLabel('Agents').selectOption({ index: 0 });
    expect(await tab.findBarriers()).toEqual([]);
    const began = performance.now();
    await dialog.getByRole('button', { name: 'Queue batch' }).click();
    await dialog.getByText('4,000 runs are queued, 1,000 rows were rejected.').waitFor();
    process.stdout.write(
      `console: the result of a batch of 5,000 rows is shown after ${Math.round(performance.now() - began)} ms\n`,
    );
    const refused = dialog.getByRole('region', { name: 'Rejected rows' });
    await refused.getByText('Row 1:').waitFor();
    expect(await refused.getByRole('listitem').count()).toBeLessThan(100);
    await refused.evaluate((frame) => frame.scrollTo(0, frame.scrollHeight));
    await refused.getByText('Row 4,996:').waitFor();
    expect(await tab.findBarriers()).toEqual([]);
    await dialog.getByRole('link', { name: 'View runs' }).click();
    await page.getByRole('heading', { level: 1, name: 'Runs' }).waitFor();
    const batchId = new URL(page.url()).searchParams.get('batchId')!;
    expect((await api.get(`/api/batches/${batchId}`)).body).toMatchObject({ total: 5000, rejected: 1000 });
    await api.post(`/api/batches/${batchId}/cancel`, {});
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('a run is launched only once even if the response is lost, without storing its variables in the browser', async () => {
    const id = await createWorkflow({ name: 'Once', script: 'print(1)\n', variables: ['SECRET'] });
    const tab = await fixture.openSignedInTab(`/app/workflows/${id}`);
    const { page } = tab;
    let lost = 0;
    await page.route('**/api/jobs/launch', async (route) => {
      if (lost++ > 0) return route.continue();
      await route.fetch();
      await route.abort();
    });
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Run Once' });
    await dialog.getByLabel('SECRET').fill('of a tenant');
    // The form cannot be submitted before an agent is selected.
    await dialog.getByLabel('Agent').locator('option').first().waitFor({ state: 'attached' });
    await dialog.getByRole('button', { name: 'Run now' }).click();
    await dialog.getByRole('alert').waitFor();
    await dialog.getByRole('button', { name: 'Run now' }).click();
    await page.getByTestId('run-status').waitFor();
    expect((await api.get(`/api/jobs?workflowId=${id}`)).body.jobs).toHaveLength(1);
    const stored = await page.evaluate<string>(
      'JSON.stringify({ ...localStorage, ...sessionStorage }) + document.cookie',
    );
    expect(stored).not.toContain('tenant');
    await tab.close();
  });

  it('concurrency keys can be set for a workflow and for a single run', async () => {
    const id = await createWorkflow({ name: 'Keyed', script: 'print(1)\n', variables: ['PAYER'] });
    const tab = await fixture.openSignedInTab(`/app/workflows/${id}`);
    const { page } = tab;
    await page.getByRole('button', { name: 'Edit details' }).click();
    const details = page.getByRole('dialog', { name: 'Edit Keyed' });
    for (const key of ['to be removed', 'portal:{{NOBODY}}']) {
      await details.getByRole('button', { name: 'Add key' }).click();
      await details.getByLabel('Key', { exact: true }).last().fill(key);
    }
    await details.getByRole('button', { name: 'Remove this key' }).first().click();
    await details.getByLabel('Limit', { exact: true }).fill('2');
    await details.getByRole('button', { name: 'Save' }).click();
    await details.getByText('the workflow has no variable NOBODY').first().waitFor();
    await details.getByLabel('Key', { exact: true }).fill('portal:{{PAYER}}');
    expect(await tab.findBarriers()).toEqual([]);
    await details.getByRole('button', { name: 'Save' }).click();
    await page.getByText('portal:{{PAYER}} (2 at once)').waitFor();
    expect((await readWorkflow(id)).concurrencyKeys).toEqual([{ key: 'portal:{{PAYER}}', limit: 2 }]);

    await page.getByRole('button', { name: 'Run', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Run Keyed' });
    await dialog.getByLabel('PAYER').fill('Acme');
    await dialog.getByLabel('Agent').locator('option').first().waitFor({ state: 'attached' });
    await dialog.getByText('Guards').click();
    await dialog.getByRole('button', { name: 'Add key' }).click();
    await dialog.getByLabel('Key', { exact: true }).fill('one-desk');
    await dialog.getByRole('button', { name: 'Run now' }).click();
    await page.getByTestId('run-status').waitFor();
    const { concurrencyKeys } = (await api.get('/api/concurrency-keys')).body;
    expect(concurrencyKeys.map(({ key, limit }: { key: string; limit: number }) => [key, limit])).toEqual([
      ['one-desk', 1],
      ['portal:Acme', 2],
    ]);
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it.each([
    { theme: 'light', width: 360 },
    { theme: 'dark', width: 1440 },
  ] as const)(
    'the pages of workflows are accessible and usable by the keyboard: $theme, $width px',
    async (appearance) => {
      const step = { id: 'a', type: 'fill', field: 'مرحبا <b>', value: 'x'.repeat(10_000) };
      const id = await createWorkflow({ name: `${'long'.repeat(40)} 🦷`, script: 'print(1)\n', steps: [step] });
      const tab = await fixture.openSignedInTab(`/app/workflows/${id}`, appearance);
      const { page } = tab;
      await locateScriptField(page).waitFor();
      expect(await tab.findBarriers()).toEqual([]);
      expect(await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
      await page.getByRole('button', { name: 'Actions for step 1' }).press('Enter');
      await page.getByRole('menuitem', { name: 'Edit' }).press('Enter');
      const dialog = page.getByRole('dialog', { name: 'Edit step a' });
      await dialog.getByLabel('Form field').fill('Name');
      expect(await tab.findBarriers()).toEqual([]);
      await page.keyboard.press('Enter');
      await page.getByTestId('workflow-step').getByText('field Name').waitFor();
      await page.getByRole('button', { name: 'Save', exact: true }).press('Enter');
      await page.getByText('Saved as revision 2.').waitFor();
      expect((await readWorkflow(id)).steps).toEqual([{ ...step, field: 'Name' }]);
      expect(tab.complaints).toEqual([]);
      await tab.close();
    },
  );
});

const videoSteps = [
  buildVideoStep({
    type: 'navigate',
    title: 'Open the portal',
    url: 'https://portal.example/',
    selectors: [],
    atMs: 0,
  }),
  buildVideoStep({ title: 'Open the claims', atMs: 2000, frame: 2, confidence: 0.4 }),
];

function buildVideoStep(more: object): object {
  const click = { type: 'click', title: '', url: '', selectors: ['aria/Claims'], value: '' };
  return { ...click, atMs: 1000, frame: 1, confidence: 0.9, ...more };
}

/** Creates a video of three scenes of one second each. */
function makeVideo(folder: string): { name: string; mimeType: string; buffer: Buffer } {
  const file = join(folder, 'film.mkv');
  const scenes = ['red', 'blue', 'green'].flatMap((color) => [
    ...['-f', 'lavfi', '-i', `color=c=${color}:s=320x240:d=1:r=5`],
  ]);
  const ffmpeg = spawnSync('ffmpeg', [...scenes, '-filter_complex', 'concat=n=3:v=1', '-c:v', 'mpeg4', file]);
  if (ffmpeg.status !== 0) throw new Error(ffmpeg.stderr.toString());
  return { name: 'film.mkv', mimeType: 'video/x-matroska', buffer: readFileSync(file) };
}

function locateScriptField(page: Page) {
  return page.getByRole('textbox', { name: 'Script' });
}

function buildCsvFile(name: string, text: string) {
  return { name, mimeType: 'text/csv', buffer: Buffer.from(text) };
}
