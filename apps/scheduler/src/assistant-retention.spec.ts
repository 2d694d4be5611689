import { purgeOldImages } from '@muster/commands';
import { purgeAssistantData } from '@muster/assistant';
import { DatabaseModule } from '@muster/database';
import { newId, Round } from '@muster/platform';
import { markLostCalls, purgeUsage } from '@muster/pricing';
import { ObjectStorage, StorageConfig, StorageModule } from '@muster/storage';
import { type Harness, makeAgent, makeOrganization, startHarness } from '@muster/testing';

const now = new Date('2026-06-15T12:00:00Z');
const getDateDaysAgo = (days: number) => new Date(now.getTime() - days * 86_400_000);

describe('retention of the assistant’s data', () => {
  let harness: Harness;
  let storage: ObjectStorage;

  beforeAll(async () => {
    const modules = [DatabaseModule, StorageModule];
    harness = await startHarness({ name: 'gateway', configs: [StorageConfig], modules });
    storage = harness.app.nest.get(ObjectStorage);
  });
  afterAll(() => harness.close());

  const querySql = <T extends object = any>(text: string, values: unknown[] = []) =>
    harness.db.query<T & object>('system', text, values);
  const getPurgeParts = () => ({ database: harness.db, storage });
  const purgeExpiredData = async () => ({
    ...(await purgeOldImages(getPurgeParts(), new Round('test'), now)),
    ...(await purgeAssistantData(getPurgeParts(), new Round('test'), now)),
  });
  const storeImage = async (key: string) => {
    await storage.put(key, Buffer.from('x'), 'image/jpeg');
    return key;
  };

  /** Inserts a session, a chat, a video analysis and everything that belongs to them, created a number of days ago. */
  async function insertData(organizationId: string, days: number, session: { finished: boolean } = { finished: true }) {
    const at = getDateDaysAgo(days);
    const { id: agentId } = await makeAgent(harness.db, { organizationId, name: newId() });
    const [sessionId, chatId, turnId, analysisId] = [newId(), newId(), newId(), newId()];
    await querySql(
      `INSERT INTO autopilot_session (id, organization_id, agent_id, phase, status, asked_by, max_steps, max_attempts,
         max_active_ms, max_cost_micros, approve, created_at, finished_at, due_at)
       VALUES ($1, $2, $3, $4, $5, '{}', 1, 1, 1, 1, 'never', $6, $7, NULL)`,
      [
        ...[sessionId, organizationId, agentId, session.finished ? 'over' : 'begin'],
        ...[session.finished ? 'completed' : 'paused', at, session.finished ? at : null],
      ],
    );
    await querySql(
      `INSERT INTO autopilot_step (session_id, organization_id, position, step_id) VALUES ($1, $2, 0, 'a')`,
      [sessionId, organizationId],
    );
    await querySql(
      `INSERT INTO autopilot_attempt (id, session_id, organization_id, position, attempt, strategy)
       VALUES ($1, $2, $3, 0, 1, 'model')`,
      [newId(), sessionId, organizationId],
    );
    await querySql(
      `INSERT INTO autopilot_event (session_id, seq, organization_id, type, data) VALUES ($1, 1, $2, 'session', '{}')`,
      [sessionId, organizationId],
    );
    await querySql(
      `INSERT INTO autopilot_lesson (organization_id, task_key, step_id, code, actions, selectors, session_id)
       VALUES ($1, $2, 'a', 'pass', '[]', '[]', $3)`,
      [organizationId, newId(), sessionId],
    );
    const picture = await storeImage(`images/${newId()}.jpg`);
    await querySql(
      `INSERT INTO artifact (id, organization_id, agent_id, kind, filename, content_type, size, storage_key, created_at)
       VALUES ($1, $2, $3, 'image', 'session-1-2.jpg', 'image/jpeg', 1, $4, $5)`,
      [newId(), organizationId, agentId, picture, at],
    );
    await querySql(
      `INSERT INTO chat_session (id, organization_id, agent_id, owner_kind, owner_id, title, created_at, updated_at)
       VALUES ($1, $2, $3, 'user', 'u', 'Hi', $4, $4)`,
      [chatId, organizationId, agentId, at],
    );
    await querySql(
      `INSERT INTO chat_turn (id, organization_id, session_id, message, status) VALUES ($1, $2, $3, 'Hi', 'done')`,
      [turnId, organizationId, chatId],
    );
    await querySql(
      `INSERT INTO chat_call (id, organization_id, session_id, turn_id, round, place, model_key, tool, arguments, status)
       VALUES ($1, $2, $3, $4, 0, 0, 'call_1', 'get_status', '{}', 'done')`,
      [newId(), organizationId, chatId, turnId],
    );
    await querySql(
      `INSERT INTO video_analysis (id, organization_id, agent_id, actor, status, frames, due_at, created_at)
       VALUES ($1, $2, $3, '{}', 'completed', 2, $4, $5)`,
      [analysisId, organizationId, agentId, session.finished ? null : at, at],
    );
    await querySql(
      `INSERT INTO video_answer (analysis_id, asked, model_call_id, organization_id, answer, input_tokens, output_tokens,
         cost_micros) VALUES ($1, 0, $2, $3, '{}', 1, 1, 1)`,
      [analysisId, newId(), organizationId],
    );
    const frames = [1, 2].map((number) => `films/${organizationId}/${analysisId}/${number}.jpg`);
    for (const frame of frames) await storeImage(frame);
    const upload = await storeImage(`uploads/${organizationId}/${newId()}`);
    await querySql(
      `INSERT INTO film_upload (upload_key, organization_id, content_type, size, created_at)
       VALUES ($1, $2, 'video/mp4', 1, $3)`,
      [upload, organizationId, at],
    );
    return { agentId, objects: [picture, ...frames, upload] };
  }

  const tables = [
    ...['autopilot_session', 'autopilot_step', 'autopilot_attempt', 'autopilot_event', 'autopilot_lesson', 'artifact'],
    ...['chat_session', 'chat_turn', 'chat_call', 'video_analysis', 'video_answer', 'film_upload'],
  ];
  const countRemainingRows = async (organizationId: string) => {
    const counted: Record<string, number> = {};
    for (const table of tables) {
      const [row] = await querySql(`SELECT count(*)::int AS n FROM ${table} WHERE organization_id = $1`, [
        organizationId,
      ]);
      counted[table] = row!.n;
    }
    return counted;
  };
  const areStored = async (keys: string[]) => (await Promise.all(keys.map((key) => storage.get(key)))).map(Boolean);
  const buildEqualCounts = (count: number) => Object.fromEntries(tables.map((table) => [table, count]));

  it('autopilot sessions, chats and video analyses are deleted after logRetentionDays, but lessons are not', async () => {
    const { id } = await makeOrganization(harness.db);
    const [old, young] = [await insertData(id, 100), await insertData(id, 3)];
    const { id: other } = await makeOrganization(harness.db);
    await querySql('UPDATE organization_settings SET log_retention_days = NULL WHERE organization_id = $1', [other]);
    const otherData = await insertData(other, 1000);
    expect(await purgeExpiredData()).toEqual({ pictures: 1, sessions: 1, chats: 1, films: 1, uploads: 1 });
    expect(await countRemainingRows(id)).toEqual({ ...buildEqualCounts(1), autopilot_lesson: 2 });
    expect(await countRemainingRows(other)).toEqual(buildEqualCounts(1));
    expect(await areStored(old.objects)).toEqual([false, false, false, false]);
    expect(await areStored([...young.objects, ...otherData.objects])).toEqual(Array(8).fill(true));
    expect(await purgeExpiredData()).toEqual({ pictures: 0, sessions: 0, chats: 0, films: 0, uploads: 0 });
  });

  it('retention does not delete unfinished autopilot sessions and analyses, or the images of runs', async () => {
    const { id } = await makeOrganization(harness.db);
    await insertData(id, 100, { finished: false });
    await querySql(`UPDATE artifact SET filename = 'my-session-1.jpg' WHERE organization_id = $1`, [id]);
    await purgeExpiredData();
    expect(await countRemainingRows(id)).toMatchObject({
      autopilot_session: 1,
      autopilot_event: 1,
      video_analysis: 1,
      artifact: 1,
    });
  });

  it('a row whose stored object could not be deleted is retained until the next round deletes the row and the object', async () => {
    const { id } = await makeOrganization(harness.db);
    const { objects } = await insertData(id, 100);
    const away = jest.spyOn(storage, 'delete').mockRejectedValue(new Error('the store is unavailable'));
    await purgeExpiredData();
    expect(await countRemainingRows(id)).toMatchObject({ artifact: 1, video_analysis: 1, film_upload: 1 });
    away.mockRestore();
    await purgeExpiredData();
    expect(await countRemainingRows(id)).toMatchObject({ artifact: 0, video_analysis: 0, film_upload: 0 });
    expect(await areStored(objects)).toEqual([false, false, false, false]);
  });

  describe('for model calls', () => {
    const insertModelCall = async (organizationId: string, at: Date, outcome: string) => {
      const id = newId();
      await querySql(
        `INSERT INTO model_call (id, organization_id, purpose, provider, model, at, outcome, input_tokens)
         VALUES ($1, $2, 'chat', 'openai-compatible', 'm', $3, $4, 5)`,
        [id, organizationId, at, outcome],
      );
      return id;
    };
    const listCallOutcomes = async (organizationId: string) =>
      (await querySql('SELECT outcome FROM model_call WHERE organization_id = $1 ORDER BY at', [organizationId])).map(
        ({ outcome }) => outcome,
      );

    it('model calls are deleted after the costRetentionDays of their organization', async () => {
      const [{ id: organizationId }, { id: other }] = [
        await makeOrganization(harness.db),
        await makeOrganization(harness.db),
      ];
      await querySql('UPDATE organization_settings SET cost_retention_days = 30 WHERE organization_id = $1', [
        organizationId,
      ]);
      for (const each of [organizationId, other]) {
        await insertModelCall(each, getDateDaysAgo(40), 'answered');
        await insertModelCall(each, getDateDaysAgo(3), 'cut');
      }
      expect(await purgeUsage(harness.db, new Round('test'), now)).toMatchObject({ modelCalls: 1 });
      expect(await listCallOutcomes(organizationId)).toEqual(['cut']);
      expect(await listCallOutcomes(other)).toEqual(['answered', 'cut']);
    });

    it('a model call that is still open after an hour is marked as lost, once', async () => {
      const { id: organizationId } = await makeOrganization(harness.db);
      const getDateMinutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000);
      await insertModelCall(organizationId, getDateMinutesAgo(61), 'open');
      await insertModelCall(organizationId, getDateMinutesAgo(60.5), 'answered');
      await insertModelCall(organizationId, getDateMinutesAgo(50), 'open');
      expect(await markLostCalls(harness.db)).toEqual({ lost: 1 });
      expect(await listCallOutcomes(organizationId)).toEqual(['lost', 'answered', 'open']);
      expect(await markLostCalls(harness.db)).toEqual({ lost: 0 });
    });
  });
});
