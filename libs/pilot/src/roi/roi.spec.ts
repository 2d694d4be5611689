import fc from 'fast-check';
import type { ClaimOutcome, Roi } from '@muster/contracts';
import { DatabaseModule } from '@muster/database';
import { BaseConfig } from '@muster/platform';
import { type Harness, makeAgent, makeJob, makeOrganization, makeWorkflow, startHarness } from '@muster/testing';
import { unlinkJobFromBatches } from '../batches/unlink-job-from-batches';
import { ingestRunSummary } from '../summaries/ingest-run-summary';
import { readRoi } from './read-roi';
import { refreshRoiRollups } from './refresh-roi-rollups';
import { rebuildRoiRollups, verifyRoiRollups } from './verify-rollups';

const now = new Date('2026-03-20T12:00:00Z');
const zones = ['America/Chicago', 'Pacific/Apia', 'Asia/Kathmandu', 'UTC', 'Europe/Berlin'];

interface Claim {
  outcome: ClaimOutcome;
  /** Processing time in whole microseconds; null if unknown. */
  micros: number | null;
}
interface Batch {
  at: Date;
  job: number | null;
  claims: Claim[];
}

/** Everything that was reported and changed, independent of what the product stores. */
interface World {
  zone: string;
  minutes: number;
  rate: number;
  batches: Map<string, Batch>;
  jobs: { id: string; workflowId: string; cost: number | null; deleted: boolean }[];
}

describe('readRoi', () => {
  let harness: Harness;

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
  });
  afterAll(() => harness.close());

  async function openRoiFixture() {
    const { id: organizationId } = await makeOrganization(harness.db);
    const agent = await makeAgent(harness.db, { organizationId });
    const workflows = [
      await makeWorkflow(harness.db, { organizationId }),
      await makeWorkflow(harness.db, { organizationId }),
    ];
    const world: World = { zone: 'America/Chicago', minutes: 12, rate: 28, batches: new Map(), jobs: [] };
    const sql = (text: string, values: unknown[]) => harness.db.query('system', text, values);
    for (let at = 0; at < 4; at += 1) {
      const workflowId = workflows[at % 2]!.id;
      const { id } = await makeJob(harness.db, { organizationId, workflowId, agentId: agent.id, status: 'completed' });
      world.jobs.push({ id, workflowId, cost: null, deleted: false });
    }
    await sql('UPDATE organization_settings SET timezone = $2 WHERE organization_id = $1', [
      organizationId,
      world.zone,
    ]);
    const caller = {
      kind: 'api_key' as const,
      id: 'testkey01',
      scope: 'worker' as const,
      agentId: null,
      role: 'member' as const,
      organizationId,
      organizationName: 'O',
      organizationSuspended: false,
    };
    const actions = {
      ingest: (batchId: string, { at, job, claims }: Batch) =>
        harness.db.transaction({ organizationId }, (tx) =>
          ingestRunSummary(tx, caller, {
            batchId,
            jobId: job === null ? null : world.jobs[job]!.id,
            workerKey: null,
            startedAt: at.toISOString(),
            finishedAt: null,
            totals: null,
            metadata: {},
            claims: claims.map(({ outcome, micros }, index) => ({
              claimId: `C-${index}`,
              npi: null,
              outcome,
              processingMicros: micros,
              message: null,
              metadata: null,
            })),
            stopEvents: [],
          } as never),
        ),
      cost: (job: number, micros: number) =>
        sql('UPDATE job SET total_cost_micros = $2 WHERE id = $1', [world.jobs[job]!.id, micros]),
      forget: (job: number) =>
        harness.db.transaction('system', async (tx) => {
          await unlinkJobFromBatches(tx, { organizationId, jobId: world.jobs[job]!.id });
          await tx.execute('DELETE FROM job WHERE id = $1', [world.jobs[job]!.id]);
        }),
      settings: () =>
        sql(
          `UPDATE organization_settings SET timezone = $2, minutes_saved_per_claim = $3, labor_micros_per_hour = $4
           WHERE organization_id = $1`,
          [organizationId, world.zone, world.minutes, Math.round(world.rate * 1e6)],
        ),
      refresh: () => refreshRoiRollups(harness.db, organizationId),
      roi: (query: object) => readRoi(harness.db, organizationId, { query, now }),
    };
    return { organizationId, workflows: workflows.map(({ id }) => id), world, sql, ...actions };
  }
  type Fixture = Awaited<ReturnType<typeof openRoiFixture>>;

  /** Expects the same figures from both sources and from the plain recomputation, for one workflow or all. */
  async function expectEqualFigures(fixture: Fixture, query: { from: string; to: string; workflowId?: string }) {
    const [rollup, raw] = [await fixture.roi(query), await fixture.roi({ ...query, source: 'computed' })];
    const plain = computePlainRoi(fixture.world, query);
    expect(raw).toEqual({ ...plain, source: 'computed' });
    expect(rollup).toEqual({ ...plain, source: rollup.source });
    return rollup.source;
  }

  const instant = fc
    .integer({ min: 0, max: 13 * 96 })
    // Around the start of daylight saving time in America, including the minutes before and after midnight.
    .chain((quarter) =>
      fc
        .integer({ min: -2, max: 2 })
        .map((minute) => new Date(Date.UTC(2026, 2, 2) + (quarter * 15 + minute) * 60_000)),
    );
  const claim = fc.record<Claim>({
    outcome: fc.constantFrom('eob_uploaded', 'no_eob_found', 'failed'),
    micros: fc.option(
      fc.oneof(fc.integer({ min: 0, max: 100 }), fc.integer({ min: 0, max: 604_800_000_000 }), fc.constant(30_000_000)),
    ),
  });
  const day = fc
    .integer({ min: 0, max: 16 })
    .map((days) => new Date(Date.UTC(2026, 1, 28 + days)).toISOString().slice(0, 10));
  const operation = fc.oneof(
    {
      weight: 8,
      arbitrary: fc.record({
        kind: fc.constant('ingest' as const),
        batchId: fc.integer({ min: 0, max: 9 }).map((id) => `batch-${id}`),
        batch: fc.record<Batch>({ at: instant, job: fc.option(fc.nat(3)), claims: fc.array(claim, { maxLength: 6 }) }),
      }),
    },
    {
      weight: 4,
      arbitrary: fc.record({ kind: fc.constant('cost' as const), job: fc.nat(3), micros: fc.nat(5_000_000) }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('forget' as const), job: fc.nat(3) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('zone' as const), zone: fc.constantFrom(...zones) }) },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant('settings' as const),
        minutes: fc.integer({ min: 0, max: 300 }).map((n) => n / 8),
        rate: fc.nat(100),
      }),
    },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('refresh' as const) }) },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant('read' as const),
        from: day,
        days: fc.nat(16),
        workflow: fc.option(fc.nat(1)),
      }),
    },
  );

  it('the ROI from rollups, from claims and from a plain recomputation is equal after any changes', async () => {
    const sources = new Set<string>();
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { minLength: 5, maxLength: 40 }), async (operations) => {
        const fixture = await openRoiFixture();
        const { world } = fixture;
        for (const each of [...operations, { kind: 'read' as const, from: '2026-02-28', days: 17, workflow: null }]) {
          if (each.kind === 'ingest') {
            if (each.batch.job !== null && world.jobs[each.batch.job]!.deleted) continue;
            await fixture.ingest(each.batchId, each.batch);
            world.batches.set(each.batchId, each.batch);
          } else if (each.kind === 'cost') {
            if (world.jobs[each.job]!.deleted) continue;
            await fixture.cost(each.job, each.micros);
            world.jobs[each.job]!.cost = each.micros;
          } else if (each.kind === 'forget') {
            if (world.jobs[each.job]!.deleted) continue;
            await fixture.forget(each.job);
            world.jobs[each.job]!.deleted = true;
          } else if (each.kind === 'zone' || each.kind === 'settings') {
            Object.assign(
              world,
              each.kind === 'zone' ? { zone: each.zone } : { minutes: each.minutes, rate: each.rate },
            );
            await fixture.settings();
          } else if (each.kind === 'refresh') {
            await fixture.refresh();
          } else {
            const to = new Date(Date.parse(each.from) + each.days * 86_400_000).toISOString().slice(0, 10);
            const workflowId = each.workflow === null ? undefined : fixture.workflows[each.workflow];
            sources.add(await expectEqualFigures(fixture, { from: each.from, to, workflowId }));
          }
        }
        expect(await verifyRoiRollups(harness.db, fixture.organizationId)).toEqual([]);
      }),
      { numRuns: 25 },
    );
    expect(sources).toContain('rollup');
  });

  it('the ROI figures are computed from claims until all changed days are in the rollups', async () => {
    const fixture = await openRoiFixture();
    const at = new Date('2026-03-10T02:00:00Z');
    for (let id = 0; id < 40; id += 1) {
      const batch = { at: new Date(at.getTime() - id * 86_400_000), job: null, claims: [] };
      await fixture.ingest(`batch-${id}`, batch);
      fixture.world.batches.set(`batch-${id}`, batch);
    }
    const query = { from: '2026-01-01', to: '2026-03-31' };
    expect(await expectEqualFigures(fixture, query)).toBe('computed');
    while ((await fixture.refresh()).hasMore);
    expect(await expectEqualFigures(fixture, query)).toBe('rollup');
    fixture.world.zone = 'Asia/Kathmandu';
    await fixture.settings();
    expect(await expectEqualFigures(fixture, query)).toBe('computed');
    while ((await fixture.refresh()).hasMore);
    expect(await expectEqualFigures(fixture, query)).toBe('rollup');
  });

  it('verifyRoiRollups finds errors in the ROI rollups, and rebuildRoiRollups repairs them', async () => {
    const fixture = await openRoiFixture();
    const claims: Claim[] = [10, 20, 30].map((micros) => ({ outcome: 'failed', micros }));
    await fixture.ingest('one', { at: new Date('2026-03-10T12:00:00Z'), job: 0, claims });
    await fixture.ingest('two', { at: new Date('2026-03-11T12:00:00Z'), job: 0, claims });
    await fixture.cost(0, 7);
    const { organizationId } = fixture;
    const verify = () => verifyRoiRollups(harness.db, organizationId);
    expect(await verify()).toEqual([]);
    const workflowId = fixture.workflows[0]!;
    for (const [fault, differs] of [
      [`UPDATE pilot_roi_day SET failed = failed + 1 WHERE day = '2026-03-10'`, ['2026-03-10']],
      [`UPDATE pilot_roi_cost SET cost_micros = cost_micros + 1 WHERE day_before = '-infinity'`, ['2026-03-10']],
      [`DELETE FROM pilot_roi_day WHERE day = '2026-03-11'`, ['2026-03-11', 'percentiles']],
    ] as const) {
      await fixture.sql(`${fault} AND organization_id = $1`, [organizationId]);
      expect(await verify()).toEqual([null, workflowId].map((id) => ({ organizationId, workflowId: id, differs })));
      expect(await rebuildRoiRollups(harness.db, organizationId)).toEqual({ days: 2 });
      expect(await verify()).toEqual([]);
    }
  });
});

/**
 * Computes the figures with an independent implementation of their definitions: days by Intl, totals by BigInt,
 * percentiles by position.
 */
function computePlainRoi(
  world: World,
  { from, to, workflowId }: { from: string; to: string; workflowId?: string },
): Omit<Roi, 'source'> {
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone: world.zone, dateStyle: 'short' });
  const batches = [...world.batches.values()]
    .map((batch) => ({
      ...batch,
      day: format.format(batch.at),
      jobEntry: batch.job === null ? null : world.jobs[batch.job]!,
    }))
    .filter(({ day, jobEntry }) => day >= from && day <= to && (!workflowId || jobEntry?.workflowId === workflowId));
  const rounded = (numerator: bigint, denominator: bigint, decimals: number) => {
    const scaled = numerator * 10n ** BigInt(decimals);
    const [whole, rest] = [scaled / denominator, (scaled % denominator) * 2n];
    const away = rest < 0n ? -rest : rest;
    const up = away > denominator || (away === denominator && whole % 2n !== 0n);
    return Number(whole + (up ? (scaled < 0n ? -1n : 1n) : 0n)) / 10 ** decimals;
  };
  const micros = (usd: number) => BigInt(Math.round(usd * 1e6));
  const countOf = (claims: Claim[]) => ({
    attempted: claims.length,
    eobUploaded: claims.filter(({ outcome }) => outcome === 'eob_uploaded').length,
    noEobFound: claims.filter(({ outcome }) => outcome === 'no_eob_found').length,
    failed: claims.filter(({ outcome }) => outcome === 'failed').length,
  });
  const timesOf = (claims: Claim[]) => claims.flatMap((each) => (each.micros === null ? [] : [BigInt(each.micros)]));
  const sum = (list: bigint[]) => list.reduce((total, each) => total + each, 0n);
  const firstDay = new Map<World['jobs'][number], string>();
  for (const { jobEntry, day } of batches) {
    if (jobEntry && day < (firstDay.get(jobEntry) ?? '9')) firstDay.set(jobEntry, day);
  }
  const eighths = BigInt(Math.round(world.minutes * 8));
  const daily = [];
  let [compute, labor] = [0n, 0n];
  for (let at = Date.parse(from); at <= Date.parse(to); at += 86_400_000) {
    const date = new Date(at).toISOString().slice(0, 10);
    const claims = batches.filter(({ day }) => day === date).flatMap((batch) => batch.claims);
    const counts = countOf(claims);
    const cost = sum([...firstDay].filter(([, day]) => day === date).map(([job]) => BigInt(job.cost ?? 0)));
    const saved = BigInt(counts.eobUploaded + counts.noEobFound);
    const work = micros(rounded(saved * eighths * micros(world.rate), 8n * 60n * 1_000_000n, 6));
    compute += cost;
    labor += work;
    daily.push({
      date,
      claims: counts,
      processingSeconds: rounded(sum(timesOf(claims)), 1_000_000n, 4),
      computeUsd: Number(cost) / 1e6,
      laborUsd: Number(work) / 1e6,
      netUsd: Number(work - cost) / 1e6,
    });
  }
  const claims = batches.flatMap((batch) => batch.claims);
  const counts = countOf(claims);
  const times = timesOf(claims).sort((a, b) => (a < b ? -1 : 1));
  const total = sum(times);
  const percentile = (percent: bigint) => {
    if (times.length === 0) return null;
    const position = percent * BigInt(times.length - 1);
    const [low, part] = [times[Number(position / 100n)]!, position % 100n];
    const high = times[Number(position / 100n) + 1] ?? low;
    return rounded(low * 100n + (high - low) * part, 100_000_000n, 4);
  };
  const saved = BigInt(counts.eobUploaded + counts.noEobFound);
  return {
    from,
    to,
    batches: batches.length,
    jobs: [...firstDay.keys()].filter(({ deleted }) => !deleted).length,
    claims: { ...counts, perHour: total === 0n ? null : rounded(BigInt(counts.attempted) * 3_600_000_000n, total, 4) },
    processing: {
      totalSeconds: rounded(total, 1_000_000n, 4),
      averageSeconds: times.length === 0 ? null : rounded(total, BigInt(times.length) * 1_000_000n, 4),
      p50Seconds: percentile(50n),
      p95Seconds: percentile(95n),
    },
    cost: {
      computeUsd: Number(compute) / 1e6,
      perClaimUsd: counts.attempted === 0 ? null : rounded(compute, BigInt(counts.attempted) * 1_000_000n, 6),
    },
    savings: {
      minutesPerClaim: world.minutes,
      hoursSaved: rounded(saved * eighths, 480n, 4),
      laborUsd: Number(labor) / 1e6,
      netUsd: Number(labor - compute) / 1e6,
      roiPercent: compute === 0n ? null : rounded((labor - compute) * 100n, compute, 4),
    },
    daily,
  };
}
