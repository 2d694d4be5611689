import type { OrganizationUsage } from '@muster/contracts';
import type { Database, OrganizationEntity } from '@muster/database';
import type { Page } from '@muster/platform';
import { presentFigures } from './reconcile-usage';
import type { CounterFigures } from './unequal-counters';

type Row = Pick<OrganizationEntity, 'id' | 'name'> & CounterFigures;

/** Every organization's counters of a month, for super_admins. */
export async function listUsage(
  database: Database,
  { month, page }: { month: string; page: Page },
): Promise<OrganizationUsage[]> {
  const rows = await database.query<Row>(
    'system',
    `SELECT o.id, o.name, COALESCE(c.runs, 0) AS runs, COALESCE(c.completed, 0) AS completed,
            COALESCE(c.failed, 0) AS failed, COALESCE(c.cancelled, 0) AS cancelled, COALESCE(c.run_ms, 0) AS run_ms,
            COALESCE(c.spend_micros, 0) AS spend_micros
     FROM organization o LEFT JOIN usage_counter c ON c.organization_id = o.id AND c.month = $1
     WHERE $2::uuid IS NULL OR o.id > $2 ORDER BY o.id LIMIT $3`,
    [month, page.after?.[0] ?? null, page.limit + 1],
  );
  return rows.map(({ id, name, ...figures }) => ({ organizationId: id, name, ...presentFigures(figures) }));
}
