import { randomUUID } from 'node:crypto';
import { createEmptyDatabase } from '@muster/testing';
import { createOwnerDataSource } from '../data-source';
import { migrateDatabase } from '../migrate-database';

describe('the migration of pauses to questions', () => {
  it('the migration of pauses creates a question for each paused session, and undoing it deletes the questions', async () => {
    const database = await createEmptyDatabase();
    const source = createOwnerDataSource(database.url);
    try {
      await migrateDatabase(database.url);
      await source.initialize();
      const undoMigration = async () => {
        for (let last = ''; last !== 'PausesAsQuestions1763837300100';) {
          [{ name: last }] = await source.query('SELECT name FROM schema_migration ORDER BY id DESC LIMIT 1');
          await source.undoLastMigration();
        }
      };
      await undoMigration();
      const [organizationId, agentId] = [randomUUID(), randomUUID()];
      await source.query(`INSERT INTO organization (id, name) VALUES ($1, 'o')`, [organizationId]);
      await source.query(
        `INSERT INTO agent (id, organization_id, name, provider) VALUES ($1, $2, 'Front desk', 'external')`,
        [agentId, organizationId],
      );
      const insertSession = async (status: string, reason: string) => {
        const id = randomUUID();
        await source.query(
          `INSERT INTO autopilot_session (id, organization_id, agent_id, phase, status, asked_by, task, paused_for,
             due_at, max_steps, max_attempts, max_active_ms, max_cost_micros, approve)
           VALUES ($1, $2, $3, 'begin', $4, '{}', '{"title": "File a claim"}', $5, muster_now() + interval '1 hour',
             1, 1, 1, 1, 'never')`,
          [id, organizationId, agentId, status, { reason, question: `Is it ${reason}?`, screenshotKey: null }],
        );
        return id;
      };
      const reasons = ['one_time_code', 'captcha', 'before_submit', 'outcome_unknown', 'unsure'];
      for (const reason of reasons) await insertSession('paused', reason);
      await insertSession('running', 'unsure');
      await migrateDatabase(database.url);
      const questions = await source.query(
        `SELECT q.question, q.kind, q.choices, q.context, q.status, q.expires_at = s.due_at AS expires,
           s.paused_for->>'questionId' = q.id::text AND substr(q.id::text, 15, 1) = '7' AS linked
         FROM question q JOIN autopilot_session s ON s.id = q.session_id`,
      );
      const kinds = { one_time_code: 'code', captcha: 'confirm', before_submit: 'confirm', outcome_unknown: 'choice' };
      const expected = reasons.map((reason) => ({
        question: `Is it ${reason}?`,
        kind: kinds[reason as keyof typeof kinds] ?? 'text',
        choices: reason === 'outcome_unknown' ? ['Do it again', 'Skip the step'] : null,
        context: { task: 'File a claim' },
        ...{ status: 'open', expires: true, linked: true },
      }));
      expect(questions).toHaveLength(reasons.length);
      expect(questions).toEqual(expect.arrayContaining(expected));
      await undoMigration();
      expect(await source.query('SELECT FROM question')).toEqual([]);
    } finally {
      await source.destroy();
      await database.drop();
    }
  });
});
