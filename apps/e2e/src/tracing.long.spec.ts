// This test is long because it follows one trace through the six apps.
// A short test of the same code: apps/standalone/src/traces.spec.ts
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serviceApps, type ServiceApp } from '@muster/contracts';
import {
  cloneDatabase,
  type ClonedDatabase,
  type CollectedSpan,
  HttpClient,
  killAll,
  findProcesses,
  buildTestEnvironment,
  testPassword,
  TraceCollector,
  waitFor,
} from '@muster/testing';
import { Client } from 'pg';
import { root, ServiceProcess } from './service-process';

jest.setTimeout(180_000);

const script = `
import os, pathlib, time
import muster
with muster.step("Open the portal"):
    print("password", os.environ["PORTAL_PASSWORD"])
with muster.step("Read " + os.environ["CLAIM_ID"] + " with " + os.environ["PORTAL_PASSWORD"]):
    pathlib.Path(os.environ["MARKS"], os.environ["MUSTER_JOB_ID"]).touch()
    while os.environ["HOLD"] == "yes" and not pathlib.Path(os.environ["MARKS"], "go").exists():
        time.sleep(0.05)
    muster.result({"claim": os.environ["CLAIM_ID"]})
`;
const secret = 'a-sealed-password-of-a-portal';
const claim = 'C-1042-of-a-patient';
const caller = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' };

describe('one trace of one run, across the six apps and the worker', () => {
  const services = new Map<ServiceApp, ServiceProcess>();
  let database: ClonedDatabase;
  let collector: TraceCollector;
  let folder: string;
  let admin: HttpClient;
  let workerEnv: NodeJS.ProcessEnv;
  let worker: ChildProcess;
  let ids: { workflowId: string; agentId: string };
  let workerKey: string;

  beforeAll(async () => {
    [database, collector] = await Promise.all([cloneDatabase(), TraceCollector.start()]);
    folder = mkdtempSync(join(tmpdir(), 'muster-trace-'));
    mkdirSync(join(folder, 'marks'));
    const env = buildTestEnvironment(database.url, {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=muster%20of%20tests',
      OTEL_BSP_SCHEDULE_DELAY: '50',
      // The sweep must not start the run, because the trace of the run must contain the message of the launch.
      DISPATCH_SWEEP_MS: '600000',
      PUBLIC_APP_URL: undefined,
      OUTBOUND_ALLOW: '127.0.0.0/8',
      BOOTSTRAP_ORGANIZATION: 'Traced',
      BOOTSTRAP_ADMIN_EMAIL: 'admin@example.com',
      BOOTSTRAP_ADMIN_PASSWORD: testPassword,
    });
    for (const app of serviceApps) services.set(app, await ServiceProcess.start(app, env));
    admin = await new HttpClient(services.get('gateway')!.url).signIn('admin@example.com', testPassword);
    await admin.put('/api/vault/PORTAL_PASSWORD', { value: secret });
    const created = await admin.post('/api/agents', { name: 'Traced', provider: 'external' });
    const variables = ['CLAIM_ID', 'HOLD', 'MARKS'];
    const workflow = await admin.post('/api/workflows', { name: 'Traced', script, variables });
    ids = { workflowId: workflow.body.id, agentId: created.body.agent.id };
    workerKey = created.body.workerKey;
    workerEnv = {
      PATH: process.env['PATH'],
      SERVICE_BASE_URL: services.get('ingest')!.url,
      SERVICE_API_KEY: workerKey,
      AGENT_ID: ids.agentId,
      MUSTER_WORKER_DIR: join(folder, 'worker'),
    };
    startWorker();
    await waitFor(
      'the agent to be online',
      async () => (await admin.get(`/api/agents/${ids.agentId}`)).body.status === 'online',
      60_000,
    );
    await waitFor(
      'the dispatch message of the new agent to be handled, because it could start the run too',
      isOutboxEmpty,
    );
  });
  afterAll(async () => {
    worker?.kill('SIGKILL');
    await Promise.all([...services.values()].map((service) => service.end()));
    await collector?.stop();
    killAll(findProcesses(folder));
    await database?.drop();
    rmSync(folder, { recursive: true, force: true, maxRetries: 20 });
  });

  async function isOutboxEmpty(): Promise<boolean> {
    const client = new Client({ connectionString: database.url });
    await client.connect();
    const { rowCount } = await client.query('SELECT FROM outbox').finally(() => client.end());
    return rowCount === 0;
  }

  function startWorker(): void {
    worker = spawn(process.execPath, [join(root, 'dist/apps/worker/src/main.js')], { env: workerEnv, stdio: 'ignore' });
  }

  async function launchTracedJob(traceId: string, hold: 'yes' | 'no'): Promise<string> {
    const traceparent = `00-${traceId}-${caller.spanId}-01`;
    const variables = { CLAIM_ID: claim, HOLD: hold, MARKS: join(folder, 'marks') };
    const answer = await admin
      .with({ traceparent, 'x-request-id': 'traced-request' })
      .post('/api/jobs/launch', { ...ids, variables, vaultKeys: ['PORTAL_PASSWORD'] });
    expect(answer.status).toBeLessThan(300);
    return answer.body.jobId;
  }

  /** Waits until all spans of the trace have arrived. */
  const waitForWholeTrace = (traceId: string) =>
    waitFor(
      'the last span of the trace',
      () => {
        const spans = collector.listSpansOfTrace(traceId);
        return spans.some(({ name }) => name === 'metering job-finished') && isTraceWhole(spans) && spans;
      },
      60_000,
    );
  const isTraceWhole = (spans: CollectedSpan[]) =>
    spans.every(
      ({ parentSpanId: parent }) => parent === caller.spanId || spans.some(({ spanId }) => spanId === parent),
    );
  const filterSpansByName = (spans: CollectedSpan[], name: string) => spans.filter((span) => span.name === name);
  /** The names of the spans from the root of the trace to this span. */
  function getSpanPath(spans: CollectedSpan[], span: CollectedSpan): string[] {
    const parent = spans.find(({ spanId }) => spanId === span.parentSpanId);
    return parent ? [...getSpanPath(spans, parent), span.name] : [span.name];
  }

  it('a trace leads from the launch request through outbox, queue, dispatch, push and worker to metering', async () => {
    const jobId = await launchTracedJob(caller.traceId, 'no');
    const spans = await waitForWholeTrace(caller.traceId);
    const request = filterSpansByName(spans, 'POST /api/jobs/launch');
    expect(request).toEqual([
      expect.objectContaining({ parentSpanId: caller.spanId, service: 'muster-gateway', error: null }),
    ]);
    expect(request[0]!.attributes).toMatchObject({
      'muster.request_id': 'traced-request',
      'http.request.method': 'POST',
    });
    const toWorker = [
      'POST /api/jobs/launch',
      'outbox dispatch.dispatch-agent',
      'queue dispatch.dispatch-agent',
      'dispatch dispatch-agent',
      'dispatch start',
      'push run',
      'worker run',
    ];
    const [run] = filterSpansByName(spans, 'worker run');
    expect(filterSpansByName(spans, 'worker run')).toHaveLength(1);
    expect(getSpanPath(spans, run!)).toEqual(toWorker);
    expect(run).toMatchObject({ service: 'muster-ingest', error: null });
    expect(run!.attributes).toMatchObject({ 'muster.job_id': jobId, 'muster.status': 'completed' });
    const steps = spans.filter(({ name }) => name.startsWith('step '));
    expect(steps.map(({ name }) => name).sort()).toEqual([
      'step Open the portal',
      expect.stringMatching(/^step Read … with /),
    ]);
    for (const step of steps) expect(getSpanPath(spans, step)).toEqual([...toWorker, step.name]);
    const [metered] = filterSpansByName(spans, 'metering job-finished');
    expect(getSpanPath(spans, metered!)).toEqual([
      ...toWorker,
      'POST /api/job-webhook',
      'outbox metering.job-finished',
      'queue metering.job-finished',
      'metering job-finished',
    ]);
    expect(metered!.service).toBe('muster-metering');
    expect(filterSpansByName(spans, 'dispatch start')[0]!.service).toBe('muster-dispatcher');
    expect(filterSpansByName(spans, 'push run')[0]!.attributes['muster.outcome']).toMatch(/^(taken|polled)$/);
    expect(spans.filter(({ error }) => error !== null)).toEqual([]);
    // One second of tolerance, because the times come from the database and from the worker.
    for (const step of steps) expect(step.startMs).toBeGreaterThanOrEqual(run!.startMs - 1000);
    expect(collector.faults).toEqual([]);
    expect(collector.headers[0]).toMatchObject({ 'x-tenant': 'muster of tests' });
  });

  it('a trace contains no secret and no value of a variable, not even in the names of its spans', async () => {
    const sent = collector.bodies.join('\n');
    expect(sent).toContain('step Open the portal');
    const cookie = admin.headers['cookie']!.split('=')[1]!;
    for (const hidden of [secret, claim, folder, workerKey, cookie, testPassword]) expect(sent).not.toContain(hidden);
    for (const { attributes } of collector.spans) {
      expect(Object.keys(attributes).length).toBeLessThan(16);
      for (const value of Object.values(attributes)) expect(String(value).length).toBeLessThanOrEqual(256);
    }
  });

  it('the gateway and ingest write the trace id of a traced request in their log lines', () => {
    for (const app of ['gateway', 'ingest'] as const) {
      const lines = services
        .get(app)!
        .output.split('\n')
        .filter((line) => line.includes(caller.traceId));
      expect([app, lines.length > 0]).toEqual([app, true]);
      for (const line of lines) expect(JSON.parse(line)).toMatchObject({ traceId: caller.traceId });
    }
  });

  it('a run keeps its one trace if the worker is killed in the middle of the run', async () => {
    const traceId = 'c0ffee00000000000000000000000001';
    const jobId = await launchTracedJob(traceId, 'yes');
    const mark = join(folder, 'marks', jobId);
    await waitFor('the script to start', () => existsSync(mark), 60_000);
    worker.kill('SIGKILL');
    startWorker();
    writeFileSync(join(folder, 'marks', 'go'), '');
    const spans = await waitForWholeTrace(traceId);
    expect(filterSpansByName(spans, 'worker run')).toHaveLength(1);
    expect(spans.filter(({ name }) => name.startsWith('step '))).toHaveLength(2);
    expect(getSpanPath(spans, filterSpansByName(spans, 'metering job-finished')[0]!)).toEqual(
      expect.arrayContaining(['push run', 'worker run', 'POST /api/job-webhook']),
    );
  });

  it('a trace contains the worker’s span even if the worker does not end the run', async () => {
    rmSync(join(folder, 'marks', 'go'));
    const traceId = 'c0ffee00000000000000000000000002';
    const jobId = await launchTracedJob(traceId, 'yes');
    await waitFor(
      'the run to start',
      async () => (await admin.get(`/api/jobs/${jobId}`)).body.status === 'running',
      60_000,
    );
    await admin.post(`/api/jobs/${jobId}/cancel`);
    const spans = await waitForWholeTrace(traceId);
    expect(filterSpansByName(spans, 'worker run')[0]!.attributes['muster.status']).toBe('cancelled');
  });
});
