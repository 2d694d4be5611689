import type { Batch, BillingStep, Office, Price, Run, Usage } from './ledger.harness';

// Recomputes a month's figures from its recorded input, with exact fractions and without code of the service.

interface Fraction {
  over: bigint;
  under: bigint;
}

/** Returns a number, rounded to 12 decimals, as a fraction. */
function toFraction(value: number): Fraction {
  const text = value.toFixed(12);
  return { over: BigInt(text.replace('.', '')), under: 10n ** 12n };
}
const multiplyBoth = (a: Fraction, b: Fraction): Fraction => ({ over: a.over * b.over, under: a.under * b.under });
const addFractions = (a: Fraction, b: Fraction): Fraction => ({
  over: a.over * b.under + b.over * a.under,
  under: a.under * b.under,
});
const makeFraction = (n: number | bigint): Fraction => ({ over: BigInt(n), under: 1n });
const zero = makeFraction(0);

/** Rounds to whole millionths, half to even. */
function roundToMicros({ over, under }: Fraction): bigint {
  const scaled = over * 1_000_000n;
  const floor = scaled >= 0n ? scaled / under : -((-scaled + under - 1n) / under);
  const remainder = (scaled - floor * under) * 2n;
  if (remainder > under || (remainder === under && floor % 2n !== 0n)) return floor + 1n;
  return floor;
}

const sumAmounts = (amounts: bigint[]) => amounts.reduce((sum, amount) => sum + amount, 0n);

export interface Cost {
  ai: bigint;
  compute: bigint;
  reported: bigint;
  total: bigint;
  byModel: Map<string, bigint>;
}

/** Returns the price that applies to a usage; null if there is none. */
function findPrice(prices: Price[], { provider, model, at }: Usage): Price | null {
  const equalsIgnoringCase = (a: string, b: string) => a.toLowerCase() === b.toLowerCase();
  const applicable = prices
    .filter(
      (price) =>
        equalsIgnoringCase(price.provider, provider) &&
        equalsIgnoringCase(price.model, model) &&
        price.from <= at.slice(0, 10),
    )
    .sort((a, b) => (a.from < b.from ? 1 : -1));
  return applicable[0] ?? null;
}

export function computeRunCost(run: Run, prices: Price[]): Cost {
  const byModel = new Map<string, bigint>();
  for (const name of new Set(run.usages.map((usage) => formatModelName(usage)))) {
    const usages = run.usages.filter((usage) => formatModelName(usage) === name);
    const priced = usages.map((usage) => ({ usage, price: findPrice(prices, usage) }));
    const computeWorth = (tokens: (usage: Usage) => number, price: (entry: Price) => number) =>
      roundToMicros(
        priced.reduce(
          (sum, each) =>
            each.price
              ? addFractions(
                  sum,
                  multiplyBoth(multiplyBoth(makeFraction(tokens(each.usage)), toFraction(price(each.price))), {
                    over: 1n,
                    under: 1_000_000n,
                  }),
                )
              : sum,
          zero,
        ),
      );
    const reportedCosts = priced
      .filter(({ price, usage }) => price === null && usage.reported !== null)
      .map(({ usage }) => roundToMicros(toFraction(usage.reported!)));
    byModel.set(
      name,
      computeWorth(
        (u) => u.input,
        (p) => p.inputUsdPerMillion,
      ) +
        computeWorth(
          (u) => u.output,
          (p) => p.outputUsdPerMillion,
        ) +
        sumAmounts(reportedCosts),
    );
  }
  const ai = sumAmounts([...byModel.values()]);
  const ms = run.startedAt ? Date.parse(run.finishedAt) - Date.parse(run.startedAt) : 0;
  const compute = run.startedAt
    ? roundToMicros(multiplyBoth(toFraction(run.hourly), { over: BigInt(ms), under: 3_600_000n }))
    : 0n;
  const reportedTotal = run.reported === null ? 0n : roundToMicros(toFraction(run.reported));
  const reported = reportedTotal > ai + compute ? reportedTotal - ai - compute : 0n;
  return { ai, compute, reported, total: ai + compute + reported, byModel };
}

const formatModelName = ({ provider, model }: Usage) => `${provider}/${model}`;

export const toUsd = (amount: bigint) => Number(amount) / 1_000_000;

/** Returns the calendar day in a time zone as YYYY-MM-DD. */
export function formatDayInZone(zone: string, at: string): string {
  return new Intl.DateTimeFormat('sv-SE', { timeZone: zone, year: 'numeric', month: '2-digit', day: '2-digit' }).format(
    new Date(at),
  );
}

export function computeUsage({ runs, prices }: Office, month: string) {
  const ended = runs.filter(({ finishedAt }) => finishedAt.startsWith(month));
  const countWithStatus = (status: Run['status']) => ended.filter((run) => run.status === status).length;
  const ms = ended.reduce(
    (sum, { startedAt, finishedAt }) => sum + (startedAt ? Date.parse(finishedAt) - Date.parse(startedAt) : 0),
    0,
  );
  return {
    runs: ended.length,
    completed: countWithStatus('completed'),
    failed: countWithStatus('failed'),
    cancelled: countWithStatus('cancelled'),
    runMinutes: ms / 60_000,
    spendUsd: toUsd(sumAmounts(ended.map((run) => computeRunCost(run, prices).total))),
  };
}

export type GroupBy = 'day' | 'workflow' | 'agent' | 'model' | 'schedule';

interface Group {
  runs: Set<string>;
  ai: bigint;
  compute: bigint;
  reported: bigint;
}

/** Returns the costs of each group by its key. */
export function computeCosts(
  { runs, prices, zone }: Office,
  { from, to, groupBy }: { from: string; to: string; groupBy: GroupBy },
) {
  const groups = new Map<string, Group>();
  const findOrCreateGroup = (key: string) => {
    const group = groups.get(key) ?? { runs: new Set<string>(), ai: 0n, compute: 0n, reported: 0n };
    groups.set(key, group);
    return group;
  };
  for (const run of runs) {
    const day = formatDayInZone(zone, run.finishedAt);
    if (!run.startedAt || day < from || day > to) continue;
    const cost = computeRunCost(run, prices);
    if (groupBy === 'model') {
      for (const [name, amount] of cost.byModel) {
        const group = findOrCreateGroup(name);
        group.ai += amount;
        group.runs.add(run.id);
      }
    }
    const key = {
      day,
      workflow: run.workflowId,
      agent: run.agentId,
      schedule: run.scheduleId ?? 'none',
      model: 'none',
    }[groupBy];
    const group = findOrCreateGroup(key);
    if (groupBy !== 'model') group.ai += cost.ai;
    group.compute += cost.compute;
    group.reported += cost.reported;
    group.runs.add(run.id);
  }
  return Object.fromEntries(
    [...groups].map(([key, { runs: runIds, ai, compute, reported }]) => [
      key,
      {
        runs: runIds.size,
        aiUsd: toUsd(ai),
        computeUsd: toUsd(compute),
        reportedUsd: toUsd(reported),
        totalUsd: toUsd(ai + compute + reported),
      },
    ]),
  );
}

/** Rounds a fraction to this number of decimals, half to even. */
function roundToDecimals({ over, under }: Fraction, places: number): number {
  return Number(roundToMicros({ over: over * 10n ** BigInt(places), under: under * 1_000_000n })) / 10 ** places;
}

export function computeRoi(office: Office, { from, to }: { from: string; to: string }) {
  const { runs, prices, labor, minutes } = office;
  const within = office.batches.filter(({ day }) => day >= from && day <= to);
  const days = listDaysBetween(from, to);
  const jobIds = [...new Set(within.flatMap(({ jobId }) => jobId ?? []))];
  const findFirstDay = (jobId: string) =>
    within
      .filter((batch) => batch.jobId === jobId)
      .map(({ day }) => day)
      .sort()[0]!;
  const costs = jobIds.map((jobId) => ({
    day: findFirstDay(jobId),
    total: computeRunCost(
      runs.find(({ id }) => id === jobId)!,
      prices,
    ).total,
  }));
  const daily = days.map((date) => {
    const claims = countBatches(within.filter(({ day }) => day === date));
    const compute = sumAmounts(costs.filter(({ day }) => day === date).map(({ total }) => total));
    const hours = { over: BigInt(claims.eobUploaded + claims.noEobFound), under: 60n };
    const laborMicros = roundToMicros(multiplyBoth(multiplyBoth(hours, toFraction(minutes)), toFraction(labor)));
    return { date, claims, compute, labor: laborMicros, net: laborMicros - compute };
  });
  const claims = countBatches(within);
  const seconds = within
    .flatMap((batch) => batch.claims.flatMap(({ seconds: duration }) => duration ?? []))
    .sort((a, b) => a - b);
  const total = seconds.reduce((sum, each) => addFractions(sum, toFraction(each)), zero);
  const compute = sumAmounts(daily.map((day) => day.compute));
  const laborSum = sumAmounts(daily.map((day) => day.labor));
  const roundRatio = (over: Fraction, under: Fraction, places: number) =>
    under.over === 0n
      ? null
      : roundToDecimals({ over: over.over * under.under, under: over.under * under.over }, places);
  const worked = multiplyBoth(makeFraction(claims.eobUploaded + claims.noEobFound), toFraction(minutes));
  return {
    batches: within.length,
    jobs: jobIds.length,
    claims: {
      ...claims,
      perHour: roundRatio(multiplyBoth(makeFraction(claims.attempted), makeFraction(3600)), total, 4),
    },
    processing: {
      totalSeconds: roundToDecimals(total, 4),
      averageSeconds: roundRatio(total, makeFraction(seconds.length), 4),
      p50Seconds: computePercentile(seconds, 50),
      p95Seconds: computePercentile(seconds, 95),
    },
    cost: {
      computeUsd: toUsd(compute),
      perClaimUsd: roundRatio({ over: compute, under: 1_000_000n }, makeFraction(claims.attempted), 6),
    },
    savings: {
      minutesPerClaim: minutes,
      hoursSaved: roundToDecimals({ over: worked.over, under: worked.under * 60n }, 4),
      laborUsd: toUsd(laborSum),
      netUsd: toUsd(laborSum - compute),
      roiPercent: roundRatio(
        multiplyBoth(makeFraction(laborSum - compute), makeFraction(100)),
        makeFraction(compute),
        4,
      ),
    },
    daily: daily.map(({ date, claims: dayClaims, compute: spent, labor: saved, net }) => ({
      date,
      claims: dayClaims,
      computeUsd: toUsd(spent),
      laborUsd: toUsd(saved),
      netUsd: toUsd(net),
    })),
  };
}

const countBatches = (batches: Batch[]) => countClaims(batches.flatMap(({ claims }) => claims));

export function countClaims(claims: { outcome: string }[]) {
  const countWithStatus = (outcome: string) => claims.filter((claim) => claim.outcome === outcome).length;
  return {
    attempted: claims.length,
    eobUploaded: countWithStatus('eob_uploaded'),
    noEobFound: countWithStatus('no_eob_found'),
    failed: countWithStatus('failed'),
  };
}

/** Interpolates linearly between the two nearest values; null without values. */
function computePercentile(sorted: number[], percent: number): number | null {
  if (sorted.length === 0) return null;
  const position = BigInt(sorted.length - 1) * BigInt(percent);
  const [at, part] = [Number(position / 100n), position % 100n];
  const low = toFraction(sorted[at]!);
  const high = toFraction(sorted[Math.min(at + 1, sorted.length - 1)]!);
  const between = multiplyBoth(addFractions(high, { over: -low.over, under: low.under }), { over: part, under: 100n });
  return roundToDecimals(addFractions(low, between), 4);
}

function listDaysBetween(from: string, to: string): string[] {
  const days: string[] = [];
  for (let at = Date.parse(`${from}T12:00:00Z`); ; at += 86_400_000) {
    const day = new Date(at).toISOString().slice(0, 10);
    if (day > to) return days;
    days.push(day);
  }
}

export function computeBill(steps: BillingStep[], pricing: Office['pricing']) {
  const claims = new Map<string, Set<string>>();
  let candidates = 0;
  let repeated = 0;
  let selected: string | undefined;
  const hasClaims = steps.some(({ type }) => type === 'claim_result');
  for (const step of steps) {
    if (step.type === 'select_org_provider') {
      selected = step.npi;
      if (!hasClaims) claims.set(step.npi!, new Set());
      continue;
    }
    candidates += 1;
    const npi = step.npi ?? selected;
    const id = step.claim_id ? `c ${step.claim_id}` : step.claim_submission_id && `s ${step.claim_submission_id}`;
    if (!npi || !id) continue;
    const claimIds = claims.get(npi) ?? new Set<string>();
    if (claimIds.has(id)) repeated += 1;
    claims.set(npi, claimIds.add(id));
  }
  const perNpi = Object.fromEntries([...claims].map(([npi, ids]) => [npi, ids.size]));
  const counts = Object.values(perNpi);
  const total = counts.reduce((sum, each) => sum + each, 0);
  const getGroupPrice = (name: string) => roundToMicros(toFraction((pricing[name] as number | undefined) ?? 0));
  const charge = {
    npi_claim_block: () =>
      sumAmounts(
        counts.map(
          (each) => BigInt(Math.ceil(each / (pricing['blockSize'] as number))) * getGroupPrice('pricePerBlockUsd'),
        ),
      ),
    per_claim: () => BigInt(total) * getGroupPrice('pricePerClaimUsd'),
    flat_per_run: () => getGroupPrice('pricePerRunUsd'),
  }[pricing.pricingType]!();
  const least = getGroupPrice('minimumUsd');
  return {
    npi_count: counts.length,
    total_claims: total,
    total_steps_before_dedup: candidates,
    duplicates_removed: repeated,
    claims_per_npi: perNpi,
    calculated_charge_usd: toUsd(charge < least ? least : charge),
  };
}
