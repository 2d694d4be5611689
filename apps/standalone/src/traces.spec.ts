import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  type CollectedSpan,
  FakeMachines,
  type Harness,
  makeWorkflow,
  startHarness,
  type Tenant,
  TraceCollector,
  waitFor,
} from '@muster/testing';
import { standalone } from './standalone';

const buildTraceHeaders = (traceId: string) => ({ traceparent: `00-${traceId}-b7ad6b7169203331-01` });

describe('a trace', () => {
  let harness: Harness;
  let machines: FakeMachines;
  let tenant: Tenant;
  let collector: TraceCollector;
  let workflowId: string;

  beforeAll(async () => {
    collector = await TraceCollector.start();
    harness = await startHarness({
      ...standalone,
      env: {
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_BSP_SCHEDULE_DELAY: '20',
        OUTBOUND_ALLOW: '127.0.0.0/8',
        COMMAND_SWEEP_MS: '50',
        OUTBOX_SWEEP_MS: '100',
        SCHEDULE_TICK_MS: '100',
      },
    });
    machines = await FakeMachines.create(harness);
    tenant = machines.tenant;
    workflowId = (await makeWorkflow(harness.db, { organizationId: tenant.organizationId })).id;
  });
  afterAll(async () => {
    await harness.close();
    await machines.close();
    await collector.stop();
  });

  const waitForSpan = (traceId: string, name: string) =>
    waitFor(`${name} of ${traceId}`, () => collector.listSpansOfTrace(traceId).find((span) => span.name === name));
  const launchJob = async (agentId: string, headers: Record<string, string> = {}) =>
    (await tenant.api.with(headers).post('/api/jobs/launch', { workflowId, agentId })).body.jobId as string;
  const waitForParentSpan = ({ traceId, parentSpanId }: CollectedSpan) =>
    waitFor(`the parent ${parentSpanId}`, () =>
      collector.listSpansOfTrace(traceId).find(({ spanId }) => spanId === parentSpanId),
    );

  it('a trace contains the delivery of a polled command and the worker’s execution', async () => {
    const { id, client } = await machines.makeOnlineAgent({ tunnel: false });
    const traceId = '0af7651916cd43dd8448eb211c80319c';
    const { commandId } = (await machines.runSnippet(id, 'pass', {}, tenant.api.with(buildTraceHeaders(traceId)))).body;
    const { commands } = (await client.get(`/api/agents/${id}/commands?wait=10`)).body;
    const { TRACEPARENT: traceparent } = commands[0].env;
    expect(traceparent).toContain(traceId);
    await client.with({ traceparent }).post(`/api/agents/${id}/commands/${commandId}/ack`);
    const done = { status: 'success', output: 'a-secret-output' };
    await client.with({ traceparent }).post(`/api/agents/${id}/commands/${commandId}/result`, done);
    const worked = await waitForSpan(traceId, 'worker snippet');
    expect(traceparent).toContain(worked.spanId);
    const pushed = await waitForParentSpan(worked);
    expect(pushed).toMatchObject({ name: 'push snippet', attributes: { 'muster.outcome': 'polled' } });
    expect(await waitForParentSpan(pushed)).toMatchObject({ name: 'POST /api/agents/:id/run-snippet' });
    expect(collector.bodies.join()).not.toContain('a-secret-output');
  });

  it('a trace belongs to the run of its launch, even if the end of another run has started that run', async () => {
    const { id, worker, client } = await machines.makeOnlineAgent();
    const [first, second] = ['aaaa651916cd43dd8448eb211c80319c', 'bbbb651916cd43dd8448eb211c80319c'];
    const before = await launchJob(id, buildTraceHeaders(first!));
    await waitFor('the first run', () => worker.received.length === 1);
    await launchJob(id, buildTraceHeaders(second!));
    await waitFor('the dispatch of the second run, which finds the agent busy', async () => {
      return (await harness.db.query('system', `SELECT FROM outbox WHERE queue = 'dispatch'`)).length === 0;
    });
    const traceparent = worker.received[0]!.env['TRACEPARENT']!;
    await client.with({ traceparent }).post('/api/job-webhook', { jobId: before, status: 'completed' });
    await waitFor('the second run', () => worker.received.length === 2);
    const started = await waitForSpan(second!, 'dispatch start');
    expect(await waitForParentSpan(started)).toMatchObject({ name: 'POST /api/jobs/launch', traceId: second });
    // The link refers to the trace whose dispatch has started the run.
    expect(started.links).toEqual([expect.objectContaining({ traceId: first })]);
    expect((await waitForSpan(first!, 'worker run')).attributes['muster.status']).toBe('completed');
  });

  it('a trace contains failed pushes, but only the successful push is the parent of the worker’s span', async () => {
    const { id, worker, client } = await machines.makeOnlineAgent();
    const traceId = 'cccc651916cd43dd8448eb211c80319c';
    let refusals = 0;
    worker.answer = () => ((refusals += 1) <= 1 ? 409 : 202);
    const jobId = await launchJob(id, buildTraceHeaders(traceId));
    await waitFor('another push', () => refusals > 1);
    await client.post('/api/job-webhook', { jobId, status: 'completed' });
    const worked = await waitForSpan(traceId, 'worker run');
    const pushes = collector.listSpansOfTrace(traceId).filter(({ name }) => name === 'push run');
    expect(pushes.map(({ attributes, error }) => [attributes['muster.outcome'], error])).toEqual([
      ['busy', 'busy'],
      ['taken', null],
    ]);
    expect(worked.parentSpanId).toBe(pushes[1]!.spanId);
  });

  it('a trace starts with each run of a schedule, and continues with the retry of the run', async () => {
    const { id, worker, client } = await machines.makeOnlineAgent();
    const body = { name: 'Nightly', scriptId: workflowId, agentId: id, cronExpression: '* * * * *', maxRetries: 1 };
    await tenant.api.post('/api/schedules', body);
    await machines.querySql(`UPDATE schedule SET next_run_at = date_trunc('minute', now())`);
    await waitFor('the run', () => worker.received.length === 1);
    const traceId = worker.received[0]!.env['TRACEPARENT']!.slice(3, 35);
    const started = await waitForSpan(traceId, 'dispatch start');
    const first = await waitForSpan(traceId, 'schedule run');
    expect(first.parentSpanId).toBeNull();
    const path = [started];
    while (path[0]!.parentSpanId) path.unshift(await waitForParentSpan(path[0]!));
    expect(path[0]).toEqual(first);
    await client.post('/api/job-webhook', { jobId: worker.received[0]!.jobId, status: 'failed', error: 'a-secret' });
    await waitFor('the retry', () => worker.received.length === 2);
    expect(worker.received[1]!.env['TRACEPARENT']).toContain(traceId);
    expect(collector.bodies.join()).not.toContain('a-secret');
  });

  it('a trace contains the webhook deliveries about its run with their responses', async () => {
    const receiver = createServer(
      (request, response) => void request.resume().on('end', () => response.writeHead(503).end()),
    );
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/a-path-of-theirs`;
    const created = await tenant.as.admin.post('/api/webhook-endpoints', { url, events: ['job.completed'] });
    expect(created.status).toBe(201);
    const { id, worker, client } = await machines.makeOnlineAgent();
    const traceId = 'ffff651916cd43dd8448eb211c80319c';
    const jobId = await launchJob(id, buildTraceHeaders(traceId));
    await waitFor('the run', () => worker.received.length === 1);
    await client.post('/api/job-webhook', { jobId, status: 'completed' });
    const delivery = await waitForSpan(traceId, 'webhook job.completed');
    expect(delivery).toMatchObject({
      error: '503',
      attributes: { 'http.response.status_code': 503, 'muster.attempt': 1 },
    });
    expect(await waitForParentSpan(delivery)).toMatchObject({ name: 'POST /api/jobs/launch' });
    expect(collector.bodies.join()).not.toContain('a-path-of-theirs');
    receiver.closeAllConnections();
    receiver.close();
  });

  it('a trace is propagated but not exported if the caller’s trace is not sampled', async () => {
    const { id, worker } = await machines.makeOnlineAgent();
    const traceId = 'dddd651916cd43dd8448eb211c80319c';
    await launchJob(id, { traceparent: `00-${traceId}-b7ad6b7169203331-00` });
    await waitFor('the push', () => worker.received.length === 1);
    expect(worker.received[0]!.env['TRACEPARENT']).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-00$`));
    // A later trace that is sampled is exported, so the first one would have arrived by now.
    await machines.runSnippet(id, 'pass', {}, tenant.api.with(buildTraceHeaders('eeee651916cd43dd8448eb211c80319c')));
    await waitForSpan('eeee651916cd43dd8448eb211c80319c', 'push snippet');
    expect(collector.listSpansOfTrace(traceId)).toEqual([]);
  });
});
