import { newId } from '@muster/platform';
import { EventStream, waitFor } from '@muster/testing';
import { Client } from 'pg';
import { FakeBrowsers, createTask } from './fake-browser.harness';

jest.setTimeout(120_000);

const act = {
  json: {
    ...{ status: 'act', reason: '', question: '', confidence: 1 },
    actions: [
      {
        ...{ action: 'click', name: 'it', value: '', all: false, submits: true },
        selectors: [{ kind: 'role', selector: 'aria/it[role="button"]' }],
      },
    ],
  },
};

describe('a session with failures', () => {
  let browsers: FakeBrowsers;

  beforeAll(async () => {
    browsers = await FakeBrowsers.start();
  });
  afterAll(() => browsers.end());
  beforeEach(() => {
    browsers.model.reset();
    browsers.model.addRule(() => act);
    browsers.received.length = 0;
    browsers.open = () => ({});
    browsers.look = () => ({});
  });

  const startSession = async (more: object = {}) => {
    const agentId = await browsers.makeAgent();
    const agent = browsers.getClient(agentId);
    const { body } = await agent.act({ action: 'start', task: createTask(), ...more });
    return { ...agent, agentId, sessionId: body.sessionId as string };
  };
  const querySql = <T extends object>(text: string, values: unknown[] = []) =>
    browsers.harness.db.query<T>('system', text, values);

  it('an autopilot session that cannot be advanced fails with a reason after retries with growing delays', async () => {
    const faulty = { agentId: '' };
    browsers.open = ({ agentId }) =>
      agentId === faulty.agentId ? ({ output: { reused: false, startError: null } } as never) : {};
    const agentId = await browsers.makeAgent();
    faulty.agentId = agentId;
    const agent = browsers.getClient(agentId);
    const { sessionId } = (await agent.act({ action: 'start', task: createTask() })).body;
    interface Row {
      faults: number;
      restMs: number;
      rung: number;
    }
    const readRetryState = async () =>
      (
        await querySql<Row>(
          `SELECT faults, (EXTRACT(epoch FROM ring_at - now()) * 1000)::int AS rest_ms,
             (SELECT count(*)::int FROM outbox WHERE payload->>'sessionId' = id::text) AS rung
           FROM autopilot_session WHERE id = $1`,
          [sessionId],
        )
      )[0]!;
    const rests: number[] = [];
    for (let faults = 1; faults < 8; faults += 1) {
      const row = await waitFor(`failure ${faults}`, async () => {
        const now = await readRetryState();
        return now.faults === faults && now;
      });
      rests.push(row.restMs);
      // No message about the session is enqueued during the delay.
      expect(row.rung).toBe(0);
      await querySql(`UPDATE autopilot_session SET ring_at = now() WHERE id = $1`, [sessionId]);
    }
    for (const [at, restMs] of rests.entries()) {
      // now() of the query may be slightly before the failure was stored, so the measured delay can be too long.
      expect(restMs).toBeLessThan(Math.min(60_000, 1000 * 2 ** at) + 100);
      expect(restMs).toBeGreaterThan(Math.min(60_000, 1000 * 2 ** at) - 1000);
    }
    const ended = await agent.until(sessionId, 'failed', 'completed');
    expect(ended).toMatchObject({
      status: 'failed',
      code: 'internal_error',
      error: expect.stringContaining('which has logged it'),
    });
    // The session's browser was closed, and its agent accepts a new session.
    expect(
      browsers.received.some(
        ({ kind, agentId: closedAgentId }) => kind === 'autopilot_close' && closedAgentId === agentId,
      ),
    ).toBe(true);
    faulty.agentId = '';
    expect((await agent.act({ action: 'start', task: createTask() })).status).toBe(202);
    expect(browsers.harness.logs.join('')).toContain('could not advance an autopilot session');
  });

  it('an autopilot session continues normally after one failed attempt to advance it', async () => {
    const owner = new Client({ connectionString: browsers.harness.databaseUrl });
    await owner.connect();
    await owner.query(`
      CREATE FUNCTION break() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'broken'; END $$;
      CREATE TRIGGER broken BEFORE INSERT ON autopilot_attempt FOR EACH ROW EXECUTE FUNCTION break()`);
    const session = await startSession();
    const { sessionId } = session;
    const countFaults = async () =>
      (await querySql<{ faults: number }>('SELECT faults FROM autopilot_session WHERE id = $1', [sessionId]))[0]!
        .faults;
    await waitFor('a failure', async () => (await countFaults()) > 0);
    await owner.query('DROP FUNCTION break CASCADE');
    await owner.end();
    expect(await session.until(sessionId, 'completed', 'failed', 'paused')).toMatchObject({ error: null });
    expect(await countFaults()).toBe(0);
  });

  it('an autopilot session continues in another browser if its browser is lost during a page snapshot', async () => {
    let looks = 0;
    browsers.look = () => {
      looks += 1;
      return looks === 1 ? { status: 'failed', code: 'browser_lost', error: 'the browser is gone' } : {};
    };
    const session = await startSession();
    expect(await session.until(session.sessionId, 'completed', 'failed', 'paused')).toMatchObject({
      status: 'completed',
    });
    expect(browsers.received.filter(({ kind }) => kind === 'autopilot_open')).toHaveLength(2);
    const [row] = await querySql<{ faults: number }>('SELECT faults FROM autopilot_session WHERE id = $1', [
      session.sessionId,
    ]);
    expect(row!.faults).toBe(0);
  });

  it('an autopilot session fails without a model call if its start page cannot be opened', async () => {
    const startError = 'net::ERR_NAME_NOT_RESOLVED';
    const look = { url: 'chrome-error://chromewebdata/', title: '', tree: '' };
    browsers.open = () =>
      ({
        output: {
          ...{ reused: false, startError },
          look: { ...look, treeCut: false, screenshotKey: null, hasPasswordField: false, asksFor: null },
        },
      }) as never;
    const session = await startSession();
    expect(await session.until(session.sessionId, 'failed', 'completed', 'paused')).toMatchObject({
      status: 'failed',
      code: 'start_page_failed',
      error: expect.stringContaining(startError),
      metrics: { modelCalls: 0, attempts: 0 },
    });
    expect(browsers.received.at(-1)!.kind).toBe('autopilot_close');
    expect(browsers.model.calls).toEqual([]);
    const { body } = await browsers.tenant.api.get(`/api/agents/${session.agentId}/logs?level=warn`);
    expect(body.entries[0].message).toContain(`could not open its start page: ${startError}`);
  });

  it('an autopilot session that continues with a partly loaded start page reports this to the model', async () => {
    const startError = 'the page was not loaded in time';
    const look = { url: 'http://portal.test/', title: '', tree: '- text "…"', treeCut: false, screenshotKey: null };
    browsers.open = () =>
      ({ output: { reused: false, startError, look: { ...look, hasPasswordField: false, asksFor: null } } }) as never;
    const session = await startSession();
    expect(await session.until(session.sessionId, 'failed', 'completed', 'paused')).toMatchObject({
      status: 'completed',
    });
    expect((JSON.parse(browsers.model.calls[0]!.lastUserText) as { lastError: string }).lastError).toContain(
      startError,
    );
  });

  it('the model receives a screenshot only if the file that the worker uploaded is an image that is not too large', async () => {
    const agentId = await browsers.makeAgent();
    const jpeg = Buffer.from('\xff\xd8\xff\xe0 a page', 'latin1');
    const sent: [string, Buffer, boolean][] = [
      ['an image', jpeg, true],
      ['an HTML page', Buffer.from('<script>alert(1)</script>\xff\xd8\xff'), false],
      ['an image that is too large', Buffer.concat([jpeg, Buffer.alloc(5 * 1024 * 1024)]), false],
    ];
    for (const [label, bytes, isShown] of sent) {
      const ticket = (
        await browsers.tenant.worker.post(`/api/agents/${agentId}/uploads`, {
          ...{ filename: 'session-1.jpg', contentType: 'image/jpeg', size: bytes.length },
        })
      ).body;
      const { uploadUrl, headers, key: screenshotKey } = ticket;
      expect((await fetch(uploadUrl, { method: 'PUT', headers, body: new Uint8Array(bytes) })).status).toBe(200);
      browsers.look = () => ({ look: { screenshotKey } });
      const agent = browsers.getClient(agentId);
      browsers.model.calls.length = 0;
      const { sessionId } = (await agent.act({ action: 'start', task: createTask({ title: label }) })).body;
      await agent.until(sessionId, 'completed');
      const requests = JSON.stringify(browsers.model.calls);
      expect(browsers.model.calls).not.toEqual([]);
      expect([label, requests.includes('data:image/jpeg;base64,')]).toEqual([label, isShown]);
    }
  });

  it('the workflow of a completed autopilot session has the steps that passed, without the skipped step', async () => {
    const buildStep = (id: string) => ({ id, title: `Title of ${id}`, instruction: 'Do it.', kind: 'browse' as const });
    browsers.attempt = ({ maySubmit }) =>
      maySubmit ? { status: 'failed', code: 'interrupted', error: 'gone', output: { submit: 'unknown', at: 0 } } : {};
    const session = await startSession({ task: createTask({ steps: [buildStep('unclear'), buildStep('done')] }) });
    const { sessionId } = session;
    await session.until(sessionId, 'paused', 'failed');
    browsers.attempt = () => ({});
    await session.act({ action: 'resume', sessionId, stepOverride: { skip: true } });
    const { workflowId, steps } = await session.until(sessionId, 'completed', 'failed', 'paused');
    expect(steps.map(({ id, status }) => [id, status])).toEqual([
      ['unclear', 'skipped'],
      ['done', 'passed'],
    ]);
    const workflow = (await browsers.tenant.api.get(`/api/workflows/${workflowId}`)).body;
    expect(workflow.steps.map(({ id, title }: { id: string; title: string }) => [id, title])).toEqual([
      ['done', 'Title of done'],
    ]);
    expect(workflow.script).not.toContain('Title of unclear');
  });

  it('an autopilot session’s stream has the reason and screenshot of a pause, and resumes after the last event', async () => {
    const agentId = await browsers.makeAgent();
    const screenshotKey = `images/${newId()}.jpg`;
    await querySql(
      `INSERT INTO artifact (id, organization_id, agent_id, kind, filename, content_type, size, storage_key)
       VALUES ($1, $2, $3, 'image', 'session-1.jpg', 'image/jpeg', 3, $4)`,
      [newId(), browsers.tenant.organizationId, agentId, screenshotKey],
    );
    browsers.look = () => ({ look: { asksFor: 'captcha', screenshotKey } });
    const agent = browsers.getClient(agentId);
    const { sessionId } = (await agent.act({ action: 'start', task: createTask() })).body;
    await agent.until(sessionId, 'paused');
    const path = `${browsers.harness.url}${agent.path}/events?sessionId=${sessionId}`;
    const { headers } = browsers.tenant.api;
    const first = await EventStream.open(path, { ...headers });
    const events = [...(await first.waitForEvents(4))];
    first.close();
    const pausedFor = {
      reason: 'captcha',
      question: expect.any(String),
      screenshotUrl: expect.stringContaining(screenshotKey),
    };
    expect(events.map(({ event, data }) => [event, data])).toMatchObject([
      ['session', { status: 'queued' }],
      ['session', { status: 'running' }],
      ['step', { status: 'running' }],
      ['session', { status: 'paused', pausedFor }],
    ]);
    expect(JSON.stringify(events)).not.toContain('screenshotKey');
    expect((await agent.act({ action: 'resume', sessionId, stepOverride: { skip: true } })).status).toBe(202);
    await agent.until(sessionId, 'completed');
    // The resumed stream has each missed event once, and no event that was already received.
    const again = await EventStream.open(path, { ...headers, 'last-event-id': '4' });
    const missed = [...(await again.waitForEvents(4))];
    again.close();
    expect(missed.map(({ id }) => Number(id))).toEqual([5, 6, 7, 8]);
    expect(missed.map(({ data }) => (data as { status: string }).status)).toEqual([
      ...['skipped', 'resumed', 'running', 'completed'],
    ]);
    const { body } = await browsers.tenant.api.get(`/api/agents/${agentId}/logs`);
    expect(JSON.stringify(body)).not.toContain(screenshotKey);
  });
});
