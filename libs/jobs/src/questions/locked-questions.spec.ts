import { signText } from '@muster/access';
import type { AskQuestionBody } from '@muster/contracts';
import { newId } from '@muster/platform';
import { runBehindLock } from '@muster/testing';
import { KeyRing } from '@muster/vault';
import { finishJob } from '../ends/finish-job';
import { type JobsFixture, openJobsFixture } from '../testing/jobs.harness';
import { answerQuestion, declineQuestion, expireQuestion, toAnswerer } from './answer-question';
import { askQuestion } from './ask-question';
import { createInboundCode } from './inbound-codes';
import { receiveInboundMessage } from './receive-inbound-message';

describe('questions and messages that wait for a row', () => {
  let fixture: JobsFixture;
  let jobId: string;
  let inboundId: string;
  let secret: string;

  beforeAll(async () => {
    fixture = await openJobsFixture();
  });
  afterAll(() => fixture.close());
  beforeEach(async () => {
    const { organizationId, harness, caller } = fixture;
    jobId = await fixture.dispatched({ agentId: await fixture.makeOnlineAgent() });
    const made = await harness.db.transaction({ organizationId }, (tx) =>
      createInboundCode(tx, keyRing(), caller, { name: `codes-${newId()}` }),
    );
    ({ secret } = made);
    inboundId = made.row.id;
  });

  const keyRing = () => fixture.harness.app.nest.get(KeyRing, { strict: false });
  const getQuestionParts = () => ({ database: fixture.harness.db, keyRing: keyRing() });
  const askQuestionOfRun = async (questionKey: string, more: Partial<AskQuestionBody> = {}) => {
    const [{ agentId }] = await fixture.query('SELECT agent_id FROM job WHERE id = $1', [jobId]);
    const reporter = { organizationId: fixture.organizationId, agentId };
    const body = { questionKey, question: 'The code?', kind: 'code', timeoutSeconds: 600, ...more };
    return askQuestion(fixture.harness.db, reporter, jobId, body as AskQuestionBody);
  };
  /** Turns a question of a run into the question of a paused autopilot session; returns the id of the session. */
  const makeQuestionOfSession = async (id: string) => {
    const sessionId = newId();
    await fixture.query(
      `INSERT INTO autopilot_session (id, organization_id, agent_id, status, phase, asked_by, max_steps, max_attempts,
         max_active_ms, max_cost_micros, approve)
       SELECT $1, organization_id, agent_id, 'paused', 'look', '{"kind":"api_key","id":"testkey01"}', 10, 3, 60000, 1,
         'never' FROM question WHERE id = $2`,
      [sessionId, id],
    );
    await fixture.query('UPDATE question SET job_id = NULL, session_id = $2 WHERE id = $1', [id, sessionId]);
    return sessionId;
  };
  const inboundName = async () =>
    (await fixture.query('SELECT name FROM inbound_code WHERE id = $1', [inboundId]))[0].name as string;
  const receiveMessage = (text: string) => {
    const now = new Date();
    const bytes = Buffer.from(JSON.stringify({ from: '+15550100', text }));
    const signature = signText([secret], bytes.toString(), now);
    const getHeader = (key: string) => (key === 'x-service-signature' ? signature : undefined);
    const posted = { url: 'https://muster.example/', contentType: 'application/json', bytes, header: getHeader };
    return receiveInboundMessage(getQuestionParts(), { inboundId, posted, now });
  };

  it('a question is rejected if its run is cancelled while the question waits for the run’s row', async () => {
    const { organizationId } = fixture;
    const question = runBehindLock(
      fixture.harness.db,
      (tx) => tx.query('SELECT FROM job WHERE id = $1 FOR UPDATE', [jobId]),
      () => [askQuestionOfRun('one')],
      (tx) => finishJob(tx, { organizationId, jobId, to: 'cancelled', source: 'watchdog', error: null }),
    );
    await expect(question).rejects.toMatchObject({ code: 'conflict' });
    expect(await fixture.query('SELECT FROM question WHERE job_id = $1', [jobId])).toEqual([]);
  });

  it('two messages that arrive at one inbound address at the same time answer two different questions', async () => {
    const inbound = await inboundName();
    await askQuestionOfRun('one', { inbound });
    await askQuestionOfRun('two', { inbound });
    await runBehindLock(
      fixture.harness.db,
      (tx) => tx.query('SELECT FROM inbound_code WHERE id = $1 FOR UPDATE', [inboundId]),
      () => [receiveMessage('code 111111'), receiveMessage('code 222222')],
    );
    const questions = await fixture.query('SELECT status FROM question WHERE job_id = $1', [jobId]);
    expect(questions).toEqual([{ status: 'answered' }, { status: 'answered' }]);
  });

  it('if two answers to a question without a run arrive at the same time, the second one is rejected', async () => {
    const { organizationId, harness, caller } = fixture;
    const {
      question: { questionId: id },
    } = await askQuestionOfRun('one', { kind: 'text' });
    // The question of an autopilot session has no run, so only its own row is locked.
    await makeQuestionOfSession(id);
    const answerOpenQuestion = (value: string) =>
      harness.db
        .transaction({ organizationId }, (tx) =>
          answerQuestion(tx, keyRing(), toAnswerer(caller), { id, answer: value }),
        )
        .then(
          () => 'answered',
          ({ code }: { code: string }) => code,
        );
    const results = await runBehindLock(
      harness.db,
      (tx) => tx.query('SELECT FROM question WHERE id = $1 FOR UPDATE', [id]),
      () => [answerOpenQuestion('first'), answerOpenQuestion('second')],
    );
    expect(results.sort()).toEqual(['already_answered', 'answered']);
  });

  it.each(['answered', 'cancelled', 'expired'])(
    'a question of an autopilot session that is %s enqueues a message for the session in the same transaction',
    async (status) => {
      const { organizationId, harness, caller } = fixture;
      const { question } = await askQuestionOfRun('one', { kind: 'text' });
      const { questionId: id } = question;
      const sessionId = await makeQuestionOfSession(id);
      if (status === 'expired')
        await fixture.query('UPDATE question SET expires_at = muster_now() WHERE id = $1', [id]);
      await harness.db.transaction({ organizationId }, async (tx) => {
        const answerer = toAnswerer(caller);
        if (status === 'answered') await answerQuestion(tx, keyRing(), answerer, { id, answer: 'Ann Lee' });
        if (status === 'cancelled') await declineQuestion(tx, keyRing(), answerer, { id });
        if (status === 'expired') await expireQuestion(tx, keyRing(), { id, organizationId });
      });
      expect(await fixture.query('SELECT status FROM question WHERE id = $1', [id])).toEqual([{ status }]);
      const messages = await fixture.query(
        `SELECT name FROM outbox WHERE queue = 'autopilot' AND payload->>'sessionId' = $1`,
        [sessionId],
      );
      expect(messages).toEqual([{ name: 'advance-session' }]);
    },
  );
});
