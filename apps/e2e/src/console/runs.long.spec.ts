// This test is long because it operates one page in a browser.
// A short test of the same code: apps/e2e/src/console/stories.spec.ts
import { type HttpClient, waitFor } from '@muster/testing';
import { ConsoleFixture, describeInBrowser } from './console-fixture';

jest.setTimeout(240_000);

describeInBrowser('the page of a run', () => {
  let fixture: ConsoleFixture;
  let api: HttpClient;
  let agentId: string;

  beforeAll(async () => {
    fixture = await ConsoleFixture.start();
    api = await fixture.createApiClient();
    agentId = (await api.get('/api/agents')).body.agents[0].id;
  });
  afterAll(() => fixture?.end());

  const launchScript = async (script: string, more: object = {}) => {
    const workflow = await api.post('/api/workflows', { name: `W ${Date.now()}`, script });
    const launched = await api.post('/api/jobs/launch', { agentId, workflowId: workflow.body.id, ...more });
    expect(launched.status).toBe(202);
    return launched.body.jobId as string;
  };

  it('the page of a run shows each part of a cancellation: the request, SIGTERM, and the machine’s confirmation', async () => {
    // Launches a script that ignores TERM.
    const id = await launchScript(`
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ignores TERM", flush=True)
time.sleep(300)
`);
    const tab = await fixture.openSignedInTab(`/app/runs/${id}`);
    const { page } = tab;
    await page.getByTestId('log-line').filter({ hasText: 'ignores TERM' }).waitFor();
    await page.getByRole('button', { name: 'Cancel run' }).press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Cancel this run?' });
    await dialog.getByRole('button', { name: 'Cancel run' }).press('Enter');
    const locateCancelStage = (name: string) => page.getByTestId('cancel-step').filter({ hasText: name });
    await locateCancelStage('TERM').getByText('passed').waitFor();
    await locateCancelStage('Confirmed').getByText('pending').waitFor();
    expect(await page.getByTestId('run-status').innerText()).toContain('running');
    expect(await tab.findBarriers()).toEqual([]);
    // KILL follows 10 s after TERM.
    await page.getByTestId('run-status').filter({ hasText: 'cancelled' }).waitFor({ timeout: 60_000 });
    await locateCancelStage('Confirmed')
      .getByText('The agent confirmed that all processes of the run have ended.')
      .waitFor();
    expect(await tab.findBarriers()).toEqual([]);
    await page.getByRole('button', { name: 'Replay' }).click();
    await page.getByText('The run is queued again.').waitFor();
    await waitFor('another run', () => !page.url().endsWith(id));
    await api.post(`/api/jobs/${page.url().split('/').at(-1)}/cancel`, {});
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('the page of a run links the attempts of the run, and shows why an attempt failed', async () => {
    const id = await launchScript('raise SystemExit("no <b>portal</b>")\n', { maxRetries: 1, retryDelayMs: 0 });
    const tab = await fixture.openSignedInTab(`/app/runs/${id}`);
    const { page } = tab;
    await page.getByTestId('run-why').filter({ hasText: 'no <b>portal</b>' }).waitFor();
    await waitFor('the retry', async () => (await page.getByTestId('attempt').count()) === 2);
    await page.getByTestId('attempt').nth(1).getByRole('link').click();
    await page.getByTestId('attempt').nth(1).getByText('this one').waitFor();
    await page.getByTestId('attempt').nth(0).getByRole('link').click();
    await waitFor('the page of the first attempt', () => page.url().endsWith(id));
    expect(await tab.findBarriers()).toEqual([]);
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it.each([
    { theme: 'light', width: 360 },
    { theme: 'dark', width: 1440 },
  ] as const)(
    'the page of a run is accessible with hostile output of a script: $theme, $width px',
    async (appearance) => {
      const id = await launchScript(`
import muster
for number in range(120):
    with muster.step("<img src=x onerror=alert(1)> \\u202e" + "long" * 50 + str(number)):
        pass
muster.log("warn", "<script>alert(1)</script>")
print("x" * 10000)
muster.result({"html": "<b>bold</b>"})
`);
      const tab = await fixture.openSignedInTab(`/app/runs/${id}`, appearance);
      const { page } = tab;
      await page.getByTestId('run-status').filter({ hasText: 'completed' }).waitFor({ timeout: 60_000 });
      await page.getByTestId('log-line').filter({ hasText: '<script>alert(1)</script>' }).waitFor();
      await page.getByRole('button', { name: 'More steps' }).click();
      await waitFor('all steps', async () => (await page.getByTestId('step').count()) === 120);
      await page.getByText('Raw JSON').click();
      expect(await tab.findBarriers()).toEqual([]);
      expect(await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
      expect(tab.complaints).toEqual([]);
      await tab.close();
    },
  );
});
