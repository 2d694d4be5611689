import { FakeMachines, type Harness, makeWorkflow, startHarness, type Tenant, waitFor } from '@muster/testing';
import { standalone } from './standalone';

describe('the request id and the trace of a command', () => {
  let harness: Harness;
  let machines: FakeMachines;
  let tenant: Tenant;

  beforeAll(async () => {
    const env = { OUTBOUND_ALLOW: '127.0.0.0/8', COMMAND_SWEEP_MS: '50', OUTBOX_SWEEP_MS: '100' };
    harness = await startHarness({ ...standalone, env });
    machines = await FakeMachines.create(harness);
    tenant = machines.tenant;
  });
  afterAll(async () => {
    await harness.close();
    await machines.close();
  });

  const trace = '0af7651916cd43dd8448eb211c80319c';
  const callerHeaders = { 'x-request-id': 'asked-for.by-Dana_1', traceparent: `00-${trace}-b7ad6b7169203331-01` };
  const ofTrace = new RegExp(`^00-${trace}-[0-9a-f]{16}-01$`);
  const carried = { MUSTER_REQUEST_ID: callerHeaders['x-request-id'], TRACEPARENT: expect.stringMatching(ofTrace) };

  it('a pushed command has its request id and its trace in its environment and its headers', async () => {
    const { id, worker } = await machines.makeOnlineAgent();
    await machines.runSnippet(id, 'pass', {}, tenant.api.with(callerHeaders));
    await waitFor('the push', () => worker.headers.length > 0);
    expect(worker.received[0]!.env).toMatchObject(carried);
    expect(worker.headers[0]).toMatchObject({
      'x-request-id': callerHeaders['x-request-id'],
      traceparent: worker.received[0]!.env['TRACEPARENT'],
    });
  });

  it('a polled command has its request id and its trace in its environment', async () => {
    const { id, client } = await machines.makeOnlineAgent({ tunnel: false });
    await machines.runSnippet(id, 'pass', {}, tenant.api.with(callerHeaders));
    const { commands } = (await client.get(`/api/agents/${id}/commands?wait=10`)).body;
    expect(commands[0].env).toMatchObject(carried);
  });

  it('a run has the request id and the trace of its own launch, even if other requests launch runs', async () => {
    const { id, worker, client } = await machines.makeOnlineAgent();
    const { organizationId } = tenant;
    const { id: workflowId } = await makeWorkflow(harness.db, { organizationId });
    const first = await tenant.api.with(callerHeaders).post('/api/jobs/launch', { workflowId, agentId: id });
    const second = await tenant.api.post('/api/jobs/launch', { workflowId, agentId: id });
    await waitFor('the run', () => worker.received.length > 0);
    expect(worker.received[0]).toMatchObject({ kind: 'run', jobId: first.body.jobId, env: carried });
    expect(worker.headers[0]).toMatchObject({ 'x-request-id': callerHeaders['x-request-id'] });
    const end = { jobId: first.body.jobId, status: 'completed' };
    expect((await client.post('/api/job-webhook', end)).body.accepted).toBe(true);
    await waitFor('the next run', () => worker.received.length > 1);
    expect(worker.received[1]).toMatchObject({
      jobId: second.body.jobId,
      env: { MUSTER_REQUEST_ID: second.headers.get('x-request-id') },
    });
  });
});
