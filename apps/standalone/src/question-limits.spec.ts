import { EventStream, type Harness, makeAgent, makeApiKey, startHarness, type Tenant, waitFor } from '@muster/testing';
import { createQuestionHelpers } from './questions.harness';
import { standalone } from './standalone';

jest.setTimeout(90_000);

/** The test acts as the worker and as the people. */
describe('questions of runs under attack and in races', () => {
  let harness: Harness;
  let tenant: Tenant;
  let agentId: string;

  beforeAll(async () => {
    harness = await startHarness(standalone);
    tenant = await harness.makeTenant();
    agentId = (await makeAgent(harness.db, { organizationId: tenant.organizationId })).id;
  });
  afterAll(() => harness.close());

  const { answer, running, ask, rows, job } = createQuestionHelpers(() => ({ harness, tenant, agentId }));

  it('a question that is too large or nested too deeply is refused, and stores nothing', async () => {
    const { id: jobId } = await running();
    const buildNestedObject = (depth: number): object =>
      depth === 0 ? { end: 1 } : { in: buildNestedObject(depth - 1) };
    const texts = Array.from({ length: 10_000 }, (_, at) => `c${at}`);
    const tooLarge: object[] = [
      { question: 'x'.repeat(100_000) },
      { questionKey: 'x'.repeat(100_000) },
      { kind: 'choice', choices: texts },
      { kind: 'form', fields: texts.map((name) => ({ name })) },
      { context: buildNestedObject(100) },
      { kind: 'form', fields: [{ name: 'a', choices: buildNestedObject(100), type: 'choice' }] },
      { default: 'x'.repeat(100_000) },
      { to: texts },
      { timeoutSeconds: 1e9 },
    ];
    for (const more of tooLarge) {
      const { status } = await ask(jobId, more);
      expect([Object.keys(more), [400, 413].includes(status)]).toEqual([Object.keys(more), true]);
    }
    expect(await rows('SELECT id FROM question WHERE job_id = $1', jobId)).toEqual([]);
    const { questionId } = (await ask(jobId)).body;
    for (const value of ['x'.repeat(300_000), buildNestedObject(100), texts]) {
      expect([400, 413]).toContain((await answer(questionId, value)).status);
    }
    expect((await tenant.api.get(`/api/questions/${questionId}`)).body.status).toBe('open');
  });

  it('only a worker of the run’s own agent can ask a question and read its answer', async () => {
    const { organizationId } = tenant;
    const { id: jobId } = await running();
    const key = await makeApiKey(harness.db, { organizationId, scope: 'worker', agentId });
    const otherAgent = harness.http.withKey(key.secret);
    const other = await harness.makeTenant();
    const body = { questionKey: 'one', question: 'Which?', kind: 'code', timeoutSeconds: 60 };
    const path = `/api/jobs/${jobId}/questions`;
    const outsiders = [otherAgent, other.worker, tenant.api, tenant.as.admin, other.as.admin, harness.http];
    for (const client of outsiders) expect([401, 403, 404]).toContain((await client.post(path, body)).status);
    expect(await rows('SELECT id FROM question WHERE job_id = $1', jobId)).toEqual([]);
    const { questionId } = (await tenant.worker.post(path, body)).body;
    await answer(questionId, 'K7Q2M9');
    for (const client of outsiders) {
      const read = await client.get(`${path}/${questionId}`);
      expect([401, 403, 404]).toContain(read.status);
      expect(read.text).not.toContain('K7Q2M9');
    }
    for (const client of [other.as.admin, other.api]) {
      expect((await client.get(`/api/questions/${questionId}`)).status).toBe(404);
      expect((await client.post(`/api/questions/${questionId}/answer`, { answer: 'K7Q2M9' })).status).toBe(404);
      expect((await client.post(`/api/questions/${questionId}/decline`, {})).status).toBe(404);
    }
    const [first, second] = [
      await tenant.worker.get(`${path}/${questionId}`),
      await tenant.worker.get(`${path}/${questionId}`),
    ];
    expect([first.body.answer, second.body.answer]).toEqual(['K7Q2M9', 'K7Q2M9']);
  });

  it('a question ends once if an answer races with its expiry', async () => {
    const outcomes = new Set<string>();
    for (let round = 0; round < 8; round += 1) {
      const { id: jobId } = await running();
      const { questionId } = (await ask(jobId, { default: 'x' })).body;
      await rows(
        `UPDATE question SET expires_at = muster_now() + $2 * interval '1 millisecond' WHERE id = $1`,
        ...[questionId, round % 2 === 0 ? 0 : 15],
      );
      const answered = await answer(questionId, 'mine');
      // The loop that expires questions runs in the same service.
      await waitFor(
        'the question to end',
        async () => (await tenant.api.get(`/api/questions/${questionId}`)).body.status !== 'open',
      );
      const { status, answer: value } = (await tenant.api.get(`/api/questions/${questionId}`)).body;
      outcomes.add(status);
      expect([answered.status, status, value]).toEqual(
        answered.status === 200 ? [200, 'answered', 'mine'] : [409, 'expired', null],
      );
      // The worker gets one command, with the same outcome.
      const commands = await rows(
        `SELECT payload->>'status' AS status FROM agent_command WHERE job_id = $1 AND kind = 'answer'`,
        jobId,
      );
      expect(commands).toEqual([{ status }]);
    }
    expect(outcomes.has('expired')).toBe(true);
  });

  it('a run with several open questions shows the one that expires first', async () => {
    const { id: jobId } = await running();
    await ask(jobId, { questionKey: 'later', question: 'Later?', timeoutSeconds: 3000 });
    const { questionId } = (await ask(jobId, { questionKey: 'first', question: 'First?', timeoutSeconds: 60 })).body;
    expect((await job(jobId)).asking).toMatchObject({ questionId, question: 'First?' });
    await answer(questionId, 'x');
    expect((await job(jobId)).asking).toMatchObject({ question: 'Later?' });
  });

  it('each change of a question reaches the event streams of its organization only', async () => {
    const other = await harness.makeTenant();
    const openQuestionEvents = ({ as }: Tenant) =>
      EventStream.open(`${harness.url}/api/events?types=question`, as.viewer.headers);
    const [own, foreign] = [await openQuestionEvents(tenant), await openQuestionEvents(other)];
    const { id: jobId } = await running();
    const { questionId } = (await ask(jobId, { kind: 'code' })).body;
    const listQuestionEvents = () => own.events.filter(({ data }) => data?.questionId === questionId);
    await waitFor('the question', () => listQuestionEvents().length === 1);
    await answer(questionId, 'K7Q2M9');
    await waitFor('the answer', () => listQuestionEvents().length === 2);
    expect(listQuestionEvents().map(({ event, data }) => [event, data.status])).toEqual([
      ['question', 'open'],
      ['question', 'answered'],
    ]);
    expect(JSON.stringify(own.events)).not.toContain('K7Q2M9');
    expect(foreign.events.filter(({ event }) => event === 'question')).toEqual([]);
    own.close();
    foreign.close();
  });

  it('an answered question shows which API key or which member answered it', async () => {
    const { id: jobId } = await running();
    const created = await tenant.as.admin.post('/api/api-keys', { name: 'Nightly import', scope: 'api' });
    const { questionId } = (await ask(jobId)).body;
    const byKey = await harness.http
      .withKey(created.body.secret)
      .post(`/api/questions/${questionId}/answer`, { answer: 'x' });
    expect(byKey.body).toMatchObject({
      ...{ answeredVia: 'api', answeredBy: { id: created.body.id, name: 'Nightly import' } },
    });
    const { questionId: second } = (await ask(jobId, { questionKey: 'two' })).body;
    const { user } = (await tenant.as.member.get('/api/auth/me')).body;
    await tenant.as.member.post(`/api/questions/${second}/decline`, {});
    expect((await tenant.api.get(`/api/questions/${second}`)).body).toMatchObject({
      ...{ status: 'cancelled', answeredBy: { id: user.id, email: user.email } },
    });
    // Questions that a process of the previous version ended have only the text.
    await rows(`UPDATE question SET answerer = NULL, answered_by = 'api_key ' || $2 WHERE id = $1`, questionId, 'k1');
    await rows(`UPDATE question SET answerer = NULL WHERE id = $1`, second);
    const readAnsweredBy = async (id: string) => (await tenant.api.get(`/api/questions/${id}`)).body.answeredBy;
    expect([await readAnsweredBy(questionId), await readAnsweredBy(second)]).toEqual([
      { id: 'k1', name: 'k1' },
      { id: null, email: user.email },
    ]);
  });
});
