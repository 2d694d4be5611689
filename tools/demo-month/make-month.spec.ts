import { DatabaseModule } from '@muster/database';
import { verifyRoiRollups } from '@muster/pilot';
import { verifyCostDays } from '@muster/pricing';
import { BaseConfig } from '@muster/platform';
import { type Harness, createSeededRandom, startHarness } from '@muster/testing';
import { makeMonth } from './make-month';
import { machines, routines } from './practice';

describe('the demonstration month', () => {
  let harness: Harness;
  const until = new Date('2026-11-24T12:00:00Z');
  const demo = {
    name: 'Riverbend Dental',
    adminEmail: 'demo@example.com',
    adminPasswordHash: '$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHQ$aGFzaA',
    runs: 500,
    days: 30,
    until,
    say: () => undefined,
  };
  let organizationId: string;

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
    organizationId = await makeMonth(harness.db, { ...demo, random: createSeededRandom(20) });
  });
  afterAll(() => harness.close());

  const queryOneRow = async <T extends object>(sql: string): Promise<T> => {
    const [row] = await harness.db.query<T>('system', sql, [organizationId]);
    return row!;
  };

  it('the demonstration month passes the service’s own checks of rollups and costs', async () => {
    expect(await verifyRoiRollups(harness.db, organizationId)).toEqual([]);
    expect(await verifyCostDays(harness.db, organizationId)).toEqual([]);
    const { spent, counted } = await queryOneRow<{ spent: number; counted: number }>(
      `SELECT (SELECT sum(total_cost_micros) FROM job WHERE organization_id = $1)::int AS spent,
              (SELECT sum(spend_micros) FROM usage_counter WHERE organization_id = $1)::int AS counted`,
    );
    expect(spent).toBeGreaterThan(0);
    expect(counted).toBe(spent);
  });

  it('every workflow and agent of the demonstration month has runs, most of them completed, with steps and claim outcomes', async () => {
    expect(
      await queryOneRow(
        `SELECT count(DISTINCT workflow_id)::int AS workflows, count(DISTINCT agent_id)::int AS agents,
                (count(*) FILTER (WHERE status = 'completed') > count(*) * 0.8) AS mostly,
                count(*) FILTER (WHERE status = 'failed') > 0 AS "someFail", max(finished_at) < $2 AS "allEnded",
                count(*) FILTER (WHERE NOT EXISTS (SELECT FROM job_step s WHERE s.job_id = job.id))::int AS bare,
                count(*) FILTER (WHERE claims_attempted <> (SELECT count(*) FROM claim_outcome c WHERE c.job_id = job.id))::int
                  AS "otherClaims"
         FROM job WHERE organization_id = $1`.replace('$2', `'${until.toISOString()}'`),
      ),
    ).toEqual({
      workflows: routines.length,
      agents: machines.length,
      mostly: true,
      someFail: true,
      allEnded: true,
      bare: 0,
      otherClaims: 0,
    });
  });

  it('the demonstration month has no enabled schedule, no open run and no message', async () => {
    expect(
      await queryOneRow(
        `SELECT (SELECT count(*) FROM schedule WHERE organization_id = $1 AND enabled)::int AS schedules,
                (SELECT count(*) FROM job WHERE organization_id = $1 AND finished_at IS NULL)::int AS open,
                (SELECT count(*) FROM outbox)::int AS messages`,
      ),
    ).toEqual({ schedules: 0, open: 0, messages: 0 });
  });

  it('the demonstration month is refused if the admin’s address has an account, and inserts nothing', async () => {
    const again = makeMonth(harness.db, { ...demo, name: 'Another', random: createSeededRandom(21) });
    await expect(again).rejects.toMatchObject({ code: 'conflict' });
    expect(await queryOneRow(`SELECT count(*)::int AS n FROM organization WHERE name = 'Another' OR id = $1`)).toEqual({
      n: 1,
    });
  });
});
