// This test is long because it opens a thousand questions at the same time.
// A short test of the same code: apps/standalone/src/question-limits.spec.ts
import { EventStream, type Harness, makeAgent, startHarness, type Tenant, waitFor } from '@muster/testing';
import { createQuestionHelpers } from './questions.harness';
import { standalone } from './standalone';

jest.setTimeout(240_000);

const jobs = 20;
const questionsPerJob = 50;
const count = jobs * questionsPerJob;
const watchers = 10;

describe('a thousand open questions', () => {
  let harness: Harness;
  let tenant: Tenant;
  let agentId: string;

  beforeAll(async () => {
    harness = await startHarness({ ...standalone, env: { RATE_LIMIT_PER_MINUTE: '1000000' } });
    tenant = await harness.makeTenant();
    agentId = (await makeAgent(harness.db, { organizationId: tenant.organizationId })).id;
  });
  afterAll(() => harness.close());

  const { answer, running, ask, rows } = createQuestionHelpers(() => ({ harness, tenant, agentId }));

  it('a thousand questions are listed, streamed and answered once each, by two people at the same time', async () => {
    const openQuestionEvents = () =>
      EventStream.open(`${harness.url}/api/events?types=question`, tenant.as.viewer.headers);
    const streams = await Promise.all(Array.from({ length: watchers }, openQuestionEvents));
    const jobIds = (await Promise.all(Array.from({ length: jobs }, () => running()))).map(({ id }) => id);
    for (const jobId of jobIds) {
      const created = await Promise.all(
        Array.from({ length: questionsPerJob }, (_, at) => ask(jobId, { questionKey: `q${at}`, timeoutSeconds: 3600 })),
      );
      expect(new Set(created.map(({ status }) => status))).toEqual(new Set([201]));
      expect((await ask(jobId, { questionKey: 'one more' })).status).toBe(409);
    }
    const ids = await listOpen();
    expect(new Set(ids).size).toBe(count);
    const statuses: number[] = [];
    for (let at = 0; at < ids.length; at += 25) {
      const answers = ids.slice(at, at + 25).flatMap((id) => [answer(id, 'mine'), answer(id, 'yours')]);
      statuses.push(...(await Promise.all(answers)).map(({ status }) => status));
    }
    expect(statuses.filter((status) => status === 200)).toHaveLength(count);
    expect(statuses.filter((status) => status === 409)).toHaveLength(count);
    expect(await listOpen()).toEqual([]);
    for (const stream of streams) {
      const listQuestionEvents = () => stream.events.filter(({ event }) => event === 'question');
      await waitFor('all events', () => listQuestionEvents().length === 2 * count, 60_000);
      for (const status of ['open', 'answered']) {
        const own = listQuestionEvents().filter(({ data }) => data.status === status);
        expect(new Set(own.map(({ data }) => data.questionId)).size).toBe(count);
      }
      stream.close();
    }
    const [{ commands }] = await rows(
      `SELECT count(*)::int AS commands FROM agent_command WHERE job_id = ANY($1) AND kind = 'answer'`,
      jobIds,
    );
    expect(commands).toBe(count);
  });

  async function listOpen(): Promise<string[]> {
    const ids: string[] = [];
    for (let cursor = ''; ;) {
      const { body } = await tenant.api.get(`/api/questions?status=open&mine=true&limit=200${cursor}`);
      ids.push(...body.questions.map(({ id }: { id: string }) => id));
      if (body.nextCursor === null) return ids;
      cursor = `&cursor=${body.nextCursor}`;
    }
  }
});
