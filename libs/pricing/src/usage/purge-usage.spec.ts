import { DatabaseModule } from '@muster/database';
import { BaseConfig, Round } from '@muster/platform';
import { type Harness, makeOrganization, startHarness } from '@muster/testing';
import { purgeUsage } from './purge-usage';

const dayMs = 24 * 3_600_000;

describe('purgeUsage', () => {
  let harness: Harness;

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
  });
  afterAll(() => harness.close());

  it('purgeUsage deletes usage when the retention period after the end of its month has passed', async () => {
    const { id: organizationId } = await makeOrganization(harness.db);
    const { id: other } = await makeOrganization(harness.db);
    const sql = (text: string, values: unknown[] = []) => harness.db.query('system', text, values);
    await sql('UPDATE organization_settings SET usage_retention_days = 400 WHERE organization_id = $1', [
      organizationId,
    ]);
    await sql(
      `INSERT INTO usage_event (job_id, kind, organization_id, month, outcome)
       SELECT gen_random_uuid(), 'run', o, m, 'completed' FROM unnest($1::uuid[]) o, unnest($2::date[]) m`,
      [
        [organizationId, other],
        ['2026-01-01', '2026-02-01'],
      ],
    );
    const monthEnds = Date.parse('2026-02-01T00:00:00Z');
    const purge = async (now: number) => (await purgeUsage(harness.db, new Round('test'), new Date(now))).usage;
    expect(await purge(monthEnds + 400 * dayMs - 1)).toBe(0);
    expect(await purge(monthEnds + 400 * dayMs)).toBe(1);
    expect(
      await sql('SELECT organization_id, month::text AS month FROM usage_event ORDER BY organization_id = $1, month', [
        other,
      ]),
    ).toEqual([
      { organizationId, month: '2026-02-01' },
      { organizationId: other, month: '2026-01-01' },
      { organizationId: other, month: '2026-02-01' },
    ]);
  });
});
