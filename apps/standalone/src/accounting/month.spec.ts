import { type Harness, chooseSize, startHarness, waitFor } from '@muster/testing';
import { standalone } from '../standalone';
import { SeededRandom } from './seeded-random.harness';
import type { Price } from './ledger.harness';
import { PracticeOffice } from './play-month.harness';
import {
  computeBill,
  computeRunCost,
  computeCosts,
  countClaims,
  type GroupBy,
  computeRoi,
  computeUsage,
  toUsd,
} from './recompute.harness';
import { MovableClock } from './movable-clock.harness';

/** Number of runs of the three organizations together. */
const runs = chooseSize('MONTH_RUNS', { short: 30, long: 600 });
const seed = Number(process.env['MUSTER_SEED'] ?? 11);
/** Chicago changes to daylight saving time in this month. */
const month = '2027-03';
const range = { from: '2027-02-28', to: '2027-04-01' };
const groupings: GroupBy[] = ['day', 'workflow', 'agent', 'model', 'schedule'];

const buildPrice = (provider: string, model: string, input: number, output: number, from: string): Price => ({
  ...{ provider, model, inputUsdPerMillion: input, outputUsdPerMillion: output, from },
});

describe('a month of three organizations', () => {
  const time = new MovableClock();
  const offices: PracticeOffice[] = [];
  const compared: Record<string, number> = {};
  let harness: Harness;

  beforeAll(async () => {
    const dayMs = 24 * 3600 * 1000;
    // The clock jumps by days between two reports of a machine. These limits keep machines from counting as offline.
    const env = {
      AGENT_OFFLINE_AFTER_MS: String(20 * dayMs),
      JOB_LOST_AFTER_MS: String(dayMs),
      OUTBOX_SWEEP_MS: '200',
    };
    harness = await startHarness({ ...standalone, env, clock: time.clock });
    await time.advanceTo(new Date('2027-03-01T00:10:00Z'));
    const plans = [
      { name: 'Chicago', zone: 'America/Chicago', labor: 28.5, minutes: 12, hourly: 0.12, machines: [null, 0.333333] },
      {
        name: 'Lord Howe',
        zone: 'Australia/Lord_Howe',
        labor: 31.07,
        minutes: 7.5,
        hourly: 0.5,
        machines: [1.25, null],
      },
      { name: 'Kolkata', zone: 'Asia/Kolkata', labor: 9.99, minutes: 15, hourly: 0, machines: [null, null, 0.000001] },
    ];
    const pricings = [
      { pricingType: 'npi_claim_block', blockSize: 2, pricePerBlockUsd: 1.5, minimumUsd: 2 },
      { pricingType: 'per_claim', pricePerClaimUsd: 0.35, minimumUsd: 0.5 },
      { pricingType: 'flat_per_run', pricePerRunUsd: 4.25 },
    ];
    for (const [at, plan] of plans.entries()) {
      const office = await PracticeOffice.open(harness, time, new SeededRandom(seed + at), {
        ...plan,
        pricing: pricings[at]!,
      });
      await office.setPrices([
        buildPrice('openai', 'Month-Small', 0.4 + at, 1.6, '2027-01-01'),
        buildPrice('anthropic', 'month-large', 3, 15.000001, '2027-01-01'),
      ]);
      offices.push(office);
    }
    const rounds = Math.ceil(runs / offices.length);
    for (let round = 0; round < rounds; round += 1) {
      await time.advanceTo(new Date(Date.parse('2027-03-01T01:00:00Z') + (round * 30.5 * 24 * 3600 * 1000) / rounds));
      for (const office of offices) await office.sendHeartbeats();
      if (round === Math.floor(rounds / 2)) await raisePrices();
      await Promise.all(offices.map((office) => office.playRuns()));
    }
    await waitUntilMetered();
  }, 1_200_000);
  afterAll(async () => {
    await harness.close();
    const rows = Object.entries(compared).map(([label, count]) => `  ${label.padEnd(32)} ${String(count).padStart(6)}`);
    process.stdout.write(`\nfigures compared, seed ${seed}, ${runs} runs\n${rows.join('\n')}\n`);
  });

  /** Raises the model prices from tomorrow on, and the price of machines for runs that end from now on. */
  async function raisePrices(): Promise<void> {
    const tomorrow = new Date(time.clock.now().getTime() + 24 * 3600 * 1000).toISOString().slice(0, 10);
    await waitUntilMetered();
    for (const office of offices) {
      await office.setPrices([buildPrice('OPENAI', 'month-small', 0.77, 2.123456, tomorrow)]);
      await office.setHourlyPrice(0.2);
    }
  }

  /** Waits until no message is left in the metering queue. */
  const waitUntilMetered = () =>
    waitFor('every run to be metered', async () => {
      const [left] = await harness.db.query<{ count: number }>(
        'system',
        `SELECT count(*)::int AS count FROM outbox WHERE queue = 'metering'`,
      );
      return left!.count === 0;
    });

  const countCompared = (label: string, figures: number) => (compared[label] = (compared[label] ?? 0) + figures);

  async function checkAll(): Promise<void> {
    for (const { ledger, tenant } of offices) {
      const usage = (await tenant.api.get(`/api/usage?month=${month}`)).body;
      expect(usage).toMatchObject(computeUsage(ledger, month));
      countCompared('usage', 6);
      for (const run of ledger.runs.filter(({ deleted }) => !deleted)) {
        const cost = (await tenant.api.get(`/api/jobs/${run.id}/cost`)).body;
        const expected = computeRunCost(run, ledger.prices);
        const sumMicrosOfKind = (kind: string) =>
          cost.components
            .filter((part: any) => part.kind === kind)
            .reduce((sum: number, part: any) => sum + Math.round(part.amountUsd * 1e6), 0);
        expect([
          run.id,
          sumMicrosOfKind('ai'),
          sumMicrosOfKind('compute'),
          sumMicrosOfKind('reported'),
          Math.round(cost.totalUsd * 1e6),
        ]).toEqual([run.id, ...[expected.ai, expected.compute, expected.reported, expected.total].map(Number)]);
        const job = (await tenant.api.get(`/api/jobs/${run.id}`)).body;
        expect(job.totalCostUsd).toBe(toUsd(expected.total));
        expect(job.claims).toEqual(countClaims(Object.values(run.claims).map((outcome) => ({ outcome }))));
        countCompared('costs and claims of runs', 9);
      }
      for (const groupBy of groupings) {
        const costs = (await tenant.api.get(`/api/costs?from=${range.from}&to=${range.to}&groupBy=${groupBy}`)).body;
        const found = costs.groups.map(({ key, label: _, ...figures }: any) => [key, figures]);
        const expected = computeCosts(ledger, { ...range, groupBy });
        expect(Object.fromEntries(found)).toEqual(expected);
        countCompared(`costs by ${groupBy}`, found.length * 5);
      }
      for (const source of ['', '&source=computed']) {
        const roi = (await tenant.api.get(`/api/pilot/roi?from=${range.from}&to=${range.to}${source}`)).body;
        expect(roi).toMatchObject(computeRoi(ledger, range));
        countCompared(`ROI ${source ? 'with source=computed' : 'without source'}`, 14 + roi.daily.length * 7);
      }
    }
  }

  it('usage, costs and ROI of a month equal an independent recomputation from the recorded input', async () => {
    await checkAll();
  });

  it('the charge of a run is computed from the metadata of its steps', async () => {
    for (const office of offices) {
      for (const run of office.ledger.runs.filter(({ billing }) => billing.length > 0)) {
        expect(await office.backfillBill(run)).toMatchObject(computeBill(run.billing, office.ledger.pricing));
        countCompared('billing', 6);
      }
    }
  });

  it('a model price that is added for a past day changes costs only by a requested recomputation', async () => {
    const before = offices.map(({ ledger }) => ledger.prices);
    for (const [at, office] of offices.entries()) {
      await office.setPrices([buildPrice('nobody', 'month-unknown', 1, 0.123456, '2027-03-05')]);
      office.ledger.prices = before[at]!;
    }
    await checkAll();
    for (const office of offices) {
      office.ledger.prices = [
        ...office.ledger.prices,
        buildPrice('nobody', 'month-unknown', 1, 0.123456, '2027-03-05'),
      ];
      const response = await (await office.signIn()).post('/api/organization/model-prices/recompute', range);
      expect([office.ledger.name, response.status]).toEqual([office.ledger.name, 202]);
    }
    await waitUntilMetered();
    await checkAll();
  });

  it('the costs of deleted runs remain in usage, costs and ROI', async () => {
    for (const office of offices) {
      for (const run of office.ledger.runs.filter((_, at) => at % 7 === 3)) await office.deleteRun(run);
    }
    await waitUntilMetered();
    for (const { ledger, tenant } of offices) {
      expect((await tenant.api.get(`/api/usage?month=${month}`)).body).toMatchObject(computeUsage(ledger, month));
      for (const groupBy of groupings) {
        const costs = (await tenant.api.get(`/api/costs?from=${range.from}&to=${range.to}&groupBy=${groupBy}`)).body;
        const found = costs.groups.map(({ key, label: _, ...figures }: any) => [key, figures]);
        expect(Object.fromEntries(found)).toEqual(computeCosts(ledger, { ...range, groupBy }));
      }
      const roi = (await tenant.api.get(`/api/pilot/roi?from=${range.from}&to=${range.to}`)).body;
      const { batches, claims, cost, savings } = computeRoi(ledger, range);
      expect(roi).toMatchObject({ batches, claims: { attempted: claims.attempted }, cost, savings });
      countCompared('figures after deletion', 20);
    }
  });

  it('each usage counter equals the sum of its usage events', async () => {
    const root = await offices[0]!.signIn('super_admin');
    const answer = await root.post('/api/admin/usage/reconcile', {});
    expect(answer.body).toMatchObject({ differing: 0 });
  });
});
