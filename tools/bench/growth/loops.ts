import { setTimeout as delay } from 'node:timers/promises';
import { startApp } from '../bench-tenant';
import { chooseSize } from '../short';
import { type GrowthFixture, getRedisPrefix } from './fixture';

/** Short intervals for the loops, so that each runs several times. A round without work is recorded only every 10 s. */
const ticks = {
  MAINTENANCE_TICK_MS: '1000',
  RETENTION_TICK_MS: '1000',
  ROLLUPS_TICK_MS: '1000',
  STALE_JOBS_TICK_MS: '1000',
  IDLE_MONITOR_TICK_MS: '1000',
  COMMAND_SWEEP_MS: '1000',
  DISPATCH_SWEEP_MS: '1000',
  // No agent sends heartbeats during this benchmark.
  AGENT_OFFLINE_AFTER_MS: '86400000',
  S3_ENDPOINT: 'http://127.0.0.1:9',
};
const seconds = chooseSize(70, 4);

/**
 * Durations of each loop's rounds, as the apps record them. The first round is left out, because it catches up with a
 * year.
 */
export async function measureLoops(fixtures: GrowthFixture[]): Promise<Map<GrowthFixture, Map<string, number[]>>> {
  const apps = [];
  for (const fixture of fixtures) {
    const env = { ...ticks, REDIS_PREFIX: getRedisPrefix(fixture), INTERNAL_PORT: '0' };
    apps.push(await startApp('scheduler', fixture.stack, env), await startApp('dispatcher', fixture.stack, env));
  }
  const rounds = new Map(fixtures.map((fixture) => [fixture, new Map<string, Map<string, number>>()]));
  const until = performance.now() + seconds * 1000;
  while (performance.now() < until) {
    await delay(250);
    for (const fixture of fixtures) {
      const { rows } = await fixture.client.query<{ name: string; began: string; ms: number }>(
        'SELECT name, began_at::text AS began, duration_ms AS ms FROM loop_run',
      );
      for (const { name, began, ms } of rows) {
        const seen = rounds.get(fixture)!.get(name) ?? new Map<string, number>();
        rounds.get(fixture)!.set(name, seen.set(began, ms));
      }
    }
  }
  await Promise.all(apps.map((app) => app.stop()));
  const dropFirst = (times: number[]) => (times.length > 2 ? times.slice(1) : times);
  return new Map(
    [...rounds].map(([fixture, loops]) => [
      fixture,
      new Map([...loops].map(([name, seen]) => [name, dropFirst([...seen.values()])])),
    ]),
  );
}
