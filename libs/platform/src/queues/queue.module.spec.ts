import { queueDefinition, queueNames } from '@muster/contracts';
import { Module } from '@nestjs/common';
import { BaseConfig } from '../config/base.config';
import { createApp } from '../create-app';
import { testConfig } from '@muster/testing';
import { catalogueFaults } from './queue.module';
import { RedisConnections } from './redis-connections';

describe('the queue catalogue', () => {
  const whole = queueNames.map((queue) => ({ queue, jobs: Object.keys(queueDefinition(queue).jobs) }));

  it('the queue catalogue accepts one handler for every job', () => {
    expect(catalogueFaults('standalone', whole)).toEqual([]);
  });

  it('the queue catalogue reports a job without a handler, a job with two handlers, and an unknown job', () => {
    const [first, ...rest] = whole;
    const faultsOf = (fault: string) => first!.jobs.map((job) => `${first!.queue}.${job} has ${fault}`);
    expect(catalogueFaults('standalone', rest)).toEqual(faultsOf('no handler'));
    expect(catalogueFaults('standalone', [...whole, first!])).toEqual(faultsOf('2 handlers'));
    const surprising = [{ ...first!, jobs: [...first!.jobs, 'surprise'] }, ...rest];
    expect(catalogueFaults('standalone', surprising)).toEqual([`${first!.queue}.surprise is not in the catalogue`]);
  });

  it('the queue catalogue reports a handler for another app’s queue', () => {
    expect(catalogueFaults('gateway', [])).toEqual([]);
    expect(catalogueFaults('gateway', [{ queue: 'dispatch', jobs: ['probe'] }])).toEqual([
      'dispatch belongs to dispatcher, but this app handles it',
    ]);
  });

  it('an app without the handlers of its queues does not start', async () => {
    @Module({})
    class Empty {}
    const config: BaseConfig = testConfig('postgres://nobody@127.0.0.1:1/none', { LOG_LEVEL: 'silent' });
    const app = await createApp({ name: 'dispatcher', configs: [config], modules: [Empty] });
    await expect(app.nest.init()).rejects.toThrow('dispatch.probe has no handler');
    // Nest does not close an app whose start failed.
    app.nest.get(RedisConnections).onApplicationShutdown();
  });
});
