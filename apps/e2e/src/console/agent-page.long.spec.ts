// This test is long because it operates one page in a browser.
// A short test of the same code: apps/e2e/src/console/stories.spec.ts
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawnSync } from 'node:child_process';
import { FakeModel, type HttpClient, readTestStack, waitFor } from '@muster/testing';
import { writeTiff } from '../tiff-files';
import type { ConsoleTab } from './console-browser';
import { ConsoleFixture, describeInBrowser } from './console-fixture';
import { findDisplayFaults, makeHostileText, hostileName, hostileText, isImageLoaded } from './strange-content';

jest.setTimeout(300_000);

const { pillow } = readTestStack();
const itConverts = pillow ? it : it.skip;

describeInBrowser('the page of an agent', () => {
  let fixture: ConsoleFixture;
  let model: FakeModel;
  let api: HttpClient;
  let agentId: string;
  let practice: string;

  beforeAll(async () => {
    model = await FakeModel.start();
    practice = mkdtempSync(join(tmpdir(), 'muster-practice-'));
    makePractice(practice);
    fixture = await ConsoleFixture.startOwnService({
      ...model.environment,
      ...pillow,
      IMAGING_ROOT: join(practice, 'images'),
      PRACTICE_DATABASE: `sqlite:///${join(practice, 'practice.db')}`,
    });
    api = await fixture.createApiClient();
    agentId = (await api.get('/api/agents')).body.agents[0].id;
    await waitFor(
      'the agent to be online',
      async () => (await api.get(`/api/agents/${agentId}`)).body.status === 'online',
      60_000,
    );
  });
  afterAll(async () => {
    await fixture?.end();
    await model?.close();
    rmSync(practice, { recursive: true, force: true });
  });
  afterEach(() => expect(model.faults).toEqual([]));

  const getTabPath = (tab: string) => `/app/agents/${agentId}?tab=${tab}`;
  const findAnswers = ({ page }: ConsoleTab) => page.locator('[data-testid=chat-message][data-role=assistant]');

  it('the chat shows an answer while it arrives, and keeps showing it after a change of tabs', async () => {
    model.addResponses({ content: `It is idle because ${hostileText}`, slowMs: 150 });
    const tab = await fixture.openSignedInTab(getTabPath('chat'));
    const { page } = tab;
    await page.getByLabel('Message').fill('Why is it <i>idle</i>?');
    await page.getByRole('button', { name: 'Send' }).click();
    const answer = findAnswers(tab).last();
    await answer.getByText('It is idle').waitFor();
    await page.getByRole('button', { name: 'Stop answer' }).waitFor();
    await page.getByRole('tab', { name: 'Overview' }).click();
    await page.getByTestId('timeline-entry').first().waitFor();
    await page.getByRole('tab', { name: 'Chat' }).click();
    await answer.getByText('the end').waitFor();
    await page.getByRole('button', { name: 'Send' }).waitFor();
    expect(await answer.locator('p').last().innerText()).toBe(`It is idle because ${hostileText}`);
    await page.getByRole('list').getByRole('button', { name: 'Why is it <i>idle</i>?' }).waitFor();
    expect(await tab.findBarriers()).toEqual([]);

    await page.goto(`${fixture.address}${getTabPath('chat')}`);
    await page.getByRole('button', { name: 'Why is it <i>idle</i>?' }).click();
    await answer.getByText('the end').waitFor();
    expect(await answer.locator('p').last().innerText()).toBe(`It is idle because ${hostileText}`);
    expect(await page.title()).not.toBe('broken');
    expect(await findAnswers(tab).count()).toBe(1);
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('the chat shows the part of an answer that arrived before the answer was stopped', async () => {
    model.addResponses({ content: 'one two three four five', slowMs: 300, cutAfter: 4, hang: true });
    const tab = await fixture.openSignedInTab(getTabPath('chat'));
    const { page } = tab;
    await page.getByLabel('Message').fill('Count');
    await page.keyboard.press('Enter');
    await findAnswers(tab).last().getByText('three').waitFor();
    await page.getByRole('button', { name: 'Stop answer' }).click();
    await findAnswers(tab).last().getByText('The answer was stopped here').waitFor({ timeout: 30_000 });
    expect(await findAnswers(tab).last().innerText()).toContain('one two three');
    await waitFor('the model’s call to end', () => model.calls.at(-1)!.isOver);
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('the chat shows the tool call that the model requests, and executes it after an approval', async () => {
    const code = `print("done by hand: <b>", 6 * 7)  # ${makeHostileText('Code')}`;
    const waiting = `It waits for your word. ${makeHostileText('Word')}`;
    const tab = await fixture.openSignedInTab(getTabPath('chat'));
    const { page } = tab;
    const call = page.getByTestId('chat-call').last();
    const askToRunSnippet = async (message: string) => {
      model.addResponses({ toolCalls: [{ name: 'run_snippet', arguments: { code } }] }, waiting);
      await page.getByLabel('Message').fill(message);
      await page.getByRole('button', { name: 'Send' }).click();
      await findAnswers(tab).last().getByText('It waits for your word.').waitFor();
      await call.getByText('needs_confirmation').waitFor();
      expect(await call.innerText()).toContain(code.replace('\u202e', '\\u202e'));
    };
    await askToRunSnippet(makeHostileText('Run it'));
    expect([await tab.findBarriers(), await findDisplayFaults(tab)]).toEqual([[], []]);
    await page.getByRole('button', { name: 'Approve' }).click();
    await call.getByText('done', { exact: true }).waitFor({ timeout: 60_000 });
    await call.getByText('Result', { exact: true }).click();
    await call.getByText('done by hand: <b> 42').waitFor();

    await askToRunSnippet('And again');
    await page.getByRole('button', { name: 'Decline' }).click();
    await call.getByText('failed').waitFor();
    await call.getByText('confirmation_declined').waitFor();
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('the page of an agent shows the exact output of a snippet', async () => {
    const tab = await fixture.openSignedInTab(`/app/agents/${agentId}`);
    const { page } = tab;
    const isEditor = () => page.locator('.cm-editor').count();
    expect(await isEditor()).toBe(0);
    await page.getByLabel('Code').click();
    await page.locator('.cm-editor').waitFor();
    await page.keyboard.press('Control+a');
    await page.keyboard.insertText(`print(${JSON.stringify(hostileText)})`);
    await page.getByRole('button', { name: 'Run snippet' }).click();
    const output = page.getByTestId('snippet-output').filter({ hasText: 'the end' });
    await output.waitFor({ timeout: 60_000 });
    expect(await output.textContent()).toBe(`${hostileText}\n`);
    expect(await tab.findBarriers()).toEqual([]);

    await page.getByRole('tab', { name: 'Commands' }).click();
    await page.getByRole('searchbox', { name: 'Search commands' }).waitFor();
    await page
      .getByRole('row', { name: /success snippet/ })
      .first()
      .waitFor();
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('the page of an agent shows what a snippet prints while it runs', async () => {
    let releaseSnippet: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (releaseSnippet = resolve));
    const heldServer = createServer((_, response) => void held.then(() => response.end('the last line')));
    await new Promise<void>((done) => heldServer.listen(0, '127.0.0.1', done));
    const { port } = heldServer.address() as AddressInfo;
    const tab = await fixture.openSignedInTab(`/app/agents/${agentId}`);
    const { page } = tab;
    const code = [
      'import urllib.request',
      'print("the first line")',
      `print(urllib.request.urlopen("http://127.0.0.1:${port}/").read().decode())`,
    ];
    await page.getByLabel('Code').fill(code.join('\n'));
    await page.getByRole('button', { name: 'Run snippet' }).click();
    await page.getByTestId('snippet-output').getByText('the first line').waitFor({ timeout: 60_000 });
    await page.getByTestId('snippet-status').getByText('pending').waitFor();
    releaseSnippet();
    await page.getByTestId('snippet-status').getByText('success').waitFor();
    expect(await page.getByTestId('snippet-output').textContent()).toBe('the first line\nthe last line\n');
    heldServer.close();
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  itConverts('the page of an agent converts images, shows them, and shows the error of each failed image', async () => {
    const tab = await fixture.openSignedInTab(getTabPath('imaging'));
    const { page } = tab;
    const form = page.getByRole('region', { name: 'Images' });
    await form.getByLabel('Folder').fill(join(practice, 'images/1234'));
    await form.getByLabel('PATIMAGEID').fill('1234');
    await form.getByLabel('Files').fill(['new.dex', 'old.dex', 'none.dex', hostileName].join('\n'));
    await form.getByRole('button', { name: 'Convert images' }).click();
    await form.getByTestId('images-status').filter({ hasText: 'success' }).waitFor({ timeout: 60_000 });
    expect(await form.getByTestId('image').count()).toBe(2);
    const faults = await form.getByTestId('image-fault').allInnerTexts();
    expect(faults).toEqual([expect.stringContaining('not_found'), expect.stringContaining('not_a_tiff')]);
    expect(faults[1]).toContain(hostileName);
    const image = form.getByRole('img', { name: 'Image new.dex' });
    await waitFor('the image to load', () => image.evaluate(isImageLoaded));
    expect(await tab.findBarriers()).toEqual([]);
    // The URL of the page contains the conversion, so a reload shows it again.
    await page.reload();
    await form.getByTestId('images-status').filter({ hasText: 'success' }).waitFor();
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  itConverts('the page of an agent shows a composite, and explains that a patient was not found', async () => {
    const tab = await fixture.openSignedInTab(getTabPath('imaging'));
    const { page } = tab;
    const form = page.getByRole('region', { name: 'Composite' });
    await form.getByLabel('Patient').fill('1234');
    await form.getByLabel('Tooth 3', { exact: true }).check();
    await form.getByLabel('Tooth 30', { exact: true }).check();
    await form.getByRole('button', { name: 'Create composite' }).click();
    await form.getByTestId('composite-status').filter({ hasText: 'success' }).waitFor({ timeout: 60_000 });
    const image = form.getByRole('img', { name: 'Composite of teeth 3' });
    await waitFor('the image to load', () => image.evaluate(isImageLoaded));
    await form.getByText('<b>Ann</b>').waitFor();

    await form.getByLabel('Patient').fill('Nobody, Quillandra');
    await form.getByRole('button', { name: 'Create composite' }).click();
    await form
      .getByText('Try the image id (PATIMAGEID) or the chart number of the patient.')
      .waitFor({ timeout: 60_000 });
    expect(await tab.findBarriers()).toEqual([]);
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('the page of an agent sets labels, pins the agent and rotates its key', async () => {
    const tab = await fixture.openSignedInTab(getTabPath('settings'));
    const { page } = tab;
    await page.getByRole('textbox', { name: 'Labels' }).fill('front-desk, <b>loud</b>');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved.').waitFor();
    expect((await api.get(`/api/agents/${agentId}`)).body.labels).toEqual(['front-desk', '<b>loud</b>']);
    await page.getByRole('button', { name: 'Pin', exact: true }).click();
    await page.getByText('The agent is pinned: its machine does not stop').waitFor();
    await page.getByRole('button', { name: 'Undo' }).first().click();
    await waitFor('the agent to be unpinned', async () => {
      return !(await api.get(`/api/agents/${agentId}`)).body.idleAutoStopExempt;
    });
    await page
      .getByRole('region', { name: 'Savings of the last 30 days' })
      .getByText('Adaptive idle stop would have saved')
      .waitFor();
    await page.getByRole('button', { name: 'Rotate key' }).click();
    const dialog = page.getByRole('dialog', { name: 'New worker key' });
    const secret = await dialog.getByText(/^msk_\S+$/).innerText();
    expect(await tab.findBarriers()).toEqual([]);
    await dialog.getByRole('button', { name: 'Done' }).click();
    const [, id] = /^msk_([^_]+)_/.exec(secret)!;
    await page.getByRole('button', { name: `Revoke msk_${id}` }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.getByText(`msk_${id}`, { exact: true }).waitFor({ state: 'detached' });
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('the page of an agent searches recordings in the service, with the search text in the URL', async () => {
    const { organization } = (await api.get('/api/auth/me')).body;
    for (const name of ['Monday', 'Tuesday <b>bold</b>']) {
      await fixture.queryDatabase(
        `INSERT INTO recording (id, organization_id, agent_id, name, kind, status) VALUES ($1, $2, $3, $4, 'screen', 'failed')`,
        [randomUUID(), organization.id, agentId, name],
      );
    }
    const tab = await fixture.openSignedInTab(getTabPath('recordings'));
    const { page } = tab;
    const recordings = page.getByRole('table', { name: 'Recordings' });
    await recordings.getByText('Monday').waitFor();
    await page.getByRole('searchbox', { name: 'Search recordings' }).fill('<B>bold');
    await recordings.getByText('Monday').waitFor({ state: 'detached' });
    await recordings.getByText('Tuesday <b>bold</b>').waitFor();
    await page.reload();
    await recordings.getByText('Tuesday <b>bold</b>').waitFor();
    expect(await recordings.getByText('Monday').count()).toBe(0);
    await page.getByRole('searchbox', { name: 'Search recordings' }).fill('Sunday');
    await page.getByText('No recordings match the filters.').waitFor();
    expect(await tab.findBarriers()).toEqual([]);
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it.each([
    { theme: 'light', width: 1440 },
    { theme: 'dark', width: 1440 },
    { theme: 'light', width: 360 },
  ] as const)('the page of an agent has only accessible tabs: $theme, $width px', async (appearance) => {
    const tab = await fixture.openSignedInTab(`/app/agents/${agentId}`, appearance);
    const { page } = tab;
    await page.getByTestId('agent-status').waitFor();
    const names = ['Overview', 'Commands', 'Recordings', 'Imaging', 'Chat', 'Autopilot', 'Machine time', 'Settings'];
    for (const name of names) {
      await page.getByRole('tab', { name }).click();
      await page.getByRole('tab', { name, selected: true }).waitFor();
      await waitFor(`the content of ${name}`, async () => (await page.getByLabel('Loading').count()) === 0);
      expect([name, await tab.findBarriers()]).toEqual([name, []]);
      const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
      expect([name, overflow <= 0]).toEqual([name, true]);
    }
    await page.goBack();
    await page.getByRole('tab', { name: 'Machine time', selected: true }).waitFor();
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });
});

describeInBrowser('an agent’s chat without a language model', () => {
  let fixture: ConsoleFixture;

  beforeAll(async () => {
    fixture = await ConsoleFixture.start();
  });
  afterAll(() => fixture?.end());

  it('the chat without a language model explains what is missing, and who can configure it', async () => {
    const agentId = (await (await fixture.createApiClient()).get('/api/agents')).body.agents[0].id;
    const tab = await fixture.openSignedInTab(`/app/agents/${agentId}?tab=chat`);
    const { page } = tab;
    await page.getByLabel('Message').fill('Hello');
    await page.getByRole('button', { name: 'Send' }).click();
    const alert = page.getByRole('alert');
    await alert.waitFor();
    expect(await alert.innerText()).toContain('model_not_configured');
    expect(await alert.innerText()).toContain('An admin can choose a language model');
    await page.getByRole('tab', { name: 'Autopilot' }).click();
    await page.getByRole('button', { name: 'New session' }).click();
    await page.getByRole('dialog').getByLabel('Description').fill('See the claims at https://portal.example.com');
    await page.getByRole('button', { name: 'Generate task' }).click();
    await page.getByRole('dialog').getByRole('alert').getByText('An admin can choose a language model').waitFor();
    expect(await tab.findBarriers()).toEqual([]);
    await tab.close();
  });
});

function makePractice(folder: string): void {
  chmodSync(folder, 0o755);
  const images = join(folder, 'images/1234');
  mkdirSync(images, { recursive: true });
  const toTiff = (ordinal: number) => writeTiff({ width: 320, height: 240, ordinal, pixels: (x, y) => (x + y) % 256 });
  writeFileSync(join(images, 'new.dex'), toTiff(1));
  writeFileSync(join(images, 'old.dex'), toTiff(2));
  writeFileSync(join(images, hostileName), 'not a TIFF');
  // The last field lists the teeth, in FDI numbers.
  writeFileSync(join(folder, 'images/images.dat'), '1234|2|new.dex|20250101|101112|5|6|7|8|9|16\r\n');
  const python = spawnSync('python3', ['-c', makeDatabase, join(folder, 'practice.db')]);
  if (python.status !== 0) throw new Error(python.stderr.toString());
}

const makeDatabase = `
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("CREATE TABLE patient (patimageid, chart, first_name, last_name)")
connection.execute("INSERT INTO patient VALUES (1234, 'C-77', '<b>Ann</b>', 'Smith')")
connection.commit()
`;
