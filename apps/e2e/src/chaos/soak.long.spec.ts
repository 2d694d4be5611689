// This test is long because it runs jobs at a set rate for minutes or hours (npm run soak) while everything is restarted.
// A short test of the same code: apps/e2e/src/services.spec.ts
import type { ServiceApp } from '@muster/contracts';
import { findProcesses, waitFor } from '@muster/testing';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from 'yaml';
import { createSeededRandom } from '../seed';
import { root } from '../service-process';
import { countFigures, isServiceQuiet } from './chaos-figures';
import { killServices } from './chaos-kills';
import { ChaosStage } from './chaos-stage';
import { DatabaseAddress } from './database-address';
import { Failover, fillDisk, fillRedis, JumpingClocks, jumpClock } from './soak-faults';

const seconds = Number(process.env['SOAK_SECONDS'] ?? 180);
/** After each segment, every app is restarted as in a rollout. */
const segments = Math.max(1, Math.round(seconds / 900));
const segmentSeconds = seconds / segments;
const workers = { real: 4, simulated: 12 };
const launchEveryMs = 1000;
const maxOpen = 40;
const maxFiles = 300;
/** Connections of a process to Postgres: a pool of 10, and one that receives notifications. */
const connectionsPerProcess = 11;
jest.setTimeout((seconds + 900) * 1000);

interface Sample {
  /** Highest resident memory in MiB, by app. */
  memory: Record<string, number>;
  /** Highest number of open files and sockets, by app. */
  files: Record<string, number>;
  connections: number;
}

describe('hours of work', () => {
  const random = createSeededRandom();
  const most: Sample = { memory: {}, files: {}, connections: 0 };
  const address = new DatabaseAddress();
  let stage: ChaosStage;
  let clocks: JumpingClocks;
  let failover: Failover | undefined;
  let launched = 0;

  beforeAll(async () => {
    clocks = await JumpingClocks.open();
    stage = await ChaosStage.open(random, root, {
      findAddress: (serverUrl) => address.open(serverUrl),
      envOf: (app) => clocks.buildEnv(app),
    });
    failover = await Failover.open(stage, address);
    await stage.startWorkers(workers.real, workers.simulated);
  });
  afterAll(async () => {
    await failover?.close();
    await stage?.close();
    await address.close();
    await clocks?.close();
  });

  it('no work is lost, repeated or billed twice, and nothing leaks, while every part is killed and restarted', async () => {
    const marks = join(stage.folder, 'starts');
    const load = { isOn: true };
    const running = Promise.all([launchWhile(load, marks), sampleResourceUseWhile(load)]);
    const kills: Record<string, number> = {};
    const causes = {
      clock: () => jumpClock(stage, clocks, random),
      disk: () => fillDisk(stage),
      redisMemory: () => fillRedis(stage),
    };
    try {
      for (let segment = 0; segment < segments; segment += 1) {
        const began = Date.now();
        const computeElapsedSegments = async () => (Date.now() - began) / 1000 / segmentSeconds;
        const rounds = Math.max(1, Math.floor(segmentSeconds / 150));
        for (const [victim, count] of Object.entries(
          await killServices(stage, { random, rounds, done: computeElapsedSegments, faults: causes }),
        ))
          kills[victim] = (kills[victim] ?? 0) + count;
        // Postgres is killed no more after its standby has replaced it.
        if (segment === segments - 1) await failover!.run();
        await waitFor(
          'the end of the segment',
          async () => (await computeElapsedSegments()) >= 1,
          segmentSeconds * 1000 + 60_000,
        );
        await restartAll();
      }
    } finally {
      load.isOn = false;
    }
    await running;
    await waitFor('all jobs and messages to finish', () => isServiceQuiet(stage.fixture), 300_000).catch(
      throwWithSeedAndState,
    );
    stage.network.isCalm = true;
    await stage.network.waitUntilIdle();
    await waitFor('all late messages to be processed', () => isServiceQuiet(stage.fixture), 60_000).catch(
      throwWithSeedAndState,
    );
    await waitFor('no process of any run to be left', () => countRunningScripts() === 0, 60_000);
    const marked = existsSync(marks) ? readFileSync(marks, 'utf8').trim().split('\n') : [];
    const starts = marked.map((line) => ({ jobId: line.split(' ')[0]!, at: Number(line.split(' ')[1]) }));
    const { faults, ...figures } = await countFigures(stage.fixture, [...starts, ...stage.starts]);
    const summary = { ...figures, kills, most, network: stage.network.counts, seconds };
    process.stdout.write(`soak (seed ${random.seed}): ${JSON.stringify(summary)}\n`);
    expect(Object.fromEntries(Object.entries(faults).filter(([, count]) => count !== 0))).toEqual({});
    expect([figures.jobs, figures.usageEvents]).toEqual([launched, figures.attempts]);
    expect(listResourcesOverLimit()).toEqual([]);
  });

  async function launchWhile(load: { isOn: boolean }, marks: string): Promise<void> {
    for (; load.isOn; await sleep(launchEveryMs)) {
      const open = await stage.queryOrNull<{ n: number }>(
        'SELECT count(*)::int AS n FROM job WHERE finished_at IS NULL',
      );
      if (!open || open[0]!.n >= maxOpen) continue;
      const all = [...stage.workers, ...stage.simulated];
      const { agentId } = all[launched % all.length]!.agent;
      const plan = {
        CHAOS_LINES: String(random.between(4, 60)),
        CHAOS_HOLD: String(random.between(0, 3) / 10),
        CHAOS_FAIL: launched % 10 === 5 ? 'always' : '',
        CHAOS_STARTS: marks,
      };
      await stage.launchRun(agentId, plan, launched % 10 === 5 ? 1 : 0);
      launched += 1;
    }
  }

  async function sampleResourceUseWhile(load: { isOn: boolean }): Promise<void> {
    for (; load.isOn; await sleep(2000)) {
      for (const [app, { pid }] of stage.services) {
        const use = readResourceUse(pid);
        most.memory[app] = Math.max(most.memory[app] ?? 0, use.mebibytes);
        most.files[app] = Math.max(most.files[app] ?? 0, use.files);
      }
      const rows = await stage.queryOrNull<{ n: number }>(
        `SELECT count(*)::int AS n FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`,
      );
      most.connections = Math.max(most.connections, rows?.[0]?.n ?? 0);
    }
  }

  /** Stops one app after the other as a rollout does, and starts it again. */
  async function restartAll(): Promise<void> {
    for (const app of [...stage.services.keys()]) {
      expect([app, await stage.services.get(app)!.end('SIGTERM')]).toEqual([app, 0]);
      await stage.startService(app);
    }
  }

  function countRunningScripts(): number {
    return findProcesses(`MUSTER_RUN_ROOT=${stage.folder}`).length;
  }

  /** Resources of which more was used than the chart allows. */
  function listResourcesOverLimit(): string[] {
    const { apps } = parse(readFileSync(join(root, 'k8s/chart/values.yaml'), 'utf8')) as {
      apps: Record<ServiceApp, { resources: { limits: { memory: string } } }>;
    };
    // The connections of a killed process may still exist while its successor connects, and the test has connections
    // too.
    const maxConnections = (stage.services.size + 2) * connectionsPerProcess;
    return [
      ...Object.entries(most.memory).flatMap(([app, mebibytes]) => {
        const limit = Number.parseInt(apps[app as ServiceApp].resources.limits.memory, 10);
        return mebibytes > limit ? [`${app} used ${mebibytes} MiB of ${limit}`] : [];
      }),
      ...Object.entries(most.files).flatMap(([app, files]) => (files > maxFiles ? [`${app} had ${files} files`] : [])),
      ...(most.connections > maxConnections ? [`${most.connections} connections of ${maxConnections}`] : []),
    ];
  }

  async function throwWithSeedAndState(error: Error): Promise<never> {
    throw new Error(`${error.message} (seed ${random.seed})\n${await stage.describeState()}`);
  }
});

/** Resident memory and open files of a process; 0 if it has ended. */
function readResourceUse(pid: number): { mebibytes: number; files: number } {
  try {
    const kib = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0;
    return { mebibytes: Math.round(Number(kib) / 1024), files: readdirSync(`/proc/${pid}/fd`).length };
  } catch {
    return { mebibytes: 0, files: 0 };
  }
}
