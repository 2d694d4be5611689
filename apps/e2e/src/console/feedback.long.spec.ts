// This test is long because it operates one page in a browser.
// A short test of the same code: apps/gateway/src/feedback/feedback-submissions.spec.ts
import { waitFor } from '@muster/testing';
import { ConsoleFixture, describeInBrowser } from './console-fixture';

jest.setTimeout(180_000);

const title = '<img src=x onerror=alert(1)> The list stays empty';
const pngBytes = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

describeInBrowser('feedback', () => {
  let fixture: ConsoleFixture;

  beforeAll(async () => {
    fixture = await ConsoleFixture.start();
  });
  afterAll(() => fixture?.end());

  it('feedback can be reported from any page with an image file, and its reporter sees its status', async () => {
    const tab = await fixture.openSignedInTab('/app/agents');
    const { page } = tab;
    await page.getByRole('button', { name: 'Report a bug or an idea' }).click();
    const dialog = page.getByRole('dialog', { name: 'Report a bug or an idea' });
    await dialog.getByLabel('Title').fill(title);
    await dialog.getByLabel('Description').fill('After signing in it shows nothing.');
    await dialog.getByLabel('Severity').selectOption('high');
    await dialog.getByLabel('Agent').selectOption({ label: 'Demo agent' });
    await dialog.getByLabel('Choose image').setInputFiles({ name: 'a.txt', mimeType: 'text/plain', buffer: pngBytes });
    await dialog.getByText('Choose a PNG, JPEG or WebP image.').waitFor();
    await dialog.getByLabel('Choose image').setInputFiles({ name: 'a.png', mimeType: 'image/png', buffer: pngBytes });
    await dialog.getByRole('img', { name: 'Screenshot in this report' }).waitFor();
    expect(await tab.findBarriersInBothThemes()).toEqual([]);
    await dialog.getByRole('button', { name: 'Send report' }).click();
    await page.getByRole('status').filter({ hasText: 'Thank you' }).waitFor();

    await page.getByRole('link', { name: 'Feedback', exact: true }).click();
    await page.getByRole('link', { name: title }).click();
    const report = page.getByRole('dialog', { name: title });
    await report.getByTestId('feedback-status').filter({ hasText: 'received' }).waitFor();
    await report.getByRole('link', { name: 'Demo agent' }).waitFor();
    await report.getByText(`${fixture.address}/app/agents`).waitFor();
    const screenshot = report.getByRole('img', { name: /^Screenshot/ });
    await waitFor('the image to load', () =>
      screenshot.evaluate((image: { naturalWidth: number }) => image.naturalWidth === 1),
    );
    await report.getByRole('button', { name: 'in progress' }).click();
    await report.getByText('received → in_progress').waitFor();
    expect(await tab.findBarriersInBothThemes()).toEqual([]);
    await page.keyboard.press('Escape');
    await page.getByLabel('Status').selectOption('resolved');
    await page.getByText('No reports match the filters.').waitFor();
    await page.getByLabel('Status').selectOption('in_progress');
    await page.getByRole('link', { name: title }).waitFor();
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('the report form takes over a pasted image but not pasted text, which goes to the focused field', async () => {
    const tab = await fixture.openSignedInTab('/app/agents');
    const { page } = tab;
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'], { origin: fixture.address });
    await page.getByRole('button', { name: 'Report a bug or an idea' }).click();
    const dialog = page.getByRole('dialog', { name: 'Report a bug or an idea' });
    const screenshot = dialog.getByRole('img', { name: 'Screenshot in this report' });
    await dialog.getByLabel('Description').fill('As seen.');
    await dialog.getByLabel('Title').focus();
    await page.evaluate(`navigator.clipboard.writeText('Pasted title')`);
    await page.keyboard.press('Control+V');
    await waitFor('the text', async () => (await dialog.getByLabel('Title').inputValue()) === 'Pasted title');
    expect(await screenshot.count()).toBe(0);
    await page.evaluate(`(async () => {
      const bytes = Uint8Array.from(atob('${pngBytes.toString('base64')}'), (letter) => letter.charCodeAt(0));
      await navigator.clipboard.write([new ClipboardItem({ 'image/png': new Blob([bytes], { type: 'image/png' }) })]);
    })()`);
    await page.keyboard.press('Control+V');
    await screenshot.waitFor();
    expect(await dialog.getByLabel('Title').inputValue()).toBe('Pasted title');
    await dialog.getByRole('button', { name: 'Send report' }).click();
    await page.getByRole('status').filter({ hasText: 'Thank you' }).waitFor();
    await page.goto(`${fixture.address}/app/feedback`);
    await page.getByRole('link', { name: 'Pasted title' }).click();
    const storedImage = page.getByRole('dialog', { name: 'Pasted title' }).getByRole('img', { name: /^Screenshot/ });
    await waitFor('the image to load', () =>
      storedImage.evaluate((image: { naturalWidth: number }) => image.naturalWidth === 1),
    );
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('the screenshot of the report form does not show the form, and a report of an idea has no severity', async () => {
    const tab = await fixture.openSignedInTab('/app/settings');
    const { page } = tab;
    await page.getByRole('button', { name: 'Report a bug or an idea' }).click();
    const dialog = page.getByRole('dialog', { name: 'Report a bug or an idea' });
    await dialog.getByLabel('Title').fill('Darker nights');
    await dialog.getByLabel('Description').fill('For those who work at night.');
    await dialog.getByLabel('Type').selectOption('feature_request');
    expect(await dialog.getByLabel('Severity').count()).toBe(0);
    await dialog.getByRole('button', { name: 'Take screenshot' }).click();
    const image = dialog.getByRole('img', { name: 'Screenshot in this report' });
    await image.waitFor();
    // The screenshot was taken without the dialog. An open dialog would have darkened this corner of the page.
    expect(await page.evaluate<number[]>(corner)).toEqual([255, 255, 255]);
    expect(await dialog.getByLabel('Title').inputValue()).toBe('Darker nights');
    await dialog.getByRole('button', { name: 'Remove image' }).click();
    await image.waitFor({ state: 'detached' });
    await dialog.getByRole('button', { name: 'Take screenshot' }).click();
    await image.waitFor();
    await dialog.getByRole('button', { name: 'Send report' }).click();
    await page.getByRole('status').filter({ hasText: 'Thank you' }).waitFor();
    const { submissions } = (
      await (await fixture.createApiClient()).get('/api/feedback-submissions?type=feature_request')
    ).body;
    expect(submissions).toMatchObject([
      { title: 'Darker nights', severity: null, url: `${fixture.address}/app/settings` },
    ]);
    expect(submissions[0].screenshotUrl).toMatch(/^http/);
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('feedback that is reported from a run refers to the run and its workflow', async () => {
    const api = await fixture.createApiClient();
    const [run] = (await api.get('/api/jobs?limit=1')).body.jobs;
    const viewer = await fixture.inviteUser('viewer');
    const tab = await fixture.openSignedInTab(`/app/runs/${run.id}`, undefined, viewer);
    const { page } = tab;
    await page.getByRole('button', { name: 'Report issue' }).click();
    const dialog = page.getByRole('dialog', { name: 'Report a workflow issue' });
    await dialog.getByLabel('Title').fill('It greets the wrong one');
    await dialog.getByLabel('Description').fill('It says Muster where it should say our name.');
    expect(await tab.findBarriersInBothThemes()).toEqual([]);
    await dialog.getByRole('button', { name: 'Send report' }).click();
    await page.getByRole('status').filter({ hasText: 'Thank you' }).waitFor();
    await tab.goto('/app/feedback');
    // A viewer sees only their own report.
    await page.getByText('1 in all').waitFor();
    await page.getByRole('link', { name: 'It greets the wrong one' }).click();
    const report = page.getByRole('dialog', { name: 'It greets the wrong one' });
    await report.getByRole('link', { name: 'Hello, Muster' }).waitFor();
    await report.getByTitle(run.id).waitFor();
    expect(await report.getByRole('group', { name: 'New status' }).count()).toBe(0);
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });
});

/** Returns the color of the upper left corner of the image in the dialog. */
const corner = `(() => {
  const image = document.querySelector('[role=dialog] img');
  const canvas = document.createElement('canvas');
  canvas.width = image.naturalWidth;
  canvas.height = image.naturalHeight;
  const context = canvas.getContext('2d');
  context.drawImage(image, 0, 0);
  return [...context.getImageData(2, 2, 1, 1).data].slice(0, 3);
})()`;
