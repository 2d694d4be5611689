import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Indexes for the filters of lists, in the order of the lists. */
export class ListsByIndex1763802000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of [
      // Index for GET /api/jobs?status=…: completed runs are frequent everywhere in the list, so the index contains a
      // successful run only while it is open. Updates of the status do not become more expensive: the status is part of
      // other indexes' conditions, so these updates were not HOT before either.
      `CREATE INDEX job_status_idx ON job (organization_id, status, id) WHERE status <> 'completed'`,
      // Index for GET /api/agents/{id}/logs?from&to, where recorded_at selects the months. The index contains the few
      // entries that were written at another time than they happened. Log lines that arrive in time are not in it and
      // cost nothing.
      `CREATE INDEX timeline_entry_other_time_idx ON timeline_entry (agent_id, seq)
       WHERE recorded_at - at NOT BETWEEN '-1 hour'::interval AND '1 hour'::interval`,
      // Indexes for GET /api/audit by actor, target and action. Launches need no index, because they are frequent
      // everywhere in the list.
      'CREATE INDEX audit_entry_actor_idx ON audit_entry (organization_id, actor_id, id)',
      'CREATE INDEX audit_entry_target_idx ON audit_entry (organization_id, target_id, id)',
      `CREATE INDEX audit_entry_action_idx ON audit_entry (organization_id, action, id) WHERE action <> 'job.launch'`,
      // Index for GET /api/artifacts?kind=…: only few artifacts are recordings.
      'CREATE INDEX artifact_kind_idx ON artifact (organization_id, kind, id)',
      // Index for GET /api/schedules?agentId&scriptId in the order of the list, so that thousands of rows are not
      // sorted for a page.
      'DROP INDEX schedule_agent_idx',
      'CREATE INDEX schedule_agent_idx ON schedule (agent_id, id)',
      'DROP INDEX schedule_workflow_idx',
      'CREATE INDEX schedule_workflow_idx ON schedule (workflow_id, id)',
    ]) {
      await runner.query(statement);
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const statement of [
      'DROP INDEX schedule_workflow_idx',
      'CREATE INDEX schedule_workflow_idx ON schedule (workflow_id)',
      'DROP INDEX schedule_agent_idx',
      'CREATE INDEX schedule_agent_idx ON schedule (agent_id)',
      'DROP INDEX artifact_kind_idx',
      'DROP INDEX audit_entry_action_idx',
      'DROP INDEX audit_entry_target_idx',
      'DROP INDEX audit_entry_actor_idx',
      'DROP INDEX timeline_entry_other_time_idx',
      'DROP INDEX job_status_idx',
    ]) {
      await runner.query(statement);
    }
  }
}
