import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { newId } from '@muster/platform';
import { EventStream, type HttpClient, waitFor } from '@muster/testing';
import { AutopilotHarness, chromium, noChromium } from './autopilot/autopilot.harness';
import { createQuestionHelpers } from './questions.harness';

const itShows = chromium ? it : it.skip;

jest.setTimeout(120_000);

/** A page that a person must pass because no script can: it has a field and a button at fixed positions. */
const page = `<!doctype html><body style="margin: 0">
  <input id="word" style="position: absolute; left: 100px; top: 100px; width: 200px; height: 40px">
  <input type="password" value="hunter2">
  <button id="pass" style="position: absolute; left: 100px; top: 200px; width: 200px; height: 40px"
    onclick="fetch('/passed?' + new URLSearchParams({ word: word.value })).then(() => this.textContent = 'passed')"
  >I am a person</button>
  <p id="beat" style="position: absolute; left: 100px; top: 300px"></p>
  <script>setInterval(() => beat.textContent = Date.now(), 50)</script>`;

/** A page that reports the query of its own address when it is clicked. */
const tab = `<!doctype html><body style="height: 100vh"
  onmousedown="fetch('/passed?word=' + location.search.slice(1))">`;

describe('the browser of a run, which people watch and use', () => {
  let pilot: AutopilotHarness;
  let portal: Server;
  const passed: string[] = [];

  beforeAll(async () => {
    pilot = await AutopilotHarness.start();
    portal = createServer((request, response) => {
      if (request.url!.startsWith('/passed')) passed.push(new URL(request.url!, 'http://x').searchParams.get('word')!);
      const html =
        request.url === '/still' ? '<h1>Nothing moves here</h1>' : request.url!.startsWith('/tab') ? tab : page;
      response.writeHead(200, { 'content-type': 'text/html' }).end(html);
    });
    await new Promise<void>((resolve) => portal.listen(0, '127.0.0.1', resolve));
  });
  afterAll(async () => {
    await pilot.close();
    portal.closeAllConnections();
    await new Promise((resolve) => portal.close(resolve));
  });

  const { launch, ended, open, answer, running, ask, rows } = createQuestionHelpers(() => pilot);
  const watchScreen = (jobId: string, { url, headers }: HttpClient = pilot.tenant.as.member) =>
    EventStream.open(`${url}/api/jobs/${jobId}/screen`, headers);
  const sendScreenInput = (jobId: string, body: object, client = pilot.tenant.as.member) =>
    client.post(`/api/jobs/${jobId}/screen/input`, body);
  const click = { kind: 'click', x: 10, y: 10 };
  const frame = { data: `/9j/${'A'.repeat(400)}`, width: 1280, height: 720 };
  const sendFrame = (jobId: string, body: object = frame, client: HttpClient = pilot.tenant.worker) =>
    client.post(`/api/jobs/${jobId}/screen/frames`, body);
  const listFrames = (stream: EventStream) => stream.events.filter(({ event }) => event === 'frame');

  itShows(
    `a person watches the browser of a run, passes the page that no script foresaw, and it continues${noChromium}`,
    async () => {
      const { tenant, agentId } = pilot;
      const typed = `tooth ${newId()}`;
      const blur = "getComputedStyle(document.querySelector('input[type=password]')).filter";
      const steps = [
        { id: 'a', type: 'goto', url: `http://127.0.0.1:${(portal.address() as AddressInfo).port}/` },
        { id: 'b', type: 'ask', question: 'Pass the page', kind: 'confirm', takeover: true, as: 'done', waits: '100s' },
        { id: 'c', type: 'extract', selector: '#pass', as: 'button' },
        { id: 'd', type: 'python', code: `muster.result({"blur": browser.page().evaluate(${JSON.stringify(blur)})})` },
      ];
      const workflow = await tenant.as.member.post('/api/workflows', { name: newId(), variables: [], steps });
      expect([workflow.status, workflow.body]).toEqual([201, expect.anything()]);
      const { jobId } = (await tenant.api.post('/api/jobs/launch', { workflowId: workflow.body.id, agentId })).body;
      const question = await open(jobId);
      expect(question.takeover).toBe(true);
      const stream = await watchScreen(jobId);
      const [first] = await waitFor(
        'images of the browser',
        () => listFrames(stream).length >= 2 && listFrames(stream),
        30_000,
      );
      const size = readJpegSize(Buffer.from(first!.data.data, 'base64'));
      expect(Math.max(size.width, size.height)).toBeLessThanOrEqual(720);
      // The image has the aspect ratio of the page, so that a click on the image maps to a position on the page.
      const { width, height } = first!.data;
      expect(size.width / size.height).toBeCloseTo(width / height, 1);

      for (const each of [
        { kind: 'click', x: 150, y: 120 },
        { kind: 'type', text: `${typed}x` },
        { kind: 'key', key: 'Backspace' },
        { kind: 'scroll', x: 150, y: 120, deltaY: 10 },
        { kind: 'click', x: 150, y: 220 },
      ]) {
        expect([each, (await sendScreenInput(jobId, each)).body]).toEqual([each, { sent: true }]);
      }
      await waitFor('the page to be passed', () => passed.includes(typed));
      expect((await answer(question.id, true)).status).toBe(200);
      expect(await ended(jobId)).toMatchObject({
        status: 'completed',
        result: { done: true, button: 'passed', blur: 'blur(6px)' },
      });
      await waitFor('the end of the stream', () => stream.ended);
      expect(stream.events.at(-1)).toMatchObject({ event: 'end', data: { status: 'completed' } });

      const { entries } = (await tenant.as.admin.get('/api/audit?limit=50')).body;
      const audited = entries.filter(({ target }: any) => target.type === 'job' && target.id === jobId);
      expect(audited.map(({ action, changes }: any) => [action, changes]).reverse()).toEqual(
        expect.arrayContaining(
          [
            ['screen.open', expect.anything()],
            ['screen.input', { kind: 'click', x: 150, y: 120 }],
            ['screen.input', { kind: 'type' }],
            ['screen.input', { kind: 'key', key: 'Backspace' }],
            ['screen.input', { kind: 'scroll', x: 150, y: 120, deltaY: 10 }],
          ].map(([action, changes]) => [action, changes]),
        ),
      );
      // Neither the typed text nor an image is in a table or in the log.
      const tables = await rows(`SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'`);
      for (const secret of [typed, first!.data.data.slice(0, 60)]) {
        for (const { tableName } of tables) {
          const sql = `SELECT count(*)::int AS found FROM "${tableName}" t WHERE t::text LIKE $1`;
          const [{ found }] = await rows(sql, `%${secret}%`);
          expect([tableName, found]).toEqual([tableName, 0]);
        }
        expect(pilot.harness.logs.join('')).not.toContain(secret);
      }
      stream.close();
    },
  );

  itShows(`a person who joins later sees a page that does not change${noChromium}`, async () => {
    const { tenant, agentId } = pilot;
    const steps = [
      { id: 'a', type: 'goto', url: `http://127.0.0.1:${(portal.address() as AddressInfo).port}/still` },
      { id: 'b', type: 'ask', question: 'Look at the page', kind: 'confirm', as: 'done', waits: '100s' },
    ];
    const workflow = await tenant.as.member.post('/api/workflows', { name: newId(), variables: [], steps });
    const { jobId } = (await tenant.api.post('/api/jobs/launch', { workflowId: workflow.body.id, agentId })).body;
    const question = await open(jobId);
    const first = await watchScreen(jobId);
    await waitFor('an image for the first person', () => listFrames(first).length > 0, 30_000);
    const second = await watchScreen(jobId);
    await waitFor('an image for the second person', () => listFrames(second).length > 0, 30_000);
    // The run does not ask with takeover, so nobody can use its browser.
    expect((await sendScreenInput(jobId, click)).status).toBe(409);
    await answer(question.id, true);
    expect(await ended(jobId)).toMatchObject({ status: 'completed' });
  });

  itShows(`a person sees and uses the tab that the script opened last${noChromium}`, async () => {
    const tabs = Array.from({ length: 8 }, () => newId());
    const address = `http://127.0.0.1:${(portal.address() as AddressInfo).port}/tab`;
    const jobId = await launch(`import urllib.request
browser = muster.browser().split("/")[2]
for tab in ${JSON.stringify(tabs)}:
    url = "http://%s/json/new?${address}?%s" % (browser, tab)
    urllib.request.urlopen(urllib.request.Request(url, method="PUT"))
muster.result(muster.ask("Which tab?", kind="confirm", takeover=True, timeout="60s"))`);
    const question = await open(jobId);
    const stream = await watchScreen(jobId);
    await waitFor('an image of the browser', () => listFrames(stream).length > 0, 30_000);
    const used = () => passed.filter((word) => tabs.includes(word));
    await waitFor('a tab to be used', async () => {
      expect((await sendScreenInput(jobId, click)).status).toBe(200);
      return used().length > 0;
    });
    expect(new Set(used())).toEqual(new Set([tabs.at(-1)]));
    await answer(question.id, true);
    expect(await ended(jobId)).toMatchObject({ status: 'completed', result: true });
    stream.close();
  });

  it('a run’s live screen is visible with the permission runs.screens while the run lasts, but to no API key', async () => {
    const { id: jobId } = await running();
    const other = await pilot.harness.makeTenant();
    const readWatchStatus = async (client: HttpClient) => {
      const stream = await watchScreen(jobId, client);
      stream.close();
      return stream.response.statusCode;
    };
    const { as, api, worker } = pilot.tenant;
    expect(await Promise.all([as.viewer, as.member, api, worker, other.as.admin].map(readWatchStatus))).toEqual([
      ...[403, 200, 403, 403, 404],
    ]);
    const stream = await watchScreen(jobId);
    await pilot.tenant.worker.post('/api/job-webhook', { jobId, status: 'completed' });
    await waitFor('the end of the stream', () => stream.ended);
    expect(stream.events.at(-1)).toMatchObject({ event: 'end', data: { status: 'completed' } });
    expect(await readWatchStatus(as.member)).toBe(409);
    // An organization has at most 20 open screens in each process.
    const { id: crowded } = await running();
    const all = await Promise.all(Array.from({ length: 21 }, () => watchScreen(crowded)));
    for (const each of all) each.close();
    expect(all.map(({ response }) => response.statusCode).sort()).toEqual([...Array<number>(20).fill(200), 429]);
    // A closed screen frees its slot for another one, and a refused request occupies no slot.
    await waitFor('room for a screen', async () => (await readWatchStatus(as.member)) === 409);
    for (let times = 0; times < 20; times += 1) expect(await readWatchStatus(as.member)).toBe(409);
  });

  it('input to a run’s live screen is refused unless the run asks with takeover and the sender may answer', async () => {
    const { as, api } = pilot.tenant;
    const { id: jobId } = await running();
    const other = await pilot.harness.makeTenant();
    expect((await sendScreenInput(jobId, click)).status).toBe(409);
    await ask(jobId, { kind: 'confirm' });
    expect((await sendScreenInput(jobId, click)).status).toBe(409);
    const { questionId } = (
      await ask(jobId, { questionKey: 'two', kind: 'confirm', takeover: true, to: ['role:admin'] })
    ).body;
    const readInputStatuses = async (clients: HttpClient[]) =>
      (await Promise.all(clients.map((client) => sendScreenInput(jobId, click, client)))).map(({ status }) => status);
    expect(await readInputStatuses([as.viewer, api, as.member, other.as.admin])).toEqual([403, 403, 403, 404]);
    // No worker is connected, so nothing can receive the input.
    const refused = await sendScreenInput(jobId, click, as.admin);
    expect([refused.status, refused.body.detail]).toEqual([409, expect.stringContaining('not connected')]);
    for (const wrong of [
      { kind: 'drag' },
      { kind: 'click', x: 1 },
      { kind: 'click', x: -1, y: 1 },
      { kind: 'type' },
      { kind: 'key', key: 'a' },
      { kind: 'type', text: 'x'.repeat(1001) },
    ]) {
      expect([wrong, (await sendScreenInput(jobId, wrong, as.admin)).status]).toEqual([wrong, 400]);
    }
    expect((await answer(questionId, true)).status).toBe(403);
    await as.admin.post(`/api/questions/${questionId}/answer`, { answer: true });
    expect((await sendScreenInput(jobId, click, as.admin)).status).toBe(409);
  });

  it('input to a run’s live screen reaches only the worker of the run', async () => {
    const { id: jobId } = await running();
    const { id: otherId } = await running();
    await ask(jobId, { kind: 'confirm', takeover: true });
    const { url, headers } = pilot.tenant.worker;
    const openScreenControl = (id: string) => EventStream.open(`${url}/api/jobs/${id}/screen/control`, headers);
    const [own, foreign] = [await openScreenControl(jobId), await openScreenControl(otherId)];
    await waitFor(
      'the input to be sent',
      async () => (await sendScreenInput(jobId, { kind: 'type', text: 'seven' })).status === 200,
    );
    await waitFor('the input', () => own.events.some(({ event }) => event === 'input'));
    expect(own.events.find(({ event }) => event === 'input')!.data).toEqual({ kind: 'type', text: 'seven' });
    expect(foreign.events).toEqual([]);
    own.close();
    foreign.close();
  });

  it('images of a run’s live screen are passed on only while a user watches, and the rate of images is limited', async () => {
    const { id: jobId } = await running();
    expect((await sendFrame(jobId)).body).toEqual({ watched: false });
    const stream = await watchScreen(jobId);
    await waitFor('the image to be passed on', async () => (await sendFrame(jobId)).body.watched === true);
    await waitFor('the image', () => listFrames(stream).length > 0);
    expect(listFrames(stream)[0]!.data).toEqual(frame);
    const before = listFrames(stream).length;
    const flood = await Promise.all(Array.from({ length: 40 }, () => sendFrame(jobId)));
    const statuses = new Set(flood.map(({ status }) => status));
    expect([...statuses].filter((status) => status !== 200)).toEqual([429]);
    expect(flood.filter(({ status }) => status === 200).length).toBeLessThan(40);
    expect(listFrames(stream).length - before).toBeLessThan(40);
    stream.close();
  });

  it('an image of a run’s live screen must be a JPEG of a run of the worker’s own agent', async () => {
    const { id: jobId } = await running();
    const other = await pilot.harness.makeTenant();
    for (const data of ['', 'hello', `/9j/<script>`, `/9j/${'A'.repeat(400_000)}`]) {
      expect([data.slice(0, 20), (await sendFrame(jobId, { ...frame, data })).status]).toEqual([
        data.slice(0, 20),
        400,
      ]);
    }
    expect((await sendFrame(jobId, { ...frame, data: `/9j/${'A'.repeat(600_000)}` })).status).toBe(413);
    expect((await sendFrame(jobId, frame, other.worker)).status).toBe(404);
    expect((await sendFrame(jobId, frame, pilot.tenant.api)).status).toBe(403);
    expect((await sendFrame(jobId, frame, pilot.tenant.as.admin)).status).toBe(403);
    await pilot.tenant.worker.post('/api/job-webhook', { jobId, status: 'completed' });
    expect((await sendFrame(jobId)).status).toBe(409);
  });
});

/** Returns the size of a JPEG image from its frame header. */
function readJpegSize(image: Buffer): { width: number; height: number } {
  for (let at = 2; at < image.length;) {
    const marker = image[at + 1]!;
    // SOF0 to SOF15, without the tables DHT, JPG and DAC that have numbers between them.
    if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)) {
      return { height: image.readUInt16BE(at + 5), width: image.readUInt16BE(at + 7) };
    }
    at += 2 + image.readUInt16BE(at + 2);
  }
  throw new Error('the image has no frame header');
}
