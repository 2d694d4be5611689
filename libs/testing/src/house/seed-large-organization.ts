import { randomUUID } from 'node:crypto';
import type { Client } from 'pg';
import { houseStatements } from './house-rows';

export interface OrganizationSize {
  jobs: number;
  agents: number;
  /** Entries of all timelines. A fifth of them belongs to one busy agent. */
  entries: number;
}

/** An organization with a year of data, and the ids that the requests for its lists need. */
export interface LargeOrganization extends OrganizationSize {
  organizationId: string;
  /** The ids of most runs, and the ids that only three old runs have. */
  agentIds: { busy: string; rare: string };
  workflowIds: { usual: string; rare: string };
  scheduleIds: { usual: string; rare: string };
  batchId: string;
  /** A job with a quarter of the busy agent's log. */
  longJobId: string;
  endpointId: string;
}

/** Number of days in which the organization has been active. */
const activeDays = 365;

/**
 * Creates the organization by SQL, a million runs within minutes. The client's user must own the schema, which must
 * exist.
 */
export async function seedLargeOrganization(
  client: Client,
  size: OrganizationSize,
  organizationId: string = randomUUID(),
): Promise<LargeOrganization> {
  await client.query(monthsOfTheYear);
  const values: Record<string, unknown> = {
    organization: organizationId,
    days: activeDays,
    until: Date.now(),
    ...size,
  };
  for (const statement of houseStatements) {
    await client.query(statement.replaceAll(/\{(\w+)\}/g, (_, name: string) => String(values[name])));
  }
  const { rows } = await client.query<{ kind: string; n: number; id: string }>(`
    SELECT 'agent' AS kind, n::int, id FROM house_agent WHERE n IN (1, ${size.agents})
    UNION ALL SELECT 'workflow', n::int, id FROM house_workflow
    UNION ALL SELECT 'schedule', n::int, id FROM house_schedule WHERE n IN (1, 10)
    UNION ALL SELECT 'endpoint', 0, id FROM webhook_endpoint WHERE organization_id = '${organizationId}'
    UNION ALL SELECT 'batch', n::int, id FROM house_batch WHERE n = 1
    UNION ALL (SELECT 'job', 0, id FROM house_job WHERE n % 10 = 0 AND status = 'completed' ORDER BY n DESC LIMIT 1)`);
  const makeRowId = (kind: string, n: number) => rows.find((row) => row.kind === kind && row.n === n)!.id;
  return {
    ...size,
    organizationId,
    agentIds: { busy: makeRowId('agent', 1), rare: makeRowId('agent', size.agents) },
    workflowIds: { usual: makeRowId('workflow', 1), rare: makeRowId('workflow', 20) },
    scheduleIds: { usual: makeRowId('schedule', 1), rare: makeRowId('schedule', 10) },
    batchId: makeRowId('batch', 1),
    longJobId: makeRowId('job', 0),
    endpointId: makeRowId('endpoint', 0),
  };
}

/** Creates the timeline's partitions of the past year. The service creates those of the future. */
const monthsOfTheYear = `
  DO $$
  DECLARE
    month timestamptz := date_trunc('month', now(), 'UTC');
    first timestamptz;
    part text;
  BEGIN
    FOR back IN 0 .. 13 LOOP
      first := month - make_interval(months => back);
      part := 'timeline_entry_' || to_char(first AT TIME ZONE 'UTC', 'YYYYMM');
      IF to_regclass(part) IS NULL THEN
        EXECUTE format('CREATE TABLE %I PARTITION OF timeline_entry FOR VALUES FROM (%L) TO (%L)',
          part, first, first + interval '1 month');
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', part);
      END IF;
    END LOOP;
  END $$`;
