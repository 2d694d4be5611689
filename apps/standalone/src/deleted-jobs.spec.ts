import { type ChildProcess, spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { newId } from '@muster/platform';
import {
  FakeMachines,
  type Harness,
  type HttpClient,
  killAll,
  makeJob,
  makeWorkflow,
  findProcesses,
  startHarness,
  type Tenant,
  waitFor,
} from '@muster/testing';
import { standalone } from './standalone';

const workerProgram = resolve(__dirname, '../../../dist/apps/worker/src/main.js');

interface File {
  key: string;
  put(): Promise<boolean>;
  isObjectStored(): Promise<boolean>;
}

describe('a deleted job', () => {
  let harness: Harness;
  let machines: FakeMachines;
  let tenant: Tenant;

  beforeAll(async () => {
    const env = { OUTBOUND_ALLOW: '127.0.0.0/8', COMMAND_SWEEP_MS: '50', OUTBOX_SWEEP_MS: '100', PUBLIC_APP_URL: '' };
    harness = await startHarness({ ...standalone, env });
    machines = await FakeMachines.create(harness);
    tenant = machines.tenant;
  });
  afterAll(async () => {
    await harness.close();
    await machines.close();
  });

  const querySql = (text: string, values?: unknown[]) => machines.querySql(text, values);
  const deleteJob = (id: string, client: HttpClient = tenant.as.member) => client.delete(`/api/jobs/${id}`);
  const reportClaims = (id: string, client: HttpClient, signingSecret = machines.signingSecret) => {
    const body = JSON.stringify({ claimResults: [{ claimId: 'C-1', outcome: 'failed' }] });
    const t = Math.floor(Date.now() / 1000);
    const mac = createHmac('sha256', signingSecret).update(`${t}.${id}.${body}`).digest('hex');
    return client
      .with({ 'x-service-signature': `t=${t},v1=${mac}` })
      .send('POST', `/api/jobs/${id}/claim-results`, body);
  };
  const buildLogLine = (jobId: string, seq: number) => ({
    jobId,
    level: 'info',
    message: `line ${seq}`,
    timestamp: 1,
    seq,
  });
  /** Sends every kind of report that a worker can send about a job. */
  const sendAllReports = (id: string, agentId: string, client: HttpClient) => [
    client.post('/api/job-webhook', { jobId: id, status: 'running' }),
    client.post('/api/job-webhook', { jobId: id, progress: 7 }),
    client.post('/api/job-webhook', { jobId: id, status: 'completed', totalCostUsd: 3 }),
    client.post(`/api/agents/${agentId}/step-status`, { jobId: id, stepOrder: 1, status: 'passed' }),
    client.post('/api/job-logs', { logs: [buildLogLine(id, 1)] }),
    reportClaims(id, client),
  ];
  /** Returns the table columns that still contain the job's id, except in the tables of usage and costs. */
  const listColumnsWithId = async (id: string) => {
    const tables = await querySql(
      `SELECT table_name AS name, column_name AS col FROM information_schema.columns
       WHERE table_schema = 'public' AND data_type = 'uuid' AND column_name IN ('job_id', 'last_run_job_id', 'retry_of')
         AND table_name NOT LIKE 'timeline_entry_%' AND table_name NOT IN ('usage_event', 'run_cost_component')`,
    );
    const left: string[] = [];
    for (const { name, col } of tables) {
      if ((await querySql(`SELECT FROM ${name} WHERE ${col} = $1`, [id])).length > 0) left.push(`${name}.${col}`);
    }
    return left.sort();
  };

  async function makeEndedJob() {
    const { organizationId } = tenant;
    const { id: agentId, client } = await machines.makeOnlineAgent();
    const { id, workflowId } = await makeJob(harness.db, {
      organizationId,
      agentId,
      status: 'completed',
      startedAt: new Date('2026-03-01T10:00:00Z'),
      finishedAt: new Date('2026-03-01T10:30:00Z'),
    });
    await querySql(
      `INSERT INTO job_step (job_id, step_order, organization_id, status, state_key) VALUES ($1, 1, $2, 'passed', 1)`,
      [id, organizationId],
    );
    await client.post('/api/job-logs', { logs: [buildLogLine(id, 1)] });
    await reportClaims(id, client);
    const files = [];
    for (const [filename, jobId] of [['a.png', id], ['b.png'], ['c.png']]) {
      const upload = { jobId, filename, contentType: 'image/png', size: 3 };
      const { body: ticket } = await client.post(`/api/agents/${agentId}/uploads`, upload);
      const putScreenshot = async () =>
        (await fetch(ticket.uploadUrl, { method: 'PUT', headers: ticket.headers, body: 'png' })).ok;
      expect(await putScreenshot()).toBe(true);
      const [artifact] = await querySql('SELECT id FROM artifact WHERE storage_key = $1', [ticket.key]);
      const { downloadUrl } = (await tenant.api.get(`/api/artifacts/${artifact.id}`)).body;
      const isObjectStored = async () => (await fetch(downloadUrl)).status !== 404;
      expect(await isObjectStored()).toBe(true);
      files.push({ key: ticket.key as string, put: putScreenshot, isObjectStored });
    }
    const [own, screenshot, other] = files as [File, File, File];
    await querySql('UPDATE job SET screenshot_key = $2 WHERE id = $1', [id, screenshot.key]);
    return { id, agentId, client, workflowId, own, screenshot, other };
  }

  it('the deletion of a job deletes its steps, logs, claims and files, but not its costs', async () => {
    const { id, agentId, client, workflowId, own, screenshot, other } = await makeEndedJob();
    await client.post('/api/agents/' + agentId + '/step-status', { jobId: id, stepOrder: 2, status: 'passed' });
    await querySql(
      `INSERT INTO timeline_entry (agent_id, seq, organization_id, kind, message, job_id) VALUES ($1, 1000, $2, 'lifecycle', 'woken', $3)`,
      [agentId, tenant.organizationId, id],
    );
    const schedule = await tenant.api.post('/api/schedules', {
      name: 'S',
      scriptId: workflowId,
      agentId,
      cronExpression: '0 6 1 1 *',
    });
    await querySql('UPDATE schedule SET last_run_job_id = $2 WHERE id = $1', [schedule.body.id, id]);
    const retry = await makeJob(harness.db, { organizationId: tenant.organizationId, retryOf: id });

    expect((await deleteJob(id)).status).toBe(204);
    expect((await tenant.api.get(`/api/jobs/${id}`)).status).toBe(404);
    expect((await tenant.api.get(`/api/jobs/${id}/steps`)).status).toBe(404);
    expect((await tenant.api.get(`/api/schedules/${schedule.body.id}`)).body.lastRunJobId).toBeNull();
    expect((await tenant.api.get(`/api/jobs/${retry.id}`)).body.retryOf).toBeNull();
    await waitFor(
      'the objects to be removed',
      async () => !(await own.isObjectStored()) && !(await screenshot.isObjectStored()),
    );
    expect(await other.isObjectStored()).toBe(true);
    // The removal stays pending, because an upload that was allowed before the deletion can still arrive.
    expect(await listColumnsWithId(id)).toEqual(
      ['deleted_job.job_id', 'object_removal.job_id', 'timeline_entry.job_id'].sort(),
    );
    const kinds = await querySql('SELECT DISTINCT kind FROM timeline_entry WHERE job_id = $1', [id]);
    expect(kinds).toEqual([{ kind: 'lifecycle' }]);
    expect(
      await querySql('SELECT sum(amount_micros)::int AS micros FROM run_cost_component WHERE job_id = $1', [id]),
    ).toEqual([{ micros: 60_000 }]);
    const usage = await tenant.api.get('/api/usage?month=2026-03');
    expect(usage.body.spendUsd).toBeCloseTo(0.06, 6);
    expect((await deleteJob(id)).status).toBe(404);
  });

  it('an object that was uploaded after the deletion of its job is removed once uploads have expired', async () => {
    const { id, own } = await makeEndedJob();
    expect((await deleteJob(id)).status).toBe(204);
    await waitFor('the object to be removed', async () => !(await own.isObjectStored()));
    expect([await own.put(), await own.isObjectStored()]).toEqual([true, true]);
    await querySql(`UPDATE object_removal SET last_arrival_at = now() - interval '1 second' WHERE job_id = $1`, [id]);
    await harness.db.transaction('system', (tx) =>
      tx.enqueue({ queue: 'metering', name: 'remove-objects', payload: { jobId: id } }),
    );
    await waitFor('the late object to be removed', async () => !(await own.isObjectStored()));
    await waitFor(
      'the removal rows to be deleted',
      async () => !(await listColumnsWithId(id)).includes('object_removal.job_id'),
    );
  });

  it('reports about a deleted job are answered with job_over to its organization’s workers and with 404 to all others', async () => {
    const { id, agentId, client } = await makeEndedJob();
    expect((await deleteJob(id)).status).toBe(204);
    const before = await listColumnsWithId(id);
    const answers = await Promise.all([
      ...sendAllReports(id, agentId, client),
      ...sendAllReports(id, agentId, tenant.worker),
      reportClaims(id, harness.http),
    ]);
    for (const { status, body } of answers)
      expect([status, body]).toEqual([200, { accepted: false, reason: 'job_over' }]);

    const live = await makeJob(harness.db, { organizationId: tenant.organizationId, agentId, status: 'running' });
    const mixed = await client.post('/api/job-logs', {
      logs: [buildLogLine(id, 1), buildLogLine(live.id, 1), buildLogLine(live.id, 2)],
    });
    expect([mixed.status, mixed.body]).toEqual([200, { accepted: 2 }]);

    const other = await harness.makeTenant();
    const { id: otherAgent, client: colleague } = await machines.makeOnlineAgent();
    const otherSecret = (await other.as.admin.get('/api/organization/signing-secret')).body.signingSecret;
    for (const { status } of await Promise.all([
      ...sendAllReports(id, agentId, other.worker),
      reportClaims(id, other.worker, otherSecret),
      ...sendAllReports(id, otherAgent, colleague),
    ])) {
      expect(status).toBe(404);
    }
    expect((await reportClaims(id, harness.http, otherSecret)).status).toBe(401);
    expect((await deleteJob(id, other.as.admin)).status).toBe(404);
    expect(await listColumnsWithId(id)).toEqual(before);
  });

  it('reports that race with the deletion of their job store nothing', async () => {
    for (let round = 0; round < 5; round += 1) {
      const { id, agentId, client } = await makeEndedJob();
      const racing = [deleteJob(id), ...sendAllReports(id, agentId, client), ...sendAllReports(id, agentId, client)];
      const statuses = (await Promise.all(racing)).map(({ status }) => status);
      expect(statuses.filter((status) => status >= 300)).toEqual([]);
      expect((await listColumnsWithId(id)).filter((name) => !/^(deleted_job|object_removal)\./.test(name))).toEqual([]);
    }
  });

  it('the deletion of a queued job cancels it without a stop command for its worker', async () => {
    const { id: workflowId } = await makeWorkflow(harness.db, { organizationId: tenant.organizationId });
    const { id: agentId, worker } = await machines.makeOnlineAgent();
    await querySql(`UPDATE agent SET status = 'offline' WHERE id = $1`, [agentId]);
    const { jobId } = (await tenant.api.post('/api/jobs/launch', { workflowId, agentId })).body;
    expect((await deleteJob(jobId)).status).toBe(204);
    expect(worker.received.filter(({ kind }) => kind === 'stop_job')).toEqual([]);
    const usage = await querySql("SELECT outcome FROM usage_event WHERE job_id = $1 AND kind = 'run'", [jobId]);
    expect(usage).toEqual([{ outcome: 'cancelled' }]);
  });

  describe('a job that is deleted during its run', () => {
    let folder: string;
    let child: ChildProcess;
    let agentId: string;

    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'muster-worker-'));
      const created = await tenant.as.admin.post('/api/agents', { name: newId(), provider: 'external' });
      agentId = created.body.agent.id;
      child = spawn(process.execPath, [workerProgram], {
        env: {
          PATH: process.env['PATH']!,
          SERVICE_BASE_URL: harness.url,
          SERVICE_API_KEY: created.body.workerKey,
          AGENT_ID: agentId,
          MUSTER_WORKER_DIR: folder,
        },
        stdio: 'ignore',
      });
      await waitFor(
        'the worker to be online',
        async () => (await tenant.api.get(`/api/agents/${agentId}/status`)).body.status === 'online',
      );
    });
    afterAll(() => {
      child.kill('SIGKILL');
      killAll(findProcesses(folder));
      rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
    });

    it('the worker runs the next job after the deletion of a running job has killed its script', async () => {
      const { organizationId } = tenant;
      const mark = join(folder, 'mark');
      const script = `import os, time\nopen(${JSON.stringify(mark)}, "w").write(str(os.getpid()))\nwhile True:\n    print("on and on", flush=True)\n    time.sleep(0.02)\n`;
      const { id: workflowId } = await makeWorkflow(harness.db, { organizationId, script });
      const { jobId } = (await tenant.api.post('/api/jobs/launch', { workflowId, agentId, maxRetries: 3 })).body;
      await waitFor('the script to start', () => existsSync(mark) && readFileSync(mark, 'utf8') !== '');
      await waitFor(
        'the job to be running',
        async () => (await tenant.api.get(`/api/jobs/${jobId}`)).body.status === 'running',
      );
      const pid = Number(readFileSync(mark, 'utf8'));
      expect((await deleteJob(jobId)).status).toBe(204);
      const { id: quick } = await makeWorkflow(harness.db, { organizationId, script: 'print(1)\n' });
      const next = (await tenant.api.post('/api/jobs/launch', { workflowId: quick, agentId })).body.jobId;
      await waitFor('the script to end', () => !existsSync(`/proc/${pid}`));
      await waitFor(
        'the next job to complete',
        async () => (await tenant.api.get(`/api/jobs/${next}`)).body.status === 'completed',
      );
      expect(await querySql('SELECT clearing_command_id AS id FROM agent WHERE id = $1', [agentId])).toEqual([
        { id: null },
      ]);
      const usage = await querySql('SELECT outcome FROM usage_event WHERE job_id = $1', [jobId]);
      expect(usage).toContainEqual({ outcome: 'cancelled' });
      expect((await listColumnsWithId(jobId)).filter((name) => !/^deleted_job\./.test(name))).toEqual([]);
      const left = await tenant.api.get(`/api/jobs?agentId=${agentId}`);
      expect(left.body.jobs.map(({ id }: { id: string }) => id)).toEqual([next]);
    });
  });
});
