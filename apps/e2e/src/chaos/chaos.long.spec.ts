// This test is long because it runs jobs while services, workers, Redis and Postgres are killed.
// A short test of the same code: apps/e2e/src/services.spec.ts
import { chooseSize, findProcesses, waitFor } from '@muster/testing';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { countFigures, isServiceQuiet } from './chaos-figures';
import { killServices } from './chaos-kills';
import type { JobPlan } from './chaos-script';
import { ChaosStage } from './chaos-stage';
import { createSeededRandom } from '../seed';

const jobs = chooseSize('CHAOS_JOBS', { short: 30, long: 3000 });
/** In the long form, simulated workers run most of the jobs. */
const isLong = jobs > 300;
const form = isLong
  ? { jobs, real: Math.min(300, Math.ceil(jobs / 10)), simulated: 24, rounds: 5 }
  : { jobs, real: jobs, simulated: 0, rounds: 1 };
const workers = 6;
const endlessSeconds = '300';
jest.setTimeout(isLong ? 3_600_000 : 600_000);

describe('jobs during random kills and network faults', () => {
  const random = createSeededRandom();
  let stage: ChaosStage;

  beforeAll(async () => {
    stage = await ChaosStage.open(random);
  });
  afterAll(() => stage?.close());

  it('despite random kills and network faults, jobs start at most once, end once and have each report counted once', async () => {
    const began = Date.now();
    await stage.startWorkers(workers, form.simulated);
    const marks = join(stage.folder, 'starts');
    const launched = { isDone: false };
    const launching = launchAll(marks).then(() => (launched.isDone = true));
    const killing = killServices(stage, { random, rounds: form.rounds, done: computeShareOfEndedJobs });
    await Promise.all([launching, cancelEndless(launched), killing]).catch(throwWithSeedAndState);
    await waitFor('all jobs and messages to finish', () => isServiceQuiet(stage.fixture), form.jobs * 2500).catch(
      throwWithSeedAndState,
    );
    const seconds = Math.round((Date.now() - began) / 1000);

    stage.network.isCalm = true;
    await stage.network.waitUntilIdle();
    const answers = await stage.network.replayCallbacks();
    await waitFor('all messages to finish after the replay', () => isServiceQuiet(stage.fixture), 60_000).catch(
      throwWithSeedAndState,
    );
    await waitFor(
      'no process of any run to be left',
      () => findProcesses(`MUSTER_RUN_ROOT=${stage.folder}`).length === 0,
      30_000,
    );
    const marked = readFileSync(marks, 'utf8').trim().split('\n');
    const starts = marked.map((line) => ({ jobId: line.split(' ')[0]!, at: Number(line.split(' ')[1]) }));
    const { faults, ...figures } = await countFigures(stage.fixture, [...starts, ...stage.starts]);
    const summary = { ...figures, kills: await killing, network: stage.network.counts, seconds };
    process.stdout.write(`chaos (seed ${random.seed}): ${JSON.stringify(summary)}\n`);
    expect(Object.fromEntries(Object.entries(faults).filter(([, count]) => count !== 0))).toEqual({});
    expect([figures.jobs, figures.usageEvents]).toEqual([form.jobs, figures.attempts]);
    expect([...answers.keys()].filter((status) => status >= 500)).toEqual([]);
  });

  async function launchAll(marks: string): Promise<void> {
    const agents = [stage.workers, stage.simulated].map((some) => some.map(({ agent }) => agent.agentId));
    let next = 0;
    const launchJobsUntilDone = async () => {
      for (let number = next++; number < form.jobs; number = next++) {
        const [agentIds, at] = number < form.real ? [agents[0]!, number] : [agents[1]!, number - form.real];
        const kind = number % 10;
        const plan: JobPlan = {
          CHAOS_LINES: String(random.between(4, 60)),
          CHAOS_HOLD: kind === 3 ? endlessSeconds : String(random.between(0, 3) / 10),
          CHAOS_FAIL: kind === 5 ? 'always' : kind === 7 ? join(stage.folder, `failed-${number}`) : '',
          CHAOS_STARTS: marks,
        };
        await stage.launchRun(agentIds[at % agentIds.length]!, plan, kind === 5 || kind === 7 ? 1 : 0);
      }
    };
    await Promise.all(Array.from({ length: 3 }, launchJobsUntilDone));
  }

  /** Cancels the endless jobs: some while they run, some after their dispatch and before their first report. */
  async function cancelEndless(launched: { isDone: boolean }): Promise<void> {
    for (;;) {
      const all = launched.isDone;
      const open = await stage.queryOrNull<{ id: string; due: boolean }>(`
        SELECT id, cancel_requested_at IS NULL AND command_id IS NOT NULL
               AND (status = 'running' OR right(id::text, 1) < '8') AS due
        FROM job WHERE status IN ('queued', 'running') AND variables->>'CHAOS_HOLD' = '${endlessSeconds}'`);
      if (all && open?.length === 0) return;
      const due = (open ?? []).filter((job) => job.due).map(({ id }) => id);
      await new Promise((resume) => setTimeout(resume, random.between(0, 300)));
      if (due.length > 0) await stage.requestUntilAccepted('POST', '/api/jobs/cancel', { ids: due });
    }
  }

  async function computeShareOfEndedJobs(): Promise<number> {
    const rows = await stage.queryOrNull<{ n: number }>(`SELECT count(*)::int AS n FROM job
      WHERE status IN ('completed', 'failed', 'cancelled') AND retry_of IS NULL`);
    return (rows?.[0]?.n ?? 0) / form.jobs;
  }

  /** Adds the seed and the state of the system to the error. */
  async function throwWithSeedAndState(error: Error): Promise<never> {
    throw new Error(`${error.message} (seed ${random.seed})\n${await stage.describeState()}`);
  }
});
