// This test is long because it waits for a schedule through six processes.
// A short test of the same code: libs/schedules/src/prewake/prewake-machines.spec.ts
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePort, HttpClient, isLongRun, waitFor } from '@muster/testing';
import { findProcesses, Start } from './npm-start';

jest.setTimeout(240_000);

/**
 * Runs these tests only in the long form, because they wait for minutes of the real clock. The specs of the library
 * fake the clock.
 */
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
    const readExampleRun = async () => (await admin.get('/api/jobs')).body.jobs[0];
    await waitFor('the run of the example', async () => (await readExampleRun())?.finishedAt, 60_000);
    const { id: agentId } = (await admin.get('/api/agents')).body.agents[0];
    const script = "print('claims')";
    const { id: scriptId } = (await admin.post('/api/workflows', { name: 'Claims', script })).body;
    const readAgent = async () => (await admin.get(`/api/agents/${agentId}`)).body;
    const waitForAgentStatus = (status: string) =>
      waitFor(status, async () => (await readAgent()).status === status, 60_000);
    await waitForAgentStatus('online');
    const stopped = await admin.post(`/api/agent/${agentId}/action`, { action: 'stop' });
    expect([stopped.status, stopped.body.code]).toEqual([200, undefined]);
    await waitForAgentStatus('stopped');
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
    expect((await readAgent()).why).toContain(
      `expects the run of Nightly claims at ${nextRunAt}, and is woken for it at`,
    );

    const readRecentRuns = async () => (await admin.get(`/api/schedules/${id}`)).body.recentRuns;
    await waitFor('the run', async () => (await readRecentRuns()).length > 0, 90_000);
    await admin.delete(`/api/schedules/${id}`);
    const [run] = await readRecentRuns();
    expect(run).toMatchObject({ nominalAt: nextRunAt, outcome: 'launched' });
    const readJob = async () => (await admin.get(`/api/jobs/${run.jobId}`)).body;
    await waitFor('the end of the run', async () => (await readJob()).finishedAt !== null, 60_000);

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
    const parseTime = (text: string) => new Date(text).getTime();
    expect(parseTime(woken.timestamp)).toBeLessThan(parseTime(nextRunAt));
    expect(parseTime(ready.timestamp)).toBeLessThan(parseTime(nextRunAt));
    expect(parseTime((await readJob()).startedAt) - parseTime(nextRunAt)).toBeLessThan(5000);
    // The machine was ready, so the run itself requested no wake.
    expect(entries.slice(at).filter(({ data }: any) => data.eventType === 'wake_requested')).toHaveLength(1);
  });
});
