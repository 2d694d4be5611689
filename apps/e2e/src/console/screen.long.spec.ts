// This test is long because it operates one page in a browser, which shows the browser of a run.
// A short test of the same code: apps/standalone/src/screens.spec.ts
import { type HttpClient, waitFor } from '@muster/testing';
import { ConsoleFixture, describeInBrowser } from './console-fixture';

jest.setTimeout(240_000);

/** Opens a page that asks for a person in a browser of the script's own, and reports what the person typed. */
const script = `
import json
import muster
import urllib.parse
import urllib.request

port = muster.browser().split(":")[2].split("/")[0]
box = "position: absolute; left: 50px; width: 300px; height: 60px; top: "
page = "<input id=word style='%s 50px'><button style='%s 200px' onclick='document.title = word.value'>Person</button>"
page = "data:text/html," + page % (box, box)
address = "http://127.0.0.1:%s/json/new?%s" % (port, urllib.parse.quote(page))
urllib.request.urlopen(urllib.request.Request(address, method="PUT"))
muster.ask("Pass the page", kind="confirm", takeover=True)
tabs = json.load(urllib.request.urlopen("http://127.0.0.1:%s/json/list" % port))
muster.result([tab["title"] for tab in tabs])
`;
/** Width of the browser that muster.browser() starts, in CSS pixels. */
const pageWidth = 1280;

describeInBrowser('the live browser on the page of a run', () => {
  let fixture: ConsoleFixture;
  let api: HttpClient;

  beforeAll(async () => {
    fixture = await ConsoleFixture.start();
    api = await fixture.createApiClient();
  });
  afterAll(() => fixture?.end());

  it('a person on a phone sees the browser of a run, uses it, presses Done, and the run continues', async () => {
    const agentId = (await api.get('/api/agents')).body.agents[0].id as string;
    const workflow = await api.post('/api/workflows', { name: 'Captcha', script });
    const launched = await api.post('/api/jobs/launch', { agentId, workflowId: workflow.body.id });
    const { jobId } = launched.body as { jobId: string };
    const tab = await fixture.openSignedInTab(`/app/runs/${jobId}`, { width: 390, height: 844 });
    const { page } = tab;
    const screen = page.getByTestId('screen');
    const readJob = async () => (await api.get(`/api/jobs/${jobId}`)).body;
    const waiting = await waitFor(
      'the run to ask or to end',
      async () => {
        const job = await readJob();
        return (job.asking || job.finishedAt) && job;
      },
      90_000,
    );
    expect([waiting.status, waiting.error]).toEqual(['running', null]);
    await screen.waitFor({ timeout: 60_000 });

    // A user without the permission runs.screens sees the question, and the page does not even ask for the browser.
    const viewer = await fixture.openTab();
    const requested: string[] = [];
    viewer.page.on('request', (request) => requested.push(new URL(request.url()).pathname));
    await viewer.goto(`/app/runs/${jobId}`);
    await viewer.signIn(...(await fixture.inviteUser('viewer')));
    await viewer.page.getByRole('heading', { name: 'Pass the page' }).waitFor();
    await viewer.page.getByText('This question can be answered by').waitFor();
    expect(await viewer.page.getByTestId('screen').count()).toBe(0);
    expect(requested).toContain(`/api/jobs/${jobId}`);
    expect(requested).not.toContain(`/api/jobs/${jobId}/screen`);
    await viewer.close();

    expect(await tab.findBarriers()).toEqual([]);
    expect(await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);

    const performAndWaitForInput = async (work: () => Promise<void>) => {
      const answered = page.waitForResponse((response) => response.url().endsWith('/screen/input'));
      await work();
      expect((await answered).status()).toBe(200);
    };
    const clickAt = (x: number, y: number) =>
      performAndWaitForInput(async () => {
        const scale = (await screen.boundingBox())!.width / pageWidth;
        await screen.click({ position: { x: x * scale, y: y * scale } });
      });
    await clickAt(200, 80);
    await page.getByLabel('Text for the browser').fill('tooth 14');
    await performAndWaitForInput(() => page.getByRole('button', { name: 'Type', exact: true }).click());
    await clickAt(200, 230);
    await page.getByRole('button', { name: 'Done' }).click();
    const ended = await waitFor(
      'the end of the run',
      async () => {
        const { status, result, error } = (await api.get(`/api/jobs/${jobId}`)).body;
        return ['completed', 'failed', 'cancelled'].includes(status) && { status, result, error };
      },
      60_000,
    );
    expect(ended).toMatchObject({ status: 'completed', result: expect.arrayContaining(['tooth 14']) });
    await screen.waitFor({ state: 'detached' });
    await tab.close();
  });
});
