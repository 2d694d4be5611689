// This test is long because it records a real browser.
// A short test of the same code: apps/worker/src/recordings/recorded-steps.spec.ts
import { BrowserDriver, findProcesses, waitFor } from '@muster/testing';
import { execFileSync } from 'node:child_process';
import { existsSync, lstatSync, mkdirSync, readdirSync, readlinkSync, symlinkSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findBrowser, findProgram } from '../browser/find-browser';
import { FakeService, type Json } from '../testing/fake-service.harness';
import { buildCommand, WorkerHarness } from '../testing/worker-process.harness';

jest.setTimeout(120_000);

const chromium = findBrowser(process.env);
const ffmpeg = findProgram('ffmpeg', process.env);
const itRecords = chromium ? it : it.skip;

const pages: Record<string, string> = {
  '/': `
    <form action="/claims"><label for="user">User name</label><input id="user" name="user">
    <label>Secret <input type="password" name="secret" id="a-1234567"></label>
    <label><input type="checkbox" name="stay"> Stay signed in</label>
    <button>Sign in</button></form>`,
  '/claims': `
    <h1>Claims</h1><select id="payer"><option value="">-</option><option value="delta">Delta</option></select>
    <ul><li>One <button>Open</button></li><li>Two <button>Open</button></li></ul>
    <textarea aria-label="Note"></textarea><x-box></x-box><iframe src="/frame"></iframe>
    <div style="height: 3000px">long</div>
    <script>
      customElements.define('x-box', class extends HTMLElement {
        constructor() { super(); this.attachShadow({ mode: 'open' }).innerHTML = '<button class="inner">Inside</button>'; }
      });
      for (const each of document.querySelectorAll('li button')) each.ondblclick = () => each.textContent = 'Opened';
    </script>`,
  '/frame': '<input name="framed">',
};

describe(`A recorded browser${chromium ? '' : ' (skipped: no browser here)'}`, () => {
  let service: FakeService;
  let worker: WorkerHarness;
  let portal: Server;
  let url: string;

  beforeAll(async () => {
    portal = createServer((request, response) => {
      const page = pages[request.url!.split('?')[0]!];
      response.writeHead(page ? 200 : 404, { 'content-type': 'text/html' }).end(page ?? '');
    });
    await new Promise<void>((resolve) => portal.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(portal.address() as AddressInfo).port}`;
  });
  afterAll(() => portal.close());
  beforeEach(async () => {
    service = await FakeService.start();
    worker = new WorkerHarness(service);
  });
  afterEach(async () => {
    await worker.kill();
    await waitFor('the browsers to end with their worker', () => findWorkerBrowsers().length === 0);
    await worker.remove();
    await service.stop();
    expect(service.faults).toEqual([]);
  });

  const performCommand = async (kind: string, payload: object): Promise<Json> => {
    const command = buildCommand(kind, payload);
    await service.pushCommand(command);
    return service.waitUntil('the result', () => service.findResult(command.commandId));
  };
  const readUploadedEvents = ({ output }: Json) => JSON.parse(service.uploads.get(output.events)!.toString());
  const findWorkerBrowsers = () => findProcesses('PATH=', worker.folder);

  itRecords('a browser recording produces the person’s actions as steps, and a video', async () => {
    await worker.start({ DISPLAY: '' });
    const started = await performCommand('start_recording', {
      recordingId: 'r-1',
      name: 'Sign in',
      startUrl: `${url}/`,
    });
    expect(started).toMatchObject({
      status: 'success',
      output: { recordingId: 'r-1', recording: true, kind: 'browser', headless: true },
    });
    const person = await BrowserDriver.connect(started.output.debuggingUrl);
    await person.click('document.querySelector("#user")');
    await person.type('dana');
    await person.press('Tab', 9);
    await person.type('hunter2!');
    await person.click('document.querySelector("[name=stay]").parentElement');
    await person.press('Enter', 13);
    await person.waitUntilTrue('location.pathname === "/claims" && document.readyState === "complete"');
    await person.evaluate('payer.focus()');
    await person.press('ArrowDown', 40);
    await person.waitUntilTrue('payer.value === "delta"');
    await person.click('document.querySelectorAll("li button")[1]', 2);
    await person.click('document.querySelector("x-box").shadowRoot.querySelector("button")');
    await person.click('document.querySelector("textarea")');
    await person.type('two words');
    await person.turnWheel(700);
    await person.waitUntilTrue('scrollY > 300');
    expect((await performCommand('attach_recording', { recordingId: 'r-1' })).status).toBe('success');
    person.close();
    const stopped = await performCommand('stop_recording', { recordingId: 'r-1' });
    expect(stopped).toMatchObject({ status: 'success', output: { recordingId: 'r-1', kind: 'browser' } });
    const { title, steps } = readUploadedEvents(stopped);
    expect(title).toBe('Sign in');
    const formatStepBriefly = ({ type, selectors = [], key, value, url: to }: Json) =>
      [type, key ?? to ?? selectors[0]?.join(' >> '), value].filter((each) => each !== undefined).join(' ');
    const done = steps.filter(({ type }: Json) => type !== 'scroll').map(formatStepBriefly);
    // A scroll in between splits the input of a text into two changes; the last change has the whole text.
    const isBegun = (line: string) => / (two word|two wor|two wo|two w|two |two|tw|t)$/.test(line);
    expect(done.filter((line: string) => !isBegun(line))).toEqual([
      'setViewport',
      `navigate ${url}/`,
      'click #user',
      'change #user dana',
      'keyDown Tab',
      'keyUp Tab',
      'change input[name="secret"] {{PASSWORD}}',
      'click text/Stay signed in',
      'keyDown Enter',
      'keyUp Enter',
      'change #payer delta',
      'doubleClick li:nth-of-type(2) > button',
      'click x-box >> button',
      'click aria/Note[role="textbox"]',
      'change aria/Note[role="textbox"] two words',
    ]);
    expect(steps.filter(({ type }: Json) => type === 'scroll').at(-1)).toMatchObject({ x: 0, y: expect.any(Number) });
    const led = steps.find(({ key, type }: Json) => type === 'keyDown' && key === 'Enter').assertedEvents;
    expect(led).toEqual([
      { type: 'navigation', url: `${url}/claims?user=dana&secret={{PASSWORD}}&stay=on`, title: '' },
    ]);
    expect(service.uploads.get(stopped.output.events)!.toString()).not.toContain('hunter2');
    expect(joinSentRequests()).not.toContain('hunter2');
    const film = service.uploads.get(stopped.output.video);
    if (ffmpeg) expect(film!.subarray(0, 4).toString('hex')).toBe('1a45dfa3');
    else expect(stopped.output.note).toContain('no ffmpeg');
    expect(readdirSync(join(worker.folder, 'recordings'))).toEqual([]);
    expect(findWorkerBrowsers()).toEqual([]);
    expect(await performCommand('stop_recording', { recordingId: 'r-1' })).toMatchObject({ status: 'failed' });
  });

  itRecords('a browser recording without ffmpeg produces only its steps, and reports that', async () => {
    const bin = join(worker.folder, 'bin');
    mkdirSync(bin);
    symlinkSync(execFileSync('sh', ['-c', 'command -v python3'], { encoding: 'utf8' }).trim(), join(bin, 'python3'));
    await worker.start({ DISPLAY: '', CHROMIUM: chromium!, PATH: `${bin}:/nowhere` });
    const started = await performCommand('start_recording', { recordingId: 'r-1', kind: 'browser' });
    expect(started.output.note).toContain('no ffmpeg');
    const { output } = await performCommand('stop_recording', { recordingId: 'r-1' });
    expect(output).toMatchObject({ events: expect.any(String), note: expect.stringContaining('no ffmpeg') });
    expect(output.video).toBeUndefined();
    expect(output.key).toBe(output.events);
  });

  itRecords(
    'a browser recording does not start if its first page cannot be opened, and leaves nothing behind',
    async () => {
      await worker.start({ DISPLAY: '' });
      const failed = await performCommand('start_recording', { recordingId: 'r-1', startUrl: 'http://127.0.0.1:1/' });
      expect(failed).toMatchObject({
        status: 'failed',
        error: expect.stringContaining('127.0.0.1:1/ could not be opened'),
      });
      await waitFor('the browser to end', () => findWorkerBrowsers().length === 0);
      expect(readdirSync(join(worker.folder, 'recordings'))).toEqual([]);
    },
  );

  itRecords('a browser recording ends if its worker is killed, and the next worker removes its files', async () => {
    await worker.start({ DISPLAY: '' });
    await performCommand('start_recording', { recordingId: 'r-1' });
    expect(findWorkerBrowsers().length).toBeGreaterThan(0);
    await worker.kill('SIGKILL');
    await waitFor('the browser to end with it', () => findWorkerBrowsers().length === 0);
    await worker.start({ DISPLAY: '' });
    expect(existsSync(join(worker.folder, 'recordings'))).toBe(false);
    expect(readdirSync(tmpdir()).filter((name) => isDeadFolderLink(join(tmpdir(), name)))).toEqual([]);
    expect(await performCommand('stop_recording', { recordingId: 'r-1' })).toMatchObject({ status: 'failed' });
  });

  it('a recording of a browser needs a browser; a recording of the screen needs a display', async () => {
    await worker.start({ DISPLAY: '', CHROMIUM: '/nowhere/chromium' });
    for (const [payload, code] of [
      [{}, 'browser_unavailable'],
      [{ kind: 'browser' }, 'browser_unavailable'],
      [{ kind: 'screen' }, 'screen_unavailable'],
    ] as const) {
      expect(await performCommand('start_recording', payload)).toMatchObject({ status: 'failed', code });
    }
  });

  const joinSentRequests = () => service.requests.map(({ text }) => text).join('\n');
  /** Whether the path is a link to a folder of this worker that no longer exists. */
  const isDeadFolderLink = (path: string): boolean =>
    lstatSync(path).isSymbolicLink() && readlinkSync(path).startsWith(worker.folder) && !existsSync(path);
});
