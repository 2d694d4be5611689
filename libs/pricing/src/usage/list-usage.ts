import type { OrganizationUsage } from '@muster/contracts';
import type { Database, OrganizationEntity } from '@muster/database';
import type { Page } from '@muster/platform';
import { figureColumns, joinMonthlyUsageSql } from './figures-of-month';
import { presentUsageFigures } from './reconcile-usage';
import type { CounterFigures } from './find-unequal-counters';

type Row = Pick<OrganizationEntity, 'id' | 'name'> & CounterFigures;

/** Lists the usage of all organizations in a month, for super_admins. */
export async function listUsage(
  database: Database,
  { month, page }: { month: string; page: Page },
): Promise<OrganizationUsage[]> {
  const rows = await database.query<Row>(
    'system',
    `SELECT o.id, o.name, ${figureColumns} FROM organization o ${joinMonthlyUsageSql('$1')}
     WHERE $2::uuid IS NULL OR o.id > $2 ORDER BY o.id LIMIT $3`,
    [month, page.after?.[0] ?? null, page.limit + 1],
  );
  return rows.map(({ id, name, ...figures }) => ({ organizationId: id, name, ...presentUsageFigures(figures) }));
}
