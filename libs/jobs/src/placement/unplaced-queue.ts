import { waitsForAccountSql } from '../accounts/accounts-sql';
import { waitsForKeySql } from '../dispatch/concurrency-keys';

/** SQL condition: the job was not dispatched and is not being cancelled. */
export const isNextSql = `j.status = 'queued' AND j.command_id IS NULL AND j.cancel_requested_at IS NULL`;

/** SQL condition over `job j`: it can start as soon as an agent is free. */
export const isStartableSql = `${isNextSql} AND j.not_before <= muster_now()
  AND NOT EXISTS (SELECT FROM batch b WHERE b.id = j.batch_id AND b.cancel_requested_at IS NOT NULL)
  AND NOT ${waitsForKeySql('j')} AND NOT ${waitsForAccountSql('j')}`;

/** The order in which jobs start. */
export const startOrderSql = 'priority DESC, queued_at, id';

const isUnplaced = `j.status = 'queued' AND j.agent_id IS NULL`;

/**
 * SQL for the groups of the organization's jobs without an agent: one row (target_group, target_labels) for each set of
 * labels that queued jobs require. The index is read once for each group, however many jobs there are.
 */
export const waitingTargetGroupsSql = (organization: string) => `(
  WITH RECURSIVE waiting_group AS (
    (SELECT j.target_group, j.target_labels FROM job j
     WHERE j.organization_id = ${organization} AND ${isUnplaced} AND j.target_group IS NOT NULL
     ORDER BY j.target_group LIMIT 1)
    UNION ALL
    SELECT following.target_group, following.target_labels FROM waiting_group previous CROSS JOIN LATERAL (
      SELECT j.target_group, j.target_labels FROM job j
      WHERE j.organization_id = ${organization} AND ${isUnplaced} AND j.target_group > previous.target_group
      ORDER BY j.target_group LIMIT 1) following)
  SELECT target_group, target_labels FROM waiting_group)`;

/** SQL for the first startable jobs of a group: id, priority and queued_at. */
export const firstJobsOfGroupSql = (organization: string, group: string, limit: number | string = 1) => `(
  SELECT j.id, j.priority, j.queued_at FROM job j
  WHERE j.organization_id = ${organization} AND j.target_group = ${group} AND j.agent_id IS NULL AND ${isStartableSql}
  ORDER BY j.priority DESC, j.queued_at, j.id LIMIT ${limit})`;
