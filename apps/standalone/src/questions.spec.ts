import { newId } from '@muster/platform';
import { waitFor } from '@muster/testing';
import { createQuestionHelpers } from './questions.harness';
import { AutopilotHarness, chromium, noChromium } from './autopilot/autopilot.harness';

const itPlaysSteps = chromium ? it : it.skip;

jest.setTimeout(120_000);

/** Runs the whole service and a real worker: a run asks a question, a person answers, and the run continues. */
describe('a run that asks a question', () => {
  let pilot: AutopilotHarness;

  beforeAll(async () => {
    pilot = await AutopilotHarness.start();
  });
  afterAll(() => pilot.close());

  const { launch, job, ended, open, answer, running, ask, rows } = createQuestionHelpers(() => pilot);

  it('a code that a person enters reaches its run, is redacted in output, and is deleted when the run ends', async () => {
    const code = '739182';
    const jobId = await launch(
      [
        'code = muster.ask("Code from the phone", kind="code", timeout="60s", context={"claim": "C-1"})',
        'print("the code is", code)',
        'muster.log("info", "again " + code)',
        'muster.result({"length": len(code), "code": code})',
        'muster.ask("Continue?", kind="confirm")',
      ].join('\n'),
    );
    const question = await open(jobId);
    expect(question).toMatchObject({ jobId, kind: 'code', question: 'Code from the phone', context: { claim: 'C-1' } });
    const { asking, status } = await job(jobId);
    expect([status, asking]).toMatchObject(['running', { questionId: question.id, question: 'Code from the phone' }]);
    const responses = await Promise.all([answer(question.id, code), answer(question.id, code)]);
    expect(responses.map((each) => each.status).sort()).toEqual([200, 409]);
    expect(responses.find((each) => each.status === 409)!.body.code).toBe('already_answered');
    const answeredAt = Date.now();
    const next = await waitFor('the next question', async () => {
      const { body } = await pilot.tenant.api.get(`/api/questions?jobId=${jobId}&status=open`);
      return body.questions[0];
    });
    expect(Date.now() - answeredAt).toBeLessThan(3000);
    const [{ sealed }] = await rows('SELECT sealed FROM question WHERE id = $1', question.id);
    expect(sealed).toMatchObject({ sealed: expect.any(String) });
    await answer(next.id, true);
    const finished = await ended(jobId);
    expect(finished).toMatchObject({ status: 'completed', result: { length: 6, code: '[redacted]' }, asking: null });
    expect(finished.waitingForPersonSeconds).toBeGreaterThan(0);
    const read = await pilot.tenant.api.get(`/api/questions/${question.id}`);
    expect(read.body).toMatchObject({ status: 'answered', answer: null, answeredVia: 'console' });
    const { user } = (await pilot.tenant.as.member.get('/api/auth/me')).body;
    expect(read.body.answeredBy).toEqual({ id: user.id, email: user.email });
    // No table contains the code, and its sealed values are deleted.
    const tables = await rows(`SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'`);
    for (const { tableName } of tables) {
      const [{ found }] = await rows(
        `SELECT count(*)::int AS found FROM "${tableName}" t WHERE t::text LIKE $1`,
        `%${code}%`,
      );
      expect([tableName, found]).toEqual([tableName, 0]);
    }
    expect(await rows('SELECT id FROM question WHERE job_id = $1 AND sealed IS NOT NULL', jobId)).toEqual([]);
    expect(await rows(`SELECT id FROM agent_command WHERE job_id = $1 AND payload ? 'sealed'`, jobId)).toEqual([]);
    expect(pilot.harness.logs.join('')).not.toContain(code);
  });

  it('a waiting run continues after a restart of its worker with the answer that arrived in between', async () => {
    const jobId = await launch('print("got", muster.ask("Which?", kind="choice", choices=["a", "b"]))');
    const { id } = await open(jobId);
    await pilot.killWorker();
    expect((await answer(id, 'c')).status).toBe(400);
    expect((await answer(id, 'b')).status).toBe(200);
    await pilot.startWorker();
    expect(await ended(jobId)).toMatchObject({ status: 'completed' });
    const logs = await pilot.tenant.api.get(`/api/agents/${pilot.agentId}/logs?jobId=${jobId}&kind=execution`);
    expect(JSON.stringify(logs.body)).toContain('got b');
    const { body } = await pilot.tenant.api.get(`/api/questions?jobId=${jobId}`);
    expect(body.questions).toHaveLength(1);
  });

  it('a question that times out returns its default, or raises NotAnswered without a default', async () => {
    const jobId = await launch(
      'print("default", muster.ask("One?", timeout="1s", default=7))\nmuster.ask("Two?", timeout="1s")',
    );
    const finished = await ended(jobId);
    expect(finished).toMatchObject({ status: 'failed' });
    expect(finished.error).toContain('NotAnswered: nobody answered in time');
    const { body } = await pilot.tenant.api.get(`/api/questions?jobId=${jobId}`);
    expect(body.questions.map(({ status }: { status: string }) => status)).toEqual(['expired', 'expired']);
  });

  it('muster.ask raises an error at once if a person declines or the service refuses the question', async () => {
    const jobId = await launch(
      [
        'try: muster.ask("Send?", kind="form", fields=[{"name": "x", "type": "no such"}])',
        'except ValueError as error: print(error)',
        'try: muster.ask("Send?", kind="form", fields=["to"])',
        'except muster.NotAnswered as error: muster.result({"status": error.status, "reason": error.reason})',
      ].join('\n'),
    );
    const { id } = await open(jobId);
    await pilot.tenant.as.member.post(`/api/questions/${id}/decline`, { reason: 'not today' });
    expect(await ended(jobId)).toMatchObject({ result: { status: 'cancelled', reason: 'not today' } });
  });

  it('a run asks once per question key, and invalid answers and questions are refused', async () => {
    const { id: jobId } = await running();
    const fields = [{ name: 'npi' }, { name: 'paid', type: 'number', required: false }];
    const first = await ask(jobId, { kind: 'form', fields });
    const again = await ask(jobId, { kind: 'form', fields });
    expect([first.status, again.status, again.body]).toEqual([201, 200, first.body]);
    const { questionId } = first.body;
    for (const value of [{}, { npi: '1', other: 1 }, { npi: '1', paid: 'x' }, 'x', [], { npi: ' ' }]) {
      expect((await answer(questionId, value)).status).toBe(400);
    }
    expect((await answer(questionId, { npi: '1', paid: 2 })).body).toMatchObject({ answer: { npi: '1', paid: 2 } });
    const code = (await ask(jobId, { kind: 'code', questionKey: 'two' })).body.questionId;
    for (const value of ['123', '12345678901', '12 34', 1234, '']) expect((await answer(code, value)).status).toBe(400);
    const wrong = [{ kind: 'choice' }, { kind: 'form' }, { to: ['role:nobody'] }, { screenshotKey: 'x' }];
    for (const more of wrong) expect((await ask(jobId, { questionKey: newId(), ...more })).status).toBe(400);
  });

  it('a question can be answered only by the people whom it is addressed to', async () => {
    const { id: jobId } = await running();
    const { as, api } = pilot.tenant;
    const { questionId: admins } = (await ask(jobId, { to: ['role:admin'] })).body;
    const body = { answer: 'x' };
    for (const client of [as.member, api]) {
      expect((await client.post(`/api/questions/${admins}/answer`, body)).status).toBe(403);
      expect((await client.post(`/api/questions/${admins}/decline`, {})).status).toBe(403);
    }
    expect((await as.viewer.post(`/api/questions/${admins}/answer`, body)).status).toBe(403);
    const listOwnQuestions = async (client: typeof api) =>
      (await client.get(`/api/questions?mine=true&jobId=${jobId}`)).body.questions;
    expect([await listOwnQuestions(as.member), (await listOwnQuestions(as.admin)).length]).toEqual([[], 1]);
    const { questionId: everyones } = (await ask(jobId, { questionKey: 'two' })).body;
    const listIds = (questions: { id: string }[]) => questions.map(({ id }) => id);
    expect([listIds(await listOwnQuestions(as.member)), await listOwnQuestions(as.viewer)]).toEqual([[everyones], []]);
    const oldestFirst = await api.get(`/api/questions?jobId=${jobId}&order=asc&limit=1`);
    expect(listIds(oldestFirst.body.questions)).toEqual([admins]);
    const next = await api.get(`/api/questions?jobId=${jobId}&order=asc&cursor=${oldestFirst.body.nextCursor}`);
    expect(listIds(next.body.questions)).toEqual([everyones]);
    expect((await as.admin.post(`/api/questions/${admins}/answer`, body)).status).toBe(200);
  });

  it('a worker that waits for an answer receives every answer at once, also a code, but none after the run has ended', async () => {
    const { id: jobId } = await running();
    const { questionId } = (await ask(jobId, { kind: 'code' })).body;
    const path = `/api/jobs/${jobId}/questions/${questionId}`;
    const waiting = pilot.tenant.worker.get(`${path}?wait=25`);
    const began = Date.now();
    await answer(questionId, 'AB12');
    expect((await waiting).body).toMatchObject({ status: 'answered', answer: 'AB12', questionKey: 'one' });
    expect(Date.now() - began).toBeLessThan(2000);
    expect((await pilot.tenant.api.get(path)).status).toBe(403);
    await pilot.tenant.worker.post('/api/job-webhook', { jobId, status: 'completed' });
    expect((await pilot.tenant.worker.get(path)).body.code).toBe('question_over');
  });

  it('a run that has ended or is being cancelled has no open questions, and cannot ask more', async () => {
    const [one, two] = [await running(), await running()];
    const [first, second] = [await ask(one.id), await ask(two.id)];
    await pilot.tenant.worker.post('/api/job-webhook', { jobId: one.id, status: 'completed' });
    await pilot.tenant.api.post(`/api/jobs/${two.id}/cancel`, {});
    for (const { body } of [first, second]) {
      const read = await pilot.tenant.api.get(`/api/questions/${body.questionId}`);
      expect(read.body.status).toBe('cancelled');
      expect((await answer(body.questionId, 'late')).body.code).toBe('question_over');
    }
    expect((await ask(one.id, { questionKey: 'late' })).status).toBe(409);
    expect((await ask(two.id, { questionKey: 'late' })).status).toBe(409);
  });

  it('the timeout of a question is limited to the remaining runtime of its run', async () => {
    const { id: jobId } = await running({ maxRuntimeMs: 60_000 });
    const response = await ask(jobId, { timeoutSeconds: 3600 });
    expect(response.body.shortened).toBe(true);
    const left = Date.parse(response.body.expiresAt) - Date.now();
    expect([left > 40_000, left < 60_000]).toEqual([true, true]);
  });

  it('a question ends once if an answer races with a cancel or with the run’s end', async () => {
    for (const end of ['cancel', 'finish'] as const) {
      const { id: jobId } = await running();
      const { questionId } = (await ask(jobId)).body;
      const ending =
        end === 'cancel'
          ? pilot.tenant.api.post(`/api/jobs/${jobId}/cancel`, {})
          : pilot.tenant.worker.post('/api/job-webhook', { jobId, status: 'completed' });
      const [answered, ended] = await Promise.all([answer(questionId, 'x'), ending]);
      expect(ended.status).toBeLessThan(300);
      expect([200, 409]).toContain(answered.status);
      const { body } = await pilot.tenant.api.get(`/api/questions/${questionId}`);
      expect(body.status).toBe(answered.status === 200 ? 'answered' : 'cancelled');
    }
  });

  itPlaysSteps(
    `a step can ask a question, and its answer reaches later steps and the result${noChromium}`,
    async () => {
      const { tenant, agentId } = pilot;
      const steps = [
        {
          id: 'a',
          type: 'ask',
          question: 'Who signs?',
          kind: 'choice',
          choices: ['Ada', 'Bo'],
          as: 'who',
          waits: '60s',
        },
        { id: 'b', type: 'python', code: 'print("signed by", results["who"])' },
      ];
      const workflow = await tenant.as.member.post('/api/workflows', { name: newId(), variables: [], steps });
      expect(workflow.status).toBe(201);
      const launched = await tenant.api.post('/api/jobs/launch', { workflowId: workflow.body.id, agentId });
      const { id } = await open(launched.body.jobId);
      await answer(id, 'Bo');
      expect(await ended(launched.body.jobId)).toMatchObject({ status: 'completed', result: { who: 'Bo' } });
    },
  );
});
