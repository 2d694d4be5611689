import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What the filters of lists come by, in the order of the lists. */
export class ListsByIndex1763802000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of [
      // GET /api/jobs?status=…: of the completed there are enough anywhere, so that a run that goes well is in it while it
      // is open alone. Its status is in other indexes' conditions: no update becomes dearer for being none in place.
      `CREATE INDEX job_status_idx ON job (organization_id, status, id) WHERE status <> 'completed'`,
      // GET /api/agents/{id}/logs?from&to: the months are found by recorded_at; these few entries happened at another
      // time than they were written down. Lines that come in time are not in it, and cost nothing.
      `CREATE INDEX timeline_entry_other_time_idx ON timeline_entry (agent_id, seq)
       WHERE recorded_at - at NOT BETWEEN '-1 hour'::interval AND '1 hour'::interval`,
      // GET /api/audit by who, what and of what. Launches are most of the trail of those who launch, and anywhere in it.
      'CREATE INDEX audit_entry_actor_idx ON audit_entry (organization_id, actor_id, id)',
      'CREATE INDEX audit_entry_target_idx ON audit_entry (organization_id, target_id, id)',
      `CREATE INDEX audit_entry_action_idx ON audit_entry (organization_id, action, id) WHERE action <> 'job.launch'`,
      // GET /api/artifacts?kind=…: recordings are few among files.
      'CREATE INDEX artifact_kind_idx ON artifact (organization_id, kind, id)',
      // GET /api/schedules?agentId&scriptId: in the order of the list, so that a page of thousands is not sorted.
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
