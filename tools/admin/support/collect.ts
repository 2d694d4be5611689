import type { Client } from 'pg';
import { BaseConfig, type Environment, listVariables } from '@muster/platform';
import { StorageConfig } from '@muster/storage';
import { queryRows } from '../backup/dump-database';

/** Queries for counts and sizes. They never select a value that a person entered. */
const questions: Record<string, string> = {
  'postgres.json': `
    SELECT version(), current_setting('max_connections') AS max_connections, pg_database_size(current_database()) AS bytes,
      (SELECT json_object_agg(name, setting) FROM pg_settings
       WHERE name IN ('shared_buffers', 'work_mem', 'synchronous_commit', 'max_wal_size', 'autovacuum', 'wal_level')) AS settings`,
  'migrations.json': 'SELECT name FROM schema_migration ORDER BY timestamp',
  'tables.json': `
    SELECT relname AS name, n_live_tup AS live, n_dead_tup AS dead, pg_total_relation_size(relid) AS bytes,
      seq_scan, idx_scan, last_vacuum, last_autovacuum, last_analyze, last_autoanalyze
    FROM pg_stat_user_tables ORDER BY pg_total_relation_size(relid) DESC`,
  'indexes.json': `
    SELECT s.indexrelname AS name, s.relname AS table, s.idx_scan AS scans, pg_relation_size(s.indexrelid) AS bytes,
      i.indisvalid AS valid FROM pg_stat_user_indexes s JOIN pg_index i USING (indexrelid) ORDER BY 4 DESC`,
  'connections.json': `
    SELECT application_name AS name, state, wait_event_type, wait_event, count(*)::int,
      max(now() - xact_start)::text AS longest_transaction
    FROM pg_stat_activity WHERE datname = current_database() GROUP BY 1, 2, 3, 4 ORDER BY 5 DESC`,
  'runs.json': `
    SELECT organization_id, status, error_code, count(*)::int, min(queued_at) AS first, max(queued_at) AS last
    FROM job WHERE queued_at > now() - interval '7 days' OR finished_at IS NULL GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`,
  'machines.json': `
    SELECT organization_id, provider, status, worker_version, count(*)::int, max(last_seen) AS last_seen
    FROM agent GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4`,
  'queues.json': `
    SELECT queue, name, count(*)::int, count(*) FILTER (WHERE next_publish_at IS NULL)::int AS dead,
      max(attempts) AS attempts, min(next_publish_at) AS next FROM outbox GROUP BY 1, 2 ORDER BY 1, 2`,
  'deliveries.json': `
    SELECT organization_id, status, count(*)::int, min(due_at) AS first_due FROM webhook_delivery GROUP BY 1, 2 ORDER BY 1, 2`,
  'loops.json': `
    SELECT name, app, host, interval_ms, began_at, duration_ms, error IS NOT NULL AS fails FROM loop_run ORDER BY name`,
};

/** Runs the queries and returns their rows, one file for each. If a query fails, its file contains the error code. */
export async function collectTables(client: Client): Promise<Record<string, string>> {
  const files: Record<string, string> = {};
  for (const [name, sql] of Object.entries(questions)) {
    const rows = await queryRows(client, sql).catch(({ code }: { code?: string }) => [{ failed: code ?? 'unknown' }]);
    files[name] = `${rows.map((row) => JSON.stringify(row)).join('\n')}\n`;
  }
  return files;
}

/** Lists numeric and boolean settings with their values. For texts and secrets it states only whether they are set. */
export function formatSettings(environment: Environment): string {
  const variables = [...listVariables(BaseConfig), ...listVariables(StorageConfig)];
  const lines = [...new Map(variables.map((each) => [each.name, each])).values()].map(({ name, type, options }) => {
    const value = environment[name] ?? (environment[`${name}_FILE`] === undefined ? undefined : 'from a file');
    const shown = !options.secret && /^(integer|true|false|flag|boolean)/.test(type) ? value : 'is set';
    return `${name}=${value === undefined ? '' : shown}`;
  });
  return `${lines.sort().join('\n')}\n`;
}
