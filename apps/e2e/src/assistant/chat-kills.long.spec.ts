// This test is long because it kills the gateway during a chat turn.
// A short test of the same code: apps/gateway/src/assistant/chat-faults.spec.ts
import { waitFor } from '@muster/testing';
import { SessionKills, type Sessions } from './session-kills';

jest.setTimeout(300_000);

describe('a chat whose process is killed in the middle of a turn', () => {
  let stage: SessionKills;
  let desk: Sessions;

  beforeAll(async () => {
    stage = await SessionKills.openFixture();
    desk = await stage.makeAgent('Front desk');
  });
  afterAll(() => stage.closeFixture());
  beforeEach(() => stage.model.reset());
  afterEach(() => expect(stage.model.faults).toEqual([]));

  const getChatPath = () => `/api/agents/${desk.agentId}/chat`;
  const sendMessage = (message: string, more: object = {}) => stage.api.post(getChatPath(), { message, ...more });
  const readChatHistory = async (sessionId: string) =>
    (await stage.api.get(`${getChatPath()}?sessionId=${sessionId}`)).body.messages as Record<string, any>[];
  const killAndStart = async () => {
    await stage.killApps('gateway');
    await stage.startApp('gateway');
  };
  /** Backdates the heartbeat of running turns, so that their process counts as dead. */
  const backdateHeartbeats = () =>
    stage.pool.query(`UPDATE chat_turn SET beat_at = now() - interval '31 s' WHERE status = 'running'`);

  it('a chat keeps the partial answer of a killed turn, and answers again once that turn is dead', async () => {
    const answerText = Array.from({ length: 200 }, (_, at) => `word${at}`).join(' ');
    stage.model.addResponses({ content: answerText, slowMs: 100 });
    const response = await fetch(`${stage.api.url}${getChatPath()}/stream`, {
      ...{ method: 'POST', headers: { 'content-type': 'application/json', ...stage.api.headers } },
      body: JSON.stringify({ message: 'Tell me all of it' }),
    });
    let streamed = '';
    const reading = (async () => {
      for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>) {
        streamed += Buffer.from(piece).toString();
      }
    })().catch(() => undefined);
    const readStoredAnswerParts = async () =>
      (await stage.pool.query<{ parts: string[] }>(`SELECT said AS parts FROM chat_turn WHERE status = 'running'`))
        .rows[0]?.parts;
    await waitFor(
      'a part of the answer to be stored',
      async () => (await readStoredAnswerParts())?.[0]?.includes('word9') ?? false,
      30_000,
    );
    await killAndStart();
    await reading;
    expect(streamed).not.toContain('event: done');
    expect(streamed).not.toContain('event: error');
    const [, sessionId] = /"sessionId":"([^"]+)"/.exec(streamed)!;
    expect((await sendMessage('And?', { sessionId })).status).toBe(409);
    await backdateHeartbeats();
    stage.model.addResponses('As I said.');
    expect((await sendMessage('And?', { sessionId })).body.reply).toBe('As I said.');
    const [, broken] = await readChatHistory(sessionId!);
    expect(broken).toMatchObject({ role: 'assistant', status: 'interrupted', code: 'interrupted' });
    expect(broken!['content']).toMatch(/^word0 word1 word2 .*word9/);
    expect(broken!['content']).not.toContain('word199');
    // The model receives its partial answer and the note that it was interrupted.
    const modelInput = stage.model.calls.at(-1)!.text;
    expect(modelInput).toContain('word9');
    expect(modelInput).toMatch(/\(This answer broke off\.\)/);
  });

  it('the model learns that the outcome of an interrupted tool call is unknown; the call is not repeated', async () => {
    let release!: () => void;
    const held = new Promise<void>((resolve) => (release = resolve));
    let snippetCount = 0;
    stage.browsers.pauseBeforeCommand = ({ kind }) => {
      if (kind !== 'snippet') return;
      snippetCount += 1;
      return held;
    };
    stage.model.addResponses({ toolCalls: [{ name: 'run_snippet', arguments: { code: 'print(1)' } }] });
    const cut = sendMessage('Print one', { autoConfirm: true }).catch(() => null);
    await waitFor('the snippet to reach the machine', () => snippetCount === 1, 30_000);
    await killAndStart();
    expect(await cut).toBeNull();
    release();
    const { body } = await stage.api.get(getChatPath());
    const { sessionId } = body.sessions[0] as { sessionId: string };
    await backdateHeartbeats();
    stage.model.addResponses('The snippet was started; look at its result.');
    expect((await sendMessage('Did it work?', { sessionId })).body.reply).toContain('look');
    const [, broken] = await readChatHistory(sessionId);
    expect(broken).toMatchObject({
      status: 'interrupted',
      toolCalls: [{ tool: 'run_snippet', status: 'failed', code: 'interrupted' }],
    });
    expect(stage.model.calls.at(-1)!.text).toContain('check whether it took effect');
    const { rows } = await stage.pool.query(`SELECT status FROM agent_command WHERE kind = 'snippet'`);
    expect(rows).toHaveLength(1);
    expect(snippetCount).toBe(1);
  });

  it('each model call is recorded with its outcome, or as still open if the call was interrupted', async () => {
    const { rows } = await stage.pool.query<{ outcome: string; n: number }>(
      'SELECT outcome, count(*)::int AS n FROM model_call GROUP BY outcome ORDER BY outcome',
    );
    // The call that was interrupted mid-stream stays open until it counts as lost; the other calls were answered.
    expect(rows).toEqual([
      { outcome: 'answered', n: 3 },
      { outcome: 'open', n: 1 },
    ]);
  });
});
