// This test is long because it starts the development server of the console.
// A short test of the same code: tools/serve/src/served-app.spec.ts
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { findFreePort, waitFor } from '@muster/testing';
import { ConsoleTab } from './console-browser';
import { ConsoleFixture, describeInBrowser } from './console-fixture';

jest.setTimeout(180_000);

describeInBrowser('the development server of the console', () => {
  let fixture: ConsoleFixture;
  let server: ChildProcess | undefined;

  beforeAll(async () => {
    fixture = await ConsoleFixture.start();
  });
  afterAll(async () => {
    server?.kill();
    if (server && server.exitCode === null && server.signalCode === null) await once(server, 'exit');
    await fixture?.end();
  });

  it('the development server has hot reload, and forwards sessions and streams to a service', async () => {
    const port = await findFreePort();
    // The same command as `nx serve console`.
    server = spawn(process.execPath, ['node_modules/vite/bin/vite.js', 'apps/console'], {
      env: { ...process.env, MUSTER_DEV_PORT: String(port - 8), MUSTER_DEV_SERVICE: fixture.address },
      stdio: 'ignore',
    });
    const address = `http://127.0.0.1:${port}`;
    const isDevServerReady = async () => (await fetch(`${address}/app/`).catch(() => null))?.status === 200;
    await waitFor('the development server', isDevServerReady, 60_000);
    const tab = await ConsoleTab.open(fixture.browser, address);
    const { page } = tab;
    await tab.goto('/app/agents');
    await tab.signIn(...fixture.admin);
    await page.getByRole('link', { name: 'Demo agent' }).waitFor();
    expect(await page.evaluate<number>(`document.querySelectorAll('script[src*="/@vite/client"]').length`)).toBe(1);
    // A change in the service reaches the page through the event stream.
    const api = await fixture.createApiClient();
    const [{ id }] = (await api.get('/api/agents')).body.agents;
    await page.goto(`${address}/app/runs`);
    const { workflows } = (await api.get('/api/workflows')).body;
    const run = { workflowId: workflows[0].id, agentId: id, variables: { GREETING: 'Good evening' } };
    const { jobId } = (await api.post('/api/jobs/launch', run)).body;
    await page.locator(`a[href$="/runs/${jobId}"]`).first().waitFor();
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });
});
