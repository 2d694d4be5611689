import type { AutopilotSession, Question, SessionAction } from '@muster/contracts';
import { waitFor } from '@muster/testing';
import { createTask, FakeBrowsers } from './fake-browser.harness';

jest.setTimeout(120_000);

const placeholder = '{{one-time-code}}';

function createAction(name: string, more: Partial<SessionAction> = {}): SessionAction {
  const selectors = [{ kind: 'role', selector: `aria/${name}` }] as SessionAction['selectors'];
  return { action: 'click', name, selectors, value: '', all: false, submits: false, ...more };
}

function buildModelAnswer(...actions: SessionAction[]) {
  return { json: { status: 'act', reason: '', question: '', confidence: 1, actions } };
}

const unsure = { json: { status: 'unsure', reason: '', question: 'Which patient?', confidence: 0, actions: [] } };
const typeCode = buildModelAnswer(
  createAction('Code', { action: 'fill', value: placeholder }),
  createAction('Continue'),
);

describe('the question of a paused session', () => {
  let browsers: FakeBrowsers;

  beforeAll(async () => {
    browsers = await FakeBrowsers.start();
  });
  afterAll(() => browsers.end());
  beforeEach(() => {
    browsers.model.reset();
    browsers.received.length = 0;
    browsers.open = () => ({});
    browsers.look = () => ({});
    browsers.attempt = () => ({});
  });

  const startSession = async (more: object = {}) => {
    const agentId = await browsers.makeAgent();
    const agent = browsers.getClient(agentId);
    const { body } = await agent.act({ action: 'start', task: createTask(), ...more });
    const sessionId = body.sessionId as string;
    /** An answered session stays paused until it is advanced, so a pause counts only if its question is open. */
    const waitForEnd = () =>
      waitFor(
        'the end of the session',
        async () => {
          const session = await agent.until(sessionId, 'completed', 'failed', 'cancelled', 'paused');
          const questionId = session.pausedFor?.questionId;
          return (!questionId || (await readQuestion(questionId)).status === 'open') && session;
        },
        60_000,
      );
    return { ...agent, agentId, sessionId, waitForEnd };
  };
  type Started = Awaited<ReturnType<typeof startSession>>;
  const readQuestion = async (id: string): Promise<Question> =>
    (await browsers.tenant.as.viewer.get(`/api/questions/${id}`)).body;
  const waitForQuestion = async ({ sessionId, until }: Started, after?: string): Promise<Question> => {
    const paused = await waitFor('the pause', async () => {
      const session = await until(sessionId, 'paused', 'completed', 'failed');
      return session.pausedFor?.questionId !== after && session;
    });
    return readQuestion((paused as AutopilotSession).pausedFor!.questionId!);
  };
  const answerQuestion = (id: string, value: unknown) =>
    browsers.tenant.as.member.post(`/api/questions/${id}/answer`, { answer: value });
  const listOpen = async () => {
    const { body } = await browsers.tenant.as.member.get('/api/questions?status=open&mine=true&limit=200');
    return (body.questions as Question[]).map(({ id }) => id);
  };
  const querySql = <T extends object>(sql: string, values: unknown[] = []) =>
    browsers.harness.db.query<T>('system', sql, values);
  const findTablesWith = async (text: string) => {
    const tables = await querySql<{ name: string }>(
      `SELECT table_name AS name FROM information_schema.tables
       WHERE table_schema = 'public' AND table_type = 'BASE TABLE'`,
    );
    const found = await Promise.all(
      tables.map(async ({ name }) => {
        const [row] = await querySql(`SELECT 1 AS found FROM "${name}" t WHERE t::text LIKE $1 LIMIT 1`, [`%${text}%`]);
        return row ? [name] : [];
      }),
    );
    return found.flat();
  };

  it('the code that a person gives an autopilot session reaches only the browser, and is stored sealed until the end', async () => {
    browsers.look = () => ({ look: { asksFor: 'one_time_code' } });
    browsers.model.addResponses(typeCode);
    const session = await startSession();
    const question = await waitForQuestion(session);
    const { sessionId, agentId } = session;
    expect(question).toMatchObject({
      ...{ sessionId, agentId, jobId: null, kind: 'code', status: 'open', to: [], screenshotUrl: null },
      question: expect.stringContaining('one-time code'),
      context: { task: expect.any(String), step: 'Do it' },
    });
    expect(await listOpen()).toContain(question.id);
    let duringAttempt: Promise<string[]> | undefined;
    browsers.attempt = () => {
      duringAttempt = findTablesWith('q7w2e9r4');
      return {};
    };
    expect(await answerQuestion(question.id, 'not a code')).toMatchObject({ status: 400 });
    expect(await answerQuestion(question.id, 'q7w2e9r4')).toMatchObject({
      status: 200,
      body: { status: 'answered', answer: null, answeredVia: 'console' },
    });
    expect(await answerQuestion(question.id, 'q7w2e9r4')).toMatchObject({
      status: 409,
      body: { code: 'already_answered' },
    });
    expect(await session.waitForEnd()).toMatchObject({ status: 'completed', steps: [{ stableCode: null }] });
    const attempts = browsers.received.filter(({ kind }) => kind === 'autopilot_attempt');
    expect(attempts.map(({ payload }) => payload)).toMatchObject([
      { codes: { 'one-time-code': 'q7w2e9r4' }, actions: [{ value: placeholder }, {}] },
    ]);
    const messages = JSON.stringify(browsers.model.calls);
    expect(JSON.parse(browsers.model.calls.at(-1)!.lastUserText)).toMatchObject({
      secrets: ['one-time-code'],
      step: { instruction: expect.stringContaining(placeholder) },
    });
    expect([messages.includes('q7w2e9r4'), await duringAttempt, await findTablesWith('q7w2e9r4')]).toEqual([
      ...[false, [], []],
    ]);
    expect(await querySql('SELECT sealed FROM question WHERE id = $1', [question.id])).toEqual([{ sealed: null }]);
  });

  it('an autopilot session types a code once, and asks for another one if the page still asks for a code', async () => {
    browsers.look = () => ({ look: { asksFor: 'one_time_code' } });
    browsers.attempt = ({ codes }) =>
      codes?.['one-time-code'] === '222222' ? {} : { outcome: 'failed', why: 'expect', error: 'still here' };
    browsers.model.addRule(() => typeCode);
    const session = await startSession();
    const first = await waitForQuestion(session);
    await answerQuestion(first.id, '111111');
    const second = await waitForQuestion(session, first.id);
    expect([second.kind, second.status]).toEqual(['code', 'open']);
    await answerQuestion(second.id, '222222');
    expect(await session.waitForEnd()).toMatchObject({ status: 'completed' });
    const codes = browsers.received.flatMap(({ payload }) => (payload['codes'] ? [payload['codes']] : []));
    expect(codes).toEqual([{ 'one-time-code': '111111' }, { 'one-time-code': '222222' }]);
  });

  it('an autopilot session submits only after a person has confirmed it, and is cancelled if the answer is no', async () => {
    browsers.model.addRule(() => buildModelAnswer(createAction('Send', { submits: true })));
    const [allowed, refused] = await Promise.all([1, 2].map(() => startSession({ approve: 'before_submit' })));
    const questions = await Promise.all([waitForQuestion(allowed!), waitForQuestion(refused!)]);
    expect(questions.map(({ kind }) => kind)).toEqual(['confirm', 'confirm']);
    await Promise.all([answerQuestion(questions[0].id, true), answerQuestion(questions[1].id, false)]);
    expect((await allowed!.waitForEnd()).status).toBe('completed');
    expect(await refused!.until(refused!.sessionId, 'cancelled', 'failed', 'completed')).toMatchObject({
      status: 'cancelled',
      error: expect.stringContaining('with no'),
    });
    expect([allowed, refused].map((session) => browsers.sent.get(session!.sessionId))).toEqual([1, undefined]);
  });

  it('an unsure autopilot session accepts an instruction for the model, and one with an unknown outcome a choice', async () => {
    browsers.model.addResponses(unsure, unsure, buildModelAnswer(createAction('Ann')));
    const first = await startSession();
    const open = await waitForQuestion(first);
    expect(open).toMatchObject({ kind: 'text', question: 'Which patient?' });
    await answerQuestion(open.id, 'Ann Lee, born in 1980');
    expect((await first.waitForEnd()).status).toBe('completed');
    const { step } = JSON.parse(browsers.model.calls.at(-1)!.lastUserText) as { step: { instruction: string } };
    expect(step.instruction).toBe('Ann Lee, born in 1980');

    browsers.model.addResponses(buildModelAnswer(createAction('Send', { submits: true })));
    browsers.attempt = ({ maySubmit }) =>
      maySubmit ? { status: 'failed', code: 'interrupted', error: 'gone', output: { submit: 'unknown', at: 0 } } : {};
    const second = await startSession();
    const unknown = await waitForQuestion(second);
    expect(unknown).toMatchObject({ kind: 'choice', choices: ['Do it again', 'Skip the step'] });
    await answerQuestion(unknown.id, 'Skip the step');
    expect(await second.waitForEnd()).toMatchObject({ status: 'completed', steps: [{ status: 'skipped' }] });
  });

  it('an autopilot session fails if its question is declined or expires, and closes it if the session is cancelled', async () => {
    browsers.look = () => ({ look: { asksFor: 'captcha' } });
    const [declined, expired, cancelled] = await Promise.all([1, 2, 3].map(() => startSession()));
    const ids = await Promise.all(
      [declined, expired, cancelled].map(async (each) => (await waitForQuestion(each!)).id),
    );
    const decline = await browsers.tenant.as.member.post(`/api/questions/${ids[0]}/decline`, { reason: 'no phone' });
    expect(decline.status).toBe(200);
    expect(await declined!.waitForEnd()).toMatchObject({
      status: 'failed',
      error: 'The question of the paused session was declined: no phone',
    });
    await querySql('UPDATE question SET expires_at = muster_now() WHERE id = $1', [ids[1]]);
    expect(await expired!.until(expired!.sessionId, 'failed')).toMatchObject({ code: 'execution_timeout' });
    await cancelled!.act({ action: 'cancel', sessionId: cancelled!.sessionId });
    expect((await cancelled!.until(cancelled!.sessionId, 'cancelled')).status).toBe('cancelled');
    const ended = await Promise.all(ids.map((id) => readQuestion(id)));
    expect(ended.map(({ status }) => status)).toEqual(['cancelled', 'expired', 'cancelled']);
    expect(await answerQuestion(ids[2]!, true)).toMatchObject({ status: 409, body: { code: 'question_over' } });
    expect((await listOpen()).filter((id) => ids.includes(id))).toEqual([]);
  });

  it('the workflow of an autopilot session asks a person where the session got a code, and contains no code', async () => {
    browsers.look = () => ({ look: { asksFor: 'one_time_code' } });
    browsers.model.addResponses(typeCode);
    browsers.attempt = () => ({
      steps: [
        { type: 'click', selectors: ['#send-code'] },
        { type: 'change', selectors: ['#code'], value: placeholder },
      ],
    });
    const session = await startSession();
    const question = await waitForQuestion(session);
    await answerQuestion(question.id, 'k7w2e9r4');
    const { workflowId, steps } = await session.waitForEnd();
    expect(steps).toMatchObject([{ status: 'passed', stableCode: null }]);
    const { body } = await browsers.tenant.as.member.get(`/api/workflows/${workflowId}`);
    const lines = (body.script as string).split('\n').map((line) => line.trim());
    const first = lines.findIndex((line) => line.includes('#send-code'));
    expect(lines.slice(first, first + 4)).toEqual([
      'page.click(["#send-code"])',
      `ask_people(browser, ${JSON.stringify(question.question)}, "one-time-code", kind="code")`,
      // eslint-disable-next-line plain/words -- The name of a Python method.
      'with page.settled():',
      `fill_in(page, ["#code"], ${JSON.stringify(placeholder)})`,
    ]);
    expect(await findTablesWith('k7w2e9r4')).toEqual([]);
  });

  it('a resume of an autopilot session answers its question, and a code in the resume is sealed like an answer', async () => {
    browsers.look = () => ({ look: { asksFor: 'one_time_code' } });
    browsers.model.addRule(() => typeCode);
    const session = await startSession();
    const { id } = await waitForQuestion(session);
    const { sessionId } = session;
    const stepOverride = { instruction: 'Enter 5550199 and continue.' };
    expect((await session.act({ action: 'resume', sessionId, stepOverride })).status).toBe(202);
    expect(await session.waitForEnd()).toMatchObject({ status: 'completed' });
    expect(await readQuestion(id)).toMatchObject({ status: 'answered', answer: null, answeredVia: 'api' });
    expect(browsers.received.flatMap(({ payload }) => payload['codes'] ?? [])).toEqual([
      { 'one-time-code': '5550199' },
    ]);
    const { step } = JSON.parse(browsers.model.calls.at(-1)!.lastUserText) as { step: { instruction: string } };
    expect(step.instruction).toBe(`Enter ${placeholder} and continue.`);
    expect([JSON.stringify(browsers.model.calls).includes('5550199'), await findTablesWith('5550199')]).toEqual([
      ...[false, []],
    ]);
  });

  it('an autopilot session gets codes of a TOTP secret that it names, each code once, but not the secret', async () => {
    const secret = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';
    const value = `otpauth://totp/Payer:us?secret=${secret}&period=2&digits=8`;
    expect((await browsers.tenant.as.admin.put('/api/vault/DD_TOTP', { kind: 'totp', value })).status).toBe(200);
    browsers.model.addRule(() => buildModelAnswer(createAction('Code', { action: 'fill', value: '{{totp:DD_TOTP}}' })));
    const sessions = await Promise.all([1, 2].map(() => startSession({ vaultKeys: ['DD_TOTP'] })));
    for (const each of sessions) expect((await each.waitForEnd()).status).toBe('completed');
    expect(JSON.parse(browsers.model.calls[0]!.lastUserText)).toMatchObject({ secrets: ['totp:DD_TOTP'] });
    const attempts = browsers.received.filter(({ kind }) => kind === 'autopilot_attempt');
    const codes = attempts.map(({ payload }) => (payload['codes'] as Record<string, string>)['totp:DD_TOTP']!);
    expect(codes).toEqual([expect.stringMatching(/^\d{8}$/), expect.stringMatching(/^\d{8}$/)]);
    expect(codes[0]).not.toBe(codes[1]);
    const sent = JSON.stringify([browsers.received, browsers.model.calls]);
    const tables = await Promise.all([secret, ...codes].map((each) => findTablesWith(each)));
    expect([sent.includes(secret), tables.flat()]).toEqual([false, []]);
    expect(JSON.stringify(browsers.model.calls)).not.toContain(codes[0]);
  });

  it('a paused autopilot session resumes even if the message about the answer to its question is lost', async () => {
    browsers.look = () => ({ look: { asksFor: 'captcha' } });
    const session = await startSession();
    const { id } = await waitForQuestion(session);
    browsers.look = () => ({});
    browsers.model.addRule(() => buildModelAnswer(createAction('It')));
    // The row of an answer without its message: a process of the previous version handled the message and did nothing.
    await querySql(
      `UPDATE question SET status = 'answered', answer = '{"value": true}', ended_at = muster_now() WHERE id = $1`,
      [id],
    );
    expect(await session.until(session.sessionId, 'completed', 'failed', 'cancelled')).toMatchObject({
      status: 'completed',
    });
  });

  it('if an answer and a resume of an autopilot session arrive concurrently, one is applied and the other gets 409', async () => {
    browsers.look = () => ({ look: { asksFor: 'captcha' } });
    const sessions = await Promise.all([1, 2, 3, 4].map(() => startSession()));
    // The page stops asking only after all sessions are paused.
    const ids = await Promise.all(sessions.map(async (session) => (await waitForQuestion(session)).id));
    browsers.look = () => ({});
    for (const [at, session] of sessions.entries()) {
      const id = ids[at]!;
      browsers.model.addRule(() => buildModelAnswer(createAction('It')));
      const { sessionId } = session;
      const results = await Promise.all([answerQuestion(id, true), session.act({ action: 'resume', sessionId })]);
      expect(results.map(({ status }) => (status < 300 ? 'ok' : status)).sort()).toEqual([409, 'ok']);
      expect((await session.waitForEnd()).status).toBe('completed');
    }
  });
});
