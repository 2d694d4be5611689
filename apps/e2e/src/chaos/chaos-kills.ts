import type { ServiceApp } from '@muster/contracts';
import { waitFor } from '@muster/testing';
import type { Boundary } from './chaos-network';
import type { ChaosStage } from './chaos-stage';
import type { createSeededRandom } from '../seed';

type Random = ReturnType<typeof createSeededRandom>;
type Victim = ServiceApp | 'worker' | 'simulated' | 'redis' | 'postgres';

/** Causes a fault, and returns the function that ends it. */
type Fault = () => Promise<() => Promise<void>>;

/** Paths of all kinds of requests between workers and service. */
const requestPaths = [
  /commands$/,
  /\/ack$/,
  /\/result$/,
  /job-webhook$/,
  /job-logs$/,
  /step-status$/,
  /claim-results$/,
  /heartbeat$/,
  /handshake$/,
];
const trapMs = 1000;

/** Number of kills of each victim in one round. */
const round: Partial<Record<Victim, number>> = {
  dispatcher: 2,
  ingest: 2,
  metering: 1,
  scheduler: 1,
  gateway: 1,
  worker: 6,
  simulated: 8,
  redis: 1,
  postgres: 2,
};

/**
 * Kills services, workers and servers in a seeded order, spread over the first 80 % of the jobs; `done` returns the
 * finished share of the jobs. Most kills happen at the moment at which a message passes. Each of the `faults` happens
 * once in a round. Returns the number of kills of each victim and of each fault.
 */
export async function killServices(
  stage: ChaosStage,
  {
    random,
    rounds,
    done,
    faults = {},
  }: { random: Random; rounds: number; done: () => Promise<number>; faults?: Record<string, Fault> },
): Promise<Record<string, number>> {
  const kills: Record<string, number> = {};
  const plan = shuffleItems(
    Array.from({ length: rounds }, () => [
      ...Object.entries(round),
      ...Object.keys(faults).map((fault) => [fault, 1] as const),
    ])
      .flat()
      .filter(([victim]) => victim !== 'simulated' || stage.simulated.length > 0)
      .flatMap(([victim, times]) => Array.from({ length: times }, () => victim)),
    random,
  );
  const starting = new Map<string, Promise<void>>();
  for (const [index, victim] of plan.entries()) {
    const share = (0.8 * index) / plan.length;
    await waitFor('the jobs to progress', async () => (await done()) >= share, 90_000);
    await starting.get(victim);
    const startAgain = await (faults[victim]?.() ?? killVictim(stage, victim as Victim, random));
    // The start is not awaited, so the next process can be killed while this one still starts.
    starting.set(victim, startAgain());
    kills[victim] = (kills[victim] ?? 0) + 1;
  }
  await Promise.all(starting.values());
  return kills;
}

/** Kills the victim and returns a function that starts it again. */
async function killVictim(stage: ChaosStage, victim: Victim, random: Random): Promise<() => Promise<void>> {
  const path = requestPaths[random.between(0, requestPaths.length - 1)]!;
  const side = random.between(0, 1) ? ('before' as const) : ('after' as const);
  switch (victim) {
    case 'worker': {
      const worker = stage.workers[random.between(0, stage.workers.length - 1)]!;
      await actAtBoundary(stage, { path, side, key: worker.agent.key }, () => worker.end('SIGKILL'));
      return async () => worker.spawn();
    }
    case 'simulated': {
      const worker = stage.simulated[random.between(0, stage.simulated.length - 1)]!;
      await actAtBoundary(stage, { path, side, key: worker.agent.key }, () => worker.kill());
      return async () => worker.start();
    }
    case 'redis':
      await actAtBoundary(stage, { path, side }, () => stage.fixture.emptyRedis());
      return async () => undefined;
    case 'postgres': {
      const { postgres } = stage.fixture.stack;
      await actAtBoundary(stage, { path, side }, async () => {
        process.kill(postgres!.pid, 'SIGKILL');
        await postgres!.stop();
      });
      return async () => void (await postgres!.restart());
    }
    default: {
      await actAtBoundary(stage, { path, side }, () => stage.services.get(victim)!.end('SIGKILL'));
      return () => stage.startService(victim);
    }
  }
}

/** Calls `act` when a message passes the boundary, or after `trapMs` if none does. */
async function actAtBoundary<T>(stage: ChaosStage, boundary: Boundary, act: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const clearTimerAndAct = () => {
      clearTimeout(timer);
      giveUp();
      act().then(resolve, reject);
    };
    const timer = setTimeout(clearTimerAndAct, trapMs);
    const giveUp = stage.network.onNextMessage(boundary, clearTimerAndAct);
  });
}

function shuffleItems<T>(items: T[], random: Random): T[] {
  for (let at = items.length - 1; at > 0; at -= 1) {
    const other = random.between(0, at);
    [items[at], items[other]] = [items[other]!, items[at]!];
  }
  return items;
}
