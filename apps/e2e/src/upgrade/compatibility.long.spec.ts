// This test is long because it builds the last release and runs jobs while its apps and the new ones replace each other.
// A short test of the same code: apps/e2e/src/services.spec.ts
import type { ServiceApp } from '@muster/contracts';
import { migrateDatabase } from '@muster/database';
import { waitFor } from '@muster/testing';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { countFigures, isServiceQuiet } from '../chaos/chaos-figures';
import { ChaosStage } from '../chaos/chaos-stage';
import { createSeededRandom } from '../seed';
import { root } from '../service-process';
import { buildLastRelease, type LastRelease } from './last-release';

jest.setTimeout(1_200_000);

/** Number of runs that must be launched, and of runs that must end, before the next app is replaced. */
const runsBetween = 4;

/**
 * Time that an app keeps serving before it is stopped, like `preStopSeconds` of the chart. The last release refuses
 * requests that arrive while it stops.
 */
const preStopMs = 1000;

describe('this version next to the last release', () => {
  const random = createSeededRandom();
  let release: LastRelease;
  let stage: ChaosStage;
  let launched = 0;

  beforeAll(async () => {
    release = await buildLastRelease();
    stage = await ChaosStage.open(random, release.folder);
    stage.network.isCalm = true;
    await stage.startWorkers(3, 0, release.folder);
  });
  afterAll(async () => {
    await stage?.close();
    await release?.remove();
  });

  it('apps of the old and the new version work together without a lost run, a duplicate run or a server error in a response', async () => {
    const marks = join(stage.folder, 'starts');
    const load = { isOn: true };
    const launching = launchWhile(load, marks);
    try {
      await waitForMoreRuns();
      const [first] = await readJobsPage('');

      // The apps of the last release run on the new schema.
      await migrateDatabase(stage.fixture.stack.databaseUrl);
      await waitForMoreRuns();

      await replaceService('dispatcher', root);
      await waitForMoreRuns();

      await replaceService('dispatcher', release.folder);
      await replaceService('gateway', root);
      // The cookie of the last release's gateway is still valid, and so is its cursor.
      expect(await readJobsPage(first!.cursor)).not.toContainEqual(expect.objectContaining({ id: first!.id }));
      await waitForMoreRuns();

      for (const app of ['dispatcher', 'ingest', 'scheduler', 'metering'] as const) await replaceService(app, root);
      await waitForMoreRuns();

      // Returns to the apps of the last release, which find the rows and messages of the new apps.
      for (const app of ['metering', 'scheduler', 'ingest', 'dispatcher', 'gateway'] as const) {
        await replaceService(app, release.folder);
        await waitForMoreRuns(1);
      }
      for (const app of stage.services.keys()) await replaceService(app, root);
      await waitForMoreRuns();
    } finally {
      load.isOn = false;
    }
    await launching;
    await waitFor('all jobs and messages to finish', () => isServiceQuiet(stage.fixture), 120_000).catch(
      throwWithSeedAndState,
    );
    await replaceWorkers();
    for (let n = 0; n < 2 * stage.workers.length; n += 1) await launchOne(marks);
    await waitFor('the jobs of the new workers', () => isServiceQuiet(stage.fixture), 120_000).catch(
      throwWithSeedAndState,
    );

    const starts = readFileSync(marks, 'utf8')
      .trim()
      .split('\n')
      .map((line) => ({ jobId: line.split(' ')[0]!, at: Number(line.split(' ')[1]) }));
    const { faults, ...figures } = await countFigures(stage.fixture, starts);
    process.stdout.write(`compatibility (seed ${random.seed}): ${JSON.stringify(figures)}\n`);
    expect(Object.fromEntries(Object.entries(faults).filter(([, count]) => count !== 0))).toEqual({});
    expect(figures).toMatchObject({ jobs: launched, completed: launched, starts: launched, lost: 0 });
    expect(stage.network.serverErrors).toEqual([]);
  });

  async function launchWhile(load: { isOn: boolean }, marks: string): Promise<void> {
    while (load.isOn) {
      // Limits the number of queued runs, so that each phase of the upgrade has runs of the version before and of the
      // version after it.
      await waitFor('less waiting runs', async () => launched - (await countEndedJobs()) < 8, 60_000);
      await launchOne(marks);
    }
  }

  async function launchOne(marks: string): Promise<void> {
    const { agentId } = stage.workers[launched % stage.workers.length]!.agent;
    const plan = { CHAOS_LINES: '20', CHAOS_HOLD: '0.2', CHAOS_FAIL: '', CHAOS_STARTS: marks };
    await stage.launchRun(agentId, plan, 0);
    launched += 1;
  }

  async function countEndedJobs(): Promise<number> {
    const rows = await stage.fixture.query<{ n: number }>(
      'SELECT count(*)::int AS n FROM job WHERE finished_at IS NOT NULL',
    );
    return rows[0]!.n;
  }

  /** Waits until further runs were launched and ended. */
  async function waitForMoreRuns(runs = runsBetween): Promise<void> {
    const target = { launched: launched + runs, ended: (await countEndedJobs()) + runs };
    await waitFor(
      'further runs',
      async () => launched >= target.launched && (await countEndedJobs()) >= target.ended,
      90_000,
    ).catch(throwWithSeedAndState);
  }

  /**
   * Stops an app as a rollout does, and starts that of another version. First the app gets no new requests, and then it
   * is stopped; in between it answers those that are on their way.
   */
  async function replaceService(app: ServiceApp, by: string): Promise<void> {
    stage.network.apps.set(app, []);
    await sleep(preStopMs);
    expect(await stage.services.get(app)!.end('SIGTERM')).toBe(0);
    await stage.startService(app, by);
  }

  async function replaceWorkers(): Promise<void> {
    for (const worker of stage.workers) {
      await worker.end('SIGTERM');
      worker.release = root;
      worker.spawn();
    }
  }

  async function readJobsPage(cursor: string): Promise<{ id: string; cursor: string }[]> {
    const { body } = await stage.requestUntilAccepted(
      'GET',
      `/api/jobs?limit=2${cursor && `&cursor=${cursor}`}`,
      undefined,
    );
    return body.jobs.map(({ id }: { id: string }) => ({ id, cursor: body.nextCursor }));
  }

  async function throwWithSeedAndState(error: Error): Promise<never> {
    throw new Error(`${error.message} (seed ${random.seed})\n${await stage.describeState()}`);
  }
});
