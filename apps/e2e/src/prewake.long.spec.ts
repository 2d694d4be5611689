// This test is long because it waits for a schedule through six processes.
// A short test of the same code: libs/schedules/src/prewake/prewake-machines.spec.ts
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePort, HttpClient, isLongRun, waitFor } from '@muster/testing';
import { findProcesses, Start } from './npm-start';

jest.setTimeout(240_000);

/** Only in the long form, because it waits for minutes of the real clock. The specs of the library fake the clock. */
const describeInMinutes = isLongRun() ? describe : describe.skip;

describeInMinutes('a schedule of an agent whose machine is off', () => {
  let dataDir: string;
  let service: Start;
  let admin: HttpClient;

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'muster-prewake-'));
    const port = await findFreePort();
    service = new Start(['--port', String(port), '--data-dir', dataDir]);
    await service.waitUntilReady();
    const [, email, password] = /admin +(\S+@\S+) +(\S+)/.exec(service.output)!;
    admin = await new HttpClient(`http://127.0.0.1:${port}`).signIn(email!, password!);
  });
  afterAll(async () => {
    await service?.endStart('SIGTERM');
    await waitFor('all processes to end', () => findProcesses(dataDir).length === 0);
    await rm(dataDir, { recursive: true, force: true });
  });

  it('a schedule wakes its machine early, starts the run in time, and records the reason', async () => {
    const example = async () => (await admin.get('/api/jobs')).body.jobs[0];
    await waitFor('the run of the example', async () => (await example())?.finishedAt, 60_000);
    const { id: agentId } = (await admin.get('/api/agents')).body.agents[0];
    const script = "print('claims')";
    const { id: scriptId } = (await admin.post('/api/workflows', { name: 'Claims', script })).body;
    const agent = async () => (await admin.get(`/api/agents/${agentId}`)).body;
    const becomes = (status: string) => waitFor(status, async () => (await agent()).status === status, 60_000);
    await becomes('online');
    const stopped = await admin.post(`/api/agent/${agentId}/action`, { action: 'stop' });
    expect([stopped.status, stopped.body.code]).toEqual([200, undefined]);
    await becomes('stopped');
    // The boot time was measured at the first start. 20 seconds are enough for the wake before the next full minute.
    await waitFor('the first 40 seconds of a minute', () => new Date().getSeconds() < 40, 30_000);
    const created = await admin.post('/api/schedules', {
      name: 'Nightly claims',
      scriptId,
      agentId,
      cronExpression: '* * * * *',
    });
    expect(created.status).toBe(201);
    const { id, nextRunAt } = created.body;
    expect((await agent()).why).toContain(`expects the run of Nightly claims at ${nextRunAt}, and is woken for it at`);

    const runs = async () => (await admin.get(`/api/schedules/${id}`)).body.recentRuns;
    await waitFor('the run', async () => (await runs()).length > 0, 90_000);
    await admin.delete(`/api/schedules/${id}`);
    const [run] = await runs();
    expect(run).toMatchObject({ nominalAt: nextRunAt, outcome: 'launched' });
    const job = async () => (await admin.get(`/api/jobs/${run.jobId}`)).body;
    await waitFor('the end of the run', async () => (await job()).finishedAt !== null, 60_000);

    const { entries } = (await admin.get(`/api/agents/${agentId}/logs?kind=lifecycle&order=asc`)).body;
    const at = entries.findIndex(({ data }: any) => data.reason === 'prewake');
    const [woken, ready] = entries.slice(at, at + 2);
    expect(woken).toMatchObject({
      source: 'schedule',
      data: {
        eventType: 'wake_requested',
        reason: 'prewake',
        previousStatus: 'stopped',
        scheduleId: id,
        runAt: nextRunAt,
      },
    });
    expect(ready.data.eventType).toBe('wake_ready');
    const time = (text: string) => new Date(text).getTime();
    expect(time(woken.timestamp)).toBeLessThan(time(nextRunAt));
    expect(time(ready.timestamp)).toBeLessThan(time(nextRunAt));
    expect(time((await job()).startedAt) - time(nextRunAt)).toBeLessThan(5000);
    // The machine was ready, so the run itself requested no wake.
    expect(entries.slice(at).filter(({ data }: any) => data.eventType === 'wake_requested')).toHaveLength(1);
  });
});
