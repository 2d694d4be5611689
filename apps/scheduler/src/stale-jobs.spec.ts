import { type Harness, makeJob, makeOrganization, startHarness, waitFor } from '@muster/testing';
import { schedulerConfigs } from './scheduler-configs';
import { SchedulerModule } from './scheduler.module';

const path = '/api/cron/stale-jobs';

function startScheduler(env: Record<string, string>): Promise<Harness> {
  return startHarness({ name: 'scheduler', configs: schedulerConfigs, modules: [SchedulerModule], env });
}

async function makeOverdueJob({ db }: Harness): Promise<string> {
  const { id: organizationId } = await makeOrganization(db);
  const startedAt = new Date(Date.now() - 13 * 3_600_000);
  return (await makeJob(db, { organizationId, status: 'running', startedAt, maxRetries: 1 })).id;
}

describe('the stale jobs endpoint', () => {
  it('the stale jobs endpoint rejects every request while no secret is set', async () => {
    const harness = await startScheduler({});
    try {
      for (const headers of [{}, { 'x-cron-key': '' }, { authorization: 'Bearer ' }]) {
        for (const method of ['GET', 'POST']) {
          const answer = await harness.http.with(headers as Record<string, string>).send(method, path);
          expect([answer.status, answer.body.code]).toEqual([401, 'unauthenticated']);
        }
      }
    } finally {
      await harness.close();
    }
  });

  it('the stale jobs endpoint fails the overdue jobs of all organizations with GET and POST', async () => {
    const harness = await startScheduler({ CRON_SECRET: 'open sesame', STALE_JOBS_TICK_MS: '3600000' });
    try {
      expect((await harness.http.with({ 'x-cron-key': 'open' }).get(path)).status).toBe(401);
      const first = [await makeOverdueJob(harness), await makeOverdueJob(harness)];
      const answer = await harness.http.with({ 'x-cron-key': 'open sesame' }).get(path);
      expect([answer.status, answer.body]).toEqual([
        200,
        { scanned: 2, failed: expect.arrayContaining(first), killed: 0, retried: 2 },
      ]);
      const second = await makeOverdueJob(harness);
      const post = await harness.http.with({ authorization: 'Bearer open sesame' }).send('POST', path);
      expect([post.status, post.body]).toEqual([200, { scanned: 1, failed: [second], killed: 0, retried: 1 }]);
      const none = await harness.http.with({ 'x-cron-key': 'open sesame' }).send('POST', path);
      expect(none.body).toEqual({ scanned: 0, failed: [], killed: 0, retried: 0 });
    } finally {
      await harness.close();
    }
  });

  it('overdue jobs fail without a request to the stale jobs endpoint, because the scheduler also checks for them itself', async () => {
    const harness = await startScheduler({ STALE_JOBS_TICK_MS: '50' });
    try {
      const id = await makeOverdueJob(harness);
      await waitFor('the tick', async () => {
        const [job] = await harness.db.query<{ status: string }>('system', 'SELECT status FROM job WHERE id = $1', [
          id,
        ]);
        return job!.status === 'failed';
      });
    } finally {
      await harness.close();
    }
  });
});
