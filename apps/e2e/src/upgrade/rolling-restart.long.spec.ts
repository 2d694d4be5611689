// This test is long because it restarts processes again and again while runs are launched.
// A short test of the same code: apps/e2e/src/services.spec.ts
import type { ServiceApp } from '@muster/contracts';
import { Muster } from '@muster/sdk';
import { chooseSize, waitFor } from '@muster/testing';
import { setTimeout as sleep } from 'node:timers/promises';
import { isServiceQuiet } from '../chaos/chaos-figures';
import { ChaosStage } from '../chaos/chaos-stage';
import { createSeededRandom } from '../seed';
import type { ServiceProcess } from '../service-process';

jest.setTimeout(600_000);

const restarts = chooseSize('ROLLING_RESTARTS', { short: 1, long: 3 });
const agents = 6;
const launchEveryMs = 300;
/** Time until a load balancer has removed a stopping process from its list. */
const balancerMs = 500;
const maxDelayMs = 2000;

interface Load {
  isOn: boolean;
  launched: string[];
  failures: string[];
}

describe('a rolling restart', () => {
  const random = createSeededRandom();
  let stage: ChaosStage;
  let muster: Muster;
  const replicas: ServiceProcess[] = [];

  beforeAll(async () => {
    stage = await ChaosStage.open(random);
    stage.network.isCalm = true;
    await stage.startWorkers(0, agents);
    const { secret } = (await stage.requestUntilAccepted('POST', '/api/api-keys', { name: 'Load', scope: 'api' })).body;
    muster = new Muster({ baseUrl: stage.network.url, apiKey: secret });
  });
  afterAll(async () => {
    await Promise.all(replicas.map((replica) => replica.end('SIGKILL')));
    await stage?.close();
  });

  it.each(['gateway', 'ingest', 'dispatcher'] as const)(
    'SIGTERM of one of two processes of %s under load fails no request and delays no run by more than 2 s',
    async (app) => {
      replicas.push(await stage.startReplica(app));
      // The launch delay without a restart is measured first, because it depends on the machine that runs the test.
      const undisturbed = Math.max(...(await measureDelaysDuring(() => sleep(4000))));
      const delays = await measureDelaysDuring(async () => {
        for (let n = 0; n < restarts; n += 1) await restartOldest(app);
        await sleep(2000);
      });
      process.stdout.write(
        `${app} restarted ${restarts} times (seed ${random.seed}): ${delays.length} runs, worst delay ${Math.max(...delays)} ms, undisturbed ${undisturbed} ms\n`,
      );
      expect(delays.filter((ms) => ms > undisturbed + maxDelayMs)).toEqual([]);
    },
  );

  /** Launches runs during the work. Returns the delay of each; none of their requests may have failed. */
  async function measureDelaysDuring(work: () => Promise<void>): Promise<number[]> {
    const load: Load = { isOn: true, launched: [], failures: [] };
    const launching = launchWhile(load);
    await work().finally(() => (load.isOn = false));
    await launching;
    await waitFor('all runs to end', () => isServiceQuiet(stage.fixture), 60_000);
    expect(load.failures).toEqual([]);
    expect(load.launched.length).toBeGreaterThan(5);
    const delays = await readStartDelays(load.launched);
    expect(delays).toHaveLength(load.launched.length);
    return delays;
  }

  /** Launches runs on free agents, and reads each until it has ended. */
  async function launchWhile(load: Load): Promise<void> {
    const free = stage.simulated.map(({ agent }) => agent.agentId);
    const open: Promise<unknown>[] = [];
    const variables = { CHAOS_LINES: '5', CHAOS_HOLD: '0', CHAOS_FAIL: '', CHAOS_STARTS: '' };
    const runOn = async (agentId: string) => {
      const { jobId } = await muster.jobs.launch({ workflowId: stage.workflowId, agentId, variables });
      load.launched.push(jobId);
      while ((await muster.jobs.get(jobId)).status !== 'completed') await sleep(100);
      free.push(agentId);
    };
    for (; load.isOn; await sleep(launchEveryMs)) {
      const agentId = free.shift();
      if (agentId) open.push(runOn(agentId).catch((error: Error) => load.failures.push(error.message)));
    }
    await Promise.all(open);
  }

  /** Stops the process that has run for the longest time, and starts a new one. */
  async function restartOldest(app: ServiceApp): Promise<void> {
    await sleep(1000);
    const [oldest, ...others] = stage.network.apps.get(app)!;
    const processes = [stage.services.get(app)!, ...replicas];
    const stopping = processes.find(({ url }) => url === oldest)!;
    const ended = stopping.end('SIGTERM');
    await sleep(balancerMs);
    stage.network.apps.set(app, others);
    expect(await ended).toBe(0);
    replicas.push(await stage.startReplica(app));
  }

  /** Milliseconds from the launch of each run to its start on its machine. */
  async function readStartDelays(jobIds: string[]): Promise<number[]> {
    const rows = await stage.fixture.query<{ id: string; at: string }>(
      'SELECT id, EXTRACT(epoch FROM queued_at) * 1000 AS at FROM job WHERE id = ANY($1)',
      [jobIds],
    );
    const queuedAt = new Map(rows.map(({ id, at }) => [id, Number(at)]));
    return stage.starts
      .filter(({ jobId }) => queuedAt.has(jobId))
      .map(({ jobId, at }) => Math.round(at * 1000 - queuedAt.get(jobId)!));
  }
});
