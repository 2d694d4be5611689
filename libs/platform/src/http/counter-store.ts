import { Inject, Injectable } from '@nestjs/common';
import { RedisConnections } from '../queues/redis-connections';

/** A counter that all replicas share. */
export abstract class CounterStore {
  /** Adds the amount and returns the new total. Throws if the store does not answer at once. */
  abstract addToCounter(key: string, amount: number, keepSeconds: number): Promise<number>;
}

@Injectable()
export class RedisCounterStore extends CounterStore {
  constructor(@Inject(RedisConnections) private readonly connections: RedisConnections) {
    super();
  }

  override async addToCounter(key: string, amount: number, keepSeconds: number): Promise<number> {
    const { client, prefix } = this.connections.getImpatientConnection();
    const name = `${prefix}:rate:${key}`;
    const results = await client.multi().incrby(name, amount).expire(name, keepSeconds).exec();
    const [error, total] = results?.[0] ?? [new Error('no answer')];
    if (error) throw error;
    return Number(total);
  }
}
