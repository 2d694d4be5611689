// This test is long because it opens pages in a browser.
// A short test of the same code: apps/ingest/src/agents/machines.spec.ts
import { HttpClient, waitFor } from '@muster/testing';
import { ConsoleFixture, describeInBrowser } from './console-fixture';
import { findDisplayFaults, makeHostileText } from './strange-content';

jest.setTimeout(180_000);

describeInBrowser('what workers report', () => {
  let fixture: ConsoleFixture;
  let api: HttpClient;
  let worker: HttpClient;

  beforeAll(async () => {
    fixture = await ConsoleFixture.start();
    api = await fixture.createApiClient();
    const { body } = await api.post('/api/api-keys', { name: 'reports', scope: 'worker' });
    worker = new HttpClient(fixture.address).withKey(body.secret);
  });
  afterAll(() => fixture?.end());

  it('the page of an agent lists the software that its machine has, and the missing software with the reason', async () => {
    const created = await api.post('/api/agents', { name: 'Half equipped', provider: 'external' });
    const { id } = created.body.agent;
    const handshake = await worker.post('/api/agents/handshake', {
      ...{ agentId: id, bootId: 'boot-1', workerVersion: '1.0.0' },
      machineCapabilities: [
        { name: 'python', available: true, detail: '3.11.2' },
        { name: 'ffmpeg', available: false, detail: `not on PATH ${makeHostileText('Path')}` },
        { name: 'sandbox', available: false, detail: null },
      ],
    });
    expect([handshake.status, handshake.body.code]).toEqual([200, undefined]);
    const tab = await fixture.openSignedInTab(`/app/agents/${id}`);
    const items = tab.page.getByTestId('agent-capabilities').getByRole('listitem');
    await items.first().waitFor();
    const texts = await items.allInnerTexts();
    expect(texts.map((text) => text.replaceAll(/\s+/g, ' '))).toEqual([
      '✓ has Python · 3.11.2',
      expect.stringMatching(/^✗ lacks ffmpeg · not on PATH Path<img/),
      '✗ lacks Browser sandbox',
    ]);
    expect(await findDisplayFaults(tab)).toEqual([]);
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('the page of a run lists in plain words the reports of the run that the service rejected', async () => {
    const { agents } = (await api.get('/api/agents')).body;
    const agentId = agents.find(({ status }: { status: string }) => status === 'online').id;
    const sleeper = { name: 'Rejected reports', script: 'import time\ntime.sleep(300)' };
    const workflow = (await api.post('/api/workflows', sleeper)).body;
    const { jobId } = (await api.post('/api/jobs/launch', { agentId, workflowId: workflow.id })).body;
    await waitFor('the run', async () => (await api.get(`/api/jobs/${jobId}`)).body.status === 'running', 60_000);
    const tab = await fixture.openSignedInTab(`/app/runs/${jobId}`);
    const { page } = tab;
    await page.getByTestId('run-status').filter({ hasText: 'running' }).waitFor();
    expect(await page.getByTestId('run-incomplete').count()).toBe(0);
    const incomplete = [
      { kind: 'run_summary', reason: 'summary of the batch 7: batchId is too long' },
      { kind: 'claim', reason: `claim ${makeHostileText('Claim')}: npi is wrong` },
    ];
    const reported = await worker.post('/api/job-webhook', { jobId, status: 'completed', incomplete });
    expect(reported.body).toMatchObject({ accepted: true });
    const note = page.getByTestId('run-incomplete');
    await note
      .getByText('The service rejected some data that this run reported. The following data is missing:')
      .waitFor();
    expect(await note.getByRole('listitem').allInnerTexts()).toEqual([
      'summary of the batch 7: batchId is too long run summary',
      expect.stringMatching(/^claim Claim<img.*: npi is wrong claim$/),
    ]);
    expect(await findDisplayFaults(tab)).toEqual([]);
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });
});
