import { getQueueDefinition, queueNames } from '@muster/contracts';
import { Module } from '@nestjs/common';
import { BaseConfig } from '../config/base.config';
import { createApp } from '../create-app';
import { loadTestConfig } from '@muster/testing';
import { compareProcessorsWithCatalogue } from './queue.module';
import { RedisConnections } from './redis-connections';

describe('the queue catalogue', () => {
  const whole = queueNames.map((queue) => ({ queue, jobs: Object.keys(getQueueDefinition(queue).jobs) }));

  it('the queue catalogue accepts exactly one handler for each job name', () => {
    expect(compareProcessorsWithCatalogue('standalone', whole)).toEqual([]);
  });

  it('the queue catalogue reports a job without a handler, a job with two handlers, and an unknown job', () => {
    const [first, ...rest] = whole;
    const faultsOf = (fault: string) => first!.jobs.map((job) => `${first!.queue}.${job} has ${fault}`);
    expect(compareProcessorsWithCatalogue('standalone', rest)).toEqual(faultsOf('no handler'));
    expect(compareProcessorsWithCatalogue('standalone', [...whole, first!])).toEqual(faultsOf('2 handlers'));
    const surprising = [{ ...first!, jobs: [...first!.jobs, 'surprise'] }, ...rest];
    expect(compareProcessorsWithCatalogue('standalone', surprising)).toEqual([
      `${first!.queue}.surprise is not in the catalogue`,
    ]);
  });

  it('the queue catalogue reports a handler for another app’s queue', () => {
    expect(compareProcessorsWithCatalogue('gateway', [])).toEqual([]);
    expect(compareProcessorsWithCatalogue('gateway', [{ queue: 'dispatch', jobs: ['probe'] }])).toEqual([
      'dispatch belongs to dispatcher, but this app handles it',
    ]);
  });

  it('an app without the handlers of its queues does not start', async () => {
    @Module({})
    class Empty {}
    const config: BaseConfig = loadTestConfig('postgres://nobody@127.0.0.1:1/none', { LOG_LEVEL: 'silent' });
    const app = await createApp({ name: 'dispatcher', configs: [config], modules: [Empty] });
    await expect(app.nest.init()).rejects.toThrow('dispatch.probe has no handler');
    // The test closes the app itself, because Nest does not close an app whose start failed.
    app.nest.get(RedisConnections).onApplicationShutdown();
  });
});
