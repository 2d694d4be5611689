import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { Clock } from '../context/clock';
import { RedisConnections } from '../queues/redis-connections';
import { Metrics } from './metrics';
import { Periodic } from './periodic';
import { type Objective, objectives } from './level-counts';

/** Time in milliseconds between two transfers of a process's counts to Redis. */
const flushMs = 15_000;
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** Number of days that the counts are stored, and for which objectives are measured. */
const levelDays = 30;

/** Number of events of an objective in a period, and of those that were late or failed. */
export interface Level {
  all: number;
  late: number;
}

export type Levels = Record<Objective, { day: Level; month: Level }>;

/**
 * The service level objectives as all processes together measured them, for deployments without Prometheus as well. Each
 * process adds its counts to hourly totals in Redis. If Redis loses its data, the totals start again.
 */
@Injectable()
export class ServiceLevels implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly periodic = new Periodic({
    name: 'transfer of service levels',
    intervalMs: flushMs,
    runOnce: () => this.writeCounts(),
  });

  constructor(
    @Inject(Metrics) private readonly metrics: Metrics,
    @Inject(RedisConnections) private readonly connections: RedisConnections,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  onApplicationBootstrap(): void {
    this.periodic.start();
  }

  async onModuleDestroy(): Promise<void> {
    await this.periodic.stop();
    await this.writeCounts();
  }

  /** Adds the counts of this process to those in Redis. If Redis does not answer, the counts wait for the next call. */
  async writeCounts(): Promise<void> {
    const counts = this.metrics.levels.takeCounts();
    if (counts.size === 0) return;
    const now = this.clock.now();
    const { client } = this.connections.getImpatientConnection();
    const key = this.getCounterKey(now);
    const transfer = client.multi();
    for (const [field, count] of counts) transfer.hincrby(key, `${now.getUTCHours()}:${field}`, count);
    transfer.expire(key, ((levelDays + 1) * dayMs) / 1000);
    try {
      await transfer.exec();
    } catch {
      this.metrics.levels.restoreCounts(counts);
    }
  }

  /** Returns the events of the last 24 hours and of the last 30 days. Throws if Redis does not answer. */
  async readLevels(): Promise<Levels> {
    const now = this.clock.now();
    const { client } = this.connections.getImpatientConnection();
    const days = Array.from({ length: levelDays + 1 }, (_, back) => new Date(now.getTime() - back * dayMs));
    const reading = client.pipeline();
    for (const day of days) reading.hgetall(this.getCounterKey(day));
    const answers = (await reading.exec()) ?? [];
    const levels = Object.fromEntries(
      objectives.map(({ name }) => [name, { day: { all: 0, late: 0 }, month: { all: 0, late: 0 } }]),
    ) as Levels;
    const thisHour = Math.floor(now.getTime() / hourMs);
    for (const [at, [error, fields]] of answers.entries()) {
      if (error) throw error;
      const midnight = Math.floor(days[at]!.getTime() / dayMs) * 24;
      for (const [field, count] of Object.entries(fields as Record<string, string>)) {
        const [hour, name, kind] = field.split(':') as [string, Objective, keyof Level];
        const age = thisHour - (midnight + Number(hour));
        if (!(name in levels)) continue;
        if (age < 24) levels[name].day[kind] += Number(count);
        if (age < levelDays * 24) levels[name].month[kind] += Number(count);
      }
    }
    return levels;
  }

  private getCounterKey(time: Date): string {
    return `${this.connections.getImpatientConnection().prefix}:levels:${time.toISOString().slice(0, 10)}`;
  }
}
