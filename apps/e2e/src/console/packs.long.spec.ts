// This test is long because it operates one page in a browser.
// A short test of the same code: apps/gateway/src/packs/versions.spec.ts
import { waitFor } from '@muster/testing';
import type { Page } from 'playwright-core';
import { ConsoleFixture, describeInBrowser } from './console-fixture';

jest.setTimeout(240_000);

describeInBrowser('the pages of packs', () => {
  let fixture: ConsoleFixture;

  beforeAll(async () => void (fixture = await ConsoleFixture.start()));
  afterAll(() => fixture?.end());

  it('the pages of packs publish files as versions, pin them for an installation, and roll back', async () => {
    const tab = await fixture.openSignedInTab('/app/packs');
    const { page } = tab;
    await page.getByText('No packs yet.').waitFor();
    await page.getByRole('button', { name: 'New pack' }).click();
    const newPackDialog = page.getByRole('dialog', { name: 'New pack' });
    await newPackDialog.getByLabel('Worker key').fill('eob-download');
    await newPackDialog.getByLabel('Name', { exact: true }).fill('EOB <b>download</b>');
    await newPackDialog.getByRole('button', { name: 'Create pack' }).click();
    await page.getByRole('heading', { level: 1, name: 'EOB <b>download</b>' }).waitFor();

    await addFiles(page, { 'main.py': 'print("one")\n', 'notes.txt': 'for people\n' });
    await publishDraftOnPage(page, 'first');
    const first = page.getByTestId('version').filter({ hasText: 'Version 1' });
    await promoteVersionOnPage(page, 1, 'internal_verified');
    await promoteVersionOnPage(page, 1, 'pilot');
    await first.getByText('pilot', { exact: true }).waitFor();

    await page.getByRole('button', { name: 'New installation' }).click();
    const installed = page.getByRole('dialog', { name: 'New installation' });
    await installed.getByLabel('Name', { exact: true }).fill('Main Street');
    await installed.getByLabel('Version').selectOption({ label: 'Version 1 (first), pilot' });
    await installed.getByRole('button', { name: 'Create installation' }).click();
    const installation = page.getByTestId('installation').filter({ hasText: 'Main Street' });
    await installation.getByText('Version 1 (first)').waitFor();

    await addFiles(page, { 'main.py': 'print("two")\n', 'helper.py': 'x = 1\n' });
    await page.getByRole('button', { name: 'Actions for notes.txt' }).click();
    await page.getByRole('menuitem', { name: 'Remove' }).click();
    await page.getByRole('dialog', { name: 'Remove a file?' }).getByRole('button', { name: 'Remove' }).click();
    await page.getByRole('button', { name: 'Actions for notes.txt' }).waitFor({ state: 'detached' });
    await publishDraftOnPage(page, 'second');
    const second = page.getByTestId('version').filter({ hasText: 'Version 2' });
    await second.getByRole('button', { name: 'Compare' }).click();
    const differences = second.getByRole('list', { name: 'Differences' });
    await differences.getByText('main.py').waitFor();
    expect((await differences.innerText()).split('\n')).toEqual(['+ helper.py', '− notes.txt', '~ main.py']);
    expect(await tab.findBarriers()).toEqual([]);

    await promoteVersionOnPage(page, 2, 'internal_verified');
    await promoteVersionOnPage(page, 2, 'pilot');
    await page.getByRole('button', { name: 'Actions for Main Street' }).click();
    await page.getByRole('menuitem', { name: 'Pin' }).click();
    const pin = page.getByRole('dialog', { name: 'Pin Main Street' });
    await pin.getByLabel('Version').selectOption({ label: 'Version 2 (second), pilot' });
    await pin.getByRole('button', { name: 'Pin', exact: true }).click();
    await installation.getByText('before: Version 1 (first)').waitFor();
    await installation.getByRole('button', { name: 'Roll back to Version 1 (first)' }).click();
    await installation.getByText('before: Version 2 (second)').waitFor();
    // The rollback can be undone.
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('Main Street is pinned to Version 2 (second) again.').waitFor();
    await installation.getByRole('button', { name: 'Roll back to Version 1 (first)' }).click();
    await installation.getByText('before: Version 2 (second)').waitFor();
    await installation.getByRole('button', { name: 'History' }).click();
    const history = installation.getByRole('list', { name: 'History of Main Street' });
    await waitFor('the history', async () => (await history.getByRole('listitem').count()) === 5);
    expect(await history.getByRole('listitem').first().innerText()).toMatch(/^Rolled back to Version 1 \(first\) from/);
    expect(await tab.findBarriers()).toEqual([]);

    // Another user pins a version that the page does not show yet: the page is updated, and nothing is rolled back.
    const api = await fixture.createApiClient();
    const { packs } = (await api.get('/api/workflow-packs')).body;
    const { installations } = (await api.get(`/api/workflow-packs/${packs[0].id}`)).body;
    const [{ id, previousVersionId: versionId }] = installations;
    await installation.getByRole('button', { name: 'Roll back to Version 2 (second)' }).waitFor();
    expect((await api.post(`/api/workflow-pack-installations/${id}/pin`, { versionId })).status).toBe(200);
    await installation.getByRole('button', { name: 'Roll back to Version 2 (second)' }).click();
    await page.getByText('Another user has pinned a different version').waitFor();
    await installation.getByRole('button', { name: 'Roll back to Version 1 (first)' }).waitFor();
    expect((await api.get(`/api/workflow-pack-installations/${id}`)).body.pinnedVersionId).toBe(versionId);
    await installation.getByRole('button', { name: 'Roll back to Version 1 (first)' }).click();
    await waitFor('the rollback', async () => {
      const { pinnedVersionId, previousVersionId } = (await api.get(`/api/workflow-pack-installations/${id}`)).body;
      return pinnedVersionId !== versionId && previousVersionId === versionId;
    });
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('the pages of packs let a user choose between two drafts if another user has uploaded files', async () => {
    const tab = await fixture.openSignedInTab('/app/packs');
    const { page } = tab;
    const other = await fixture.openSignedInTab('/app/packs');
    await createPackOnPage(page, 'contested');
    await addFiles(page, { 'main.py': 'print("base")\n' });
    await other.goto(new URL(page.url()).pathname);
    for (const [otherFile, choice, keptFile, removedFile] of [
      ['theirs.py', 'Take theirs', 'theirs.py', 'mine.py'],
      ['later.py', 'Keep mine', 'mine.py', 'later.py'],
    ] as const) {
      await page.getByRole('button', { name: 'Add files' }).click();
      const dialog = page.getByRole('dialog', { name: 'Add files' });
      await dialog.getByLabel('Files').setInputFiles(buildTextFile('mine.py', 'x = 1\n'));
      await addFiles(other.page, { [otherFile]: 'x = 2\n' });
      await dialog.getByRole('button', { name: 'Add', exact: true }).click();
      const conflict = page.getByRole('dialog', { name: 'Another user has changed this' });
      await conflict.getByLabel('Files: theirs').getByText(otherFile).waitFor();
      expect(await conflict.getByLabel('Files: mine').innerText()).toContain('mine.py');
      expect(await tab.findBarriers()).toEqual([]);
      await conflict.getByRole('button', { name: choice }).click();
      await conflict.waitFor({ state: 'detached' });
      await page.getByRole('button', { name: `Actions for ${keptFile}` }).waitFor();
      await page.getByRole('button', { name: `Actions for ${removedFile}` }).waitFor({ state: 'detached' });
    }
    expect([...tab.complaints, ...other.complaints]).toEqual([]);
    await other.close();
    await tab.close();
  });

  it('the pages of packs can promote a version by the keyboard alone', async () => {
    const tab = await fixture.openSignedInTab('/app/packs');
    const { page } = tab;
    await createPackOnPage(page, 'by-keyboard');
    await addFiles(page, { 'main.py': 'print(1)\n' });
    await publishDraftOnPage(page, 'first');
    await page.getByRole('button', { name: 'Actions for version 1' }).press('Enter');
    await page.getByRole('menuitem', { name: 'Promote to internal_verified' }).press('Enter');
    const dialog = page.getByRole('dialog', { name: /^Promote to internal_verified/ });
    await dialog.getByLabel('Reason').fill('tested by hand');
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'History' }).first().press('Enter');
    await page.getByText('tested by hand').waitFor();
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it.each([
    { theme: 'light', width: 360 },
    { theme: 'dark', width: 1440 },
  ] as const)('the pages of packs are accessible: $theme, $width px', async (appearance) => {
    const tab = await fixture.openSignedInTab('/app/packs', appearance);
    const { page } = tab;
    await createPackOnPage(page, `look-${appearance.theme}`);
    await addFiles(page, { [`${'very-'.repeat(20)}long.py`]: 'print(1)\n' });
    await publishDraftOnPage(page, 'مرحبا');
    await page.getByRole('button', { name: 'History' }).first().click();
    expect(await tab.findBarriers()).toEqual([]);
    expect(await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
    await page.getByRole('button', { name: 'New installation' }).click();
    await page.getByRole('dialog').waitFor();
    expect(await tab.findBarriers()).toEqual([]);
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });
});

async function createPackOnPage(page: Page, workerKey: string): Promise<void> {
  await page.getByRole('button', { name: 'New pack' }).click();
  const dialog = page.getByRole('dialog', { name: 'New pack' });
  await dialog.getByLabel('Worker key').fill(workerKey);
  await dialog.getByRole('button', { name: 'Create pack' }).click();
  await page.getByRole('heading', { level: 1, name: workerKey }).waitFor();
}

async function addFiles(page: Page, files: Record<string, string>): Promise<void> {
  await page.getByRole('button', { name: 'Add files' }).click();
  const dialog = page.getByRole('dialog', { name: 'Add files' });
  await dialog
    .getByLabel('Files')
    .setInputFiles(Object.entries(files).map(([name, text]) => buildTextFile(name, text)));
  await dialog.getByRole('button', { name: 'Add', exact: true }).click();
  await dialog.waitFor({ state: 'detached' });
  for (const name of Object.keys(files)) await page.getByRole('button', { name: `Actions for ${name}` }).waitFor();
}

function buildTextFile(name: string, text: string) {
  return { name, mimeType: 'text/plain', buffer: Buffer.from(text) };
}

async function publishDraftOnPage(page: Page, label: string): Promise<void> {
  const form = page.getByRole('region', { name: 'Publish the draft' });
  await form.getByLabel('Label').fill(label);
  await form.getByRole('button', { name: 'Publish', exact: true }).click();
  await page.getByTestId('version').filter({ hasText: label }).waitFor();
}

async function promoteVersionOnPage(page: Page, number: number, stage: string): Promise<void> {
  await page.getByRole('button', { name: `Actions for version ${number}` }).click();
  await page.getByRole('menuitem', { name: `Promote to ${stage}` }).click();
  const dialog = page.getByRole('dialog', { name: new RegExp(`^Promote to ${stage}`) });
  await dialog.getByRole('button', { name: `Promote to ${stage}` }).click();
  await dialog.waitFor({ state: 'detached' });
  await page
    .getByTestId('version')
    .filter({ hasText: `Version ${number}` })
    .getByText(stage, { exact: true })
    .waitFor();
}
