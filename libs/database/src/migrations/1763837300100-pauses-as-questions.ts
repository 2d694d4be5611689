import type { MigrationInterface, QueryRunner } from 'typeorm';

const pageSize = 500;

/** The ids are version 7 UUIDs, because questions are listed in the order of their ids. */
const createQuestions = `
  WITH paused AS (
    SELECT s.*, overlay(overlay(gen_random_uuid()::text PLACING
        substr(stamp, 1, 8) || '-' || substr(stamp, 9, 4) || '-7' FROM 1 FOR 15) PLACING '8' FROM 20 FOR 1)::uuid
        AS question_id
    FROM autopilot_session s,
      lpad(to_hex((extract(epoch FROM muster_now()) * 1000)::bigint), 12, '0') AS stamp
    WHERE s.status = 'paused' AND s.ending IS NULL AND s.paused_for->>'reason' IS NOT NULL AND s.due_at > muster_now()
      AND NOT EXISTS (SELECT FROM question q WHERE q.session_id = s.id AND q.status = 'open')
    LIMIT $1
  ), new_questions AS (
    INSERT INTO question (id, organization_id, session_id, agent_id, question_key, question, kind, choices,
      context, screenshot_key, expires_at)
    SELECT question_id, organization_id, id, agent_id, question_id::text, left(paused_for->>'question', 2000),
      CASE paused_for->>'reason' WHEN 'one_time_code' THEN 'code' WHEN 'outcome_unknown' THEN 'choice'
        WHEN 'captcha' THEN 'confirm' WHEN 'before_submit' THEN 'confirm' ELSE 'text' END,
      CASE WHEN paused_for->>'reason' = 'outcome_unknown' THEN ARRAY['Do it again', 'Skip the step'] END,
      jsonb_strip_nulls(jsonb_build_object('task', task->>'title')), paused_for->>'screenshotKey', due_at
    FROM paused RETURNING id, session_id
  ), linked AS (UPDATE autopilot_session s SET paused_for = s.paused_for || jsonb_build_object('questionId', a.id)
    FROM new_questions a WHERE s.id = a.session_id RETURNING s.id
  ) SELECT count(*)::int AS count FROM linked`;

/** Creates the questions of autopilot sessions that are paused during the migration. Later pauses create their own. */
export class PausesAsQuestions1763837300100 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // A session whose question exists is not selected again, so the loop ends.
    for (let count = pageSize; count === pageSize;) {
      [{ count }] = (await runner.query(createQuestions, [pageSize])) as [{ count: number }];
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    // The previous version answers a pause without a question, and ignores the id in `paused_for`.
    await runner.query('DELETE FROM question WHERE session_id IS NOT NULL');
  }
}
