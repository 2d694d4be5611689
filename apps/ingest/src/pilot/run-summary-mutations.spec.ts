import { newId } from '@muster/platform';
import {
  type Harness,
  type HttpClient,
  makeApiKey,
  makeJob,
  makeOrganization,
  startHarness,
  chooseSize,
} from '@muster/testing';
import fc from 'fast-check';
import { ingest } from '../ingest.harness';

const path = '/api/pilot/run-summary';
const codes: Record<string, number[]> = {
  INVALID_RUN_SUMMARY_PAYLOAD: [400],
  MISSING_BATCH_ID: [400],
  JOB_NOT_FOUND: [404],
  RUN_SUMMARY_REQUEST_FAILED: [400, 413, 415],
};
/** Number of summaries to send, and the time limit for all of them. */
const runs = chooseSize('SUMMARY_MUTATIONS', { short: 400, long: 3000 });
const withinMs = 30_000;

jest.setTimeout(withinMs * 6);

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** Values that are wrong at most positions of a summary. */
const strange = fc.oneof(
  fc.constantFrom<Json>(null, true, false, 0, -1, 1.5, 1e300, '', ' ', '5', 'null', '\ud800', '\u0000', '💥', [], {}),
  fc.constantFrom<Json>('x'.repeat(20_000), Array(10_001).fill({}), Array(300).fill({ claimId: 1 }), [[[[[]]]]]),
  fc.constantFrom<Json>('2026-02-30T00:00:00Z', '2026-01-31', '0000-01-01T00:00:00Z', '9999-12-31T23:59:59.999Z'),
  fc.constantFrom<Json>({ prototype: {} }, { toString: 1 }, { length: 3 }, buildNestedList(70), buildNestedList(60)),
  fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<Json>,
  fc.double() as fc.Arbitrary<Json>,
);

const keys = [
  ...['batchSummary', 'batch_summary', 'claimResults', 'claim_results', 'stopEvents', 'stop_events'],
  ...['practiceRunSummary', 'practice_run_summary', 'batchId', 'batch_id', 'jobId', 'job_id', 'claimId', 'claim_id'],
  ...['outcome', 'npi', 'processingSeconds', 'processing_seconds', 'startedAt', 'at', 'reason', 'metadata', 'totals'],
  ...['constructor', 'hasOwnProperty', 'toString', 'length', '', '0', 'x'.repeat(5000)],
];

type Mutation =
  | { kind: 'replace'; at: number; value: Json }
  | { kind: 'remove'; at: number }
  | { kind: 'add'; at: number; key: string; value: Json }
  | { kind: 'respell'; at: number }
  | { kind: 'wrap'; at: number; key: string };

const at = fc.nat({ max: 10_000 });
const mutation: fc.Arbitrary<Mutation> = fc.oneof(
  fc.record({ kind: fc.constant('replace' as const), at, value: strange }),
  fc.record({ kind: fc.constant('remove' as const), at }),
  fc.record({ kind: fc.constant('add' as const), at, key: fc.constantFrom(...keys), value: strange }),
  fc.record({ kind: fc.constant('respell' as const), at }),
  fc.record({ kind: fc.constant('wrap' as const), at, key: fc.constantFrom(...keys) }),
);

/** Damage to the text of a request: it is cut off, one byte is changed, or one key is repeated. */
const damage = fc.oneof(
  { weight: 12, arbitrary: fc.constant(null) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('cut' as const), at }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('byte' as const), at, byte: fc.nat({ max: 255 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('twice' as const), at, value: strange }) },
);

describe('a mutated run summary', () => {
  let harness: Harness;
  let worker: HttpClient;
  let organizationId: string;
  let jobs: string[];
  const querySql = (text: string) => harness.db.query<any>('system', text);

  beforeAll(async () => {
    harness = await startHarness({ ...ingest, env: { RATE_LIMIT_PER_MINUTE: '1000000', LOG_LEVEL: 'warn' } });
    organizationId = (await makeOrganization(harness.db)).id;
    worker = harness.http.withKey((await makeApiKey(harness.db, { organizationId, scope: 'worker' })).secret);
    const otherOrganizationId = (await makeOrganization(harness.db)).id;
    const [own, foreign] = await Promise.all(
      [organizationId, otherOrganizationId].map((owner) => makeJob(harness.db, { organizationId: owner })),
    );
    jobs = [own!.id, foreign!.id, newId()];
  });
  afterAll(() => harness.close());

  /** Returns a digest of all stored rows and columns. */
  const digestTableContents = async () => {
    const tables = ['pilot_batch', 'pilot_claim_result', 'pilot_stop_event', 'run_cost', 'job'];
    const digests = tables.map(
      (table) => `(SELECT md5(COALESCE(string_agg(t::text, '|' ORDER BY t::text), '')) FROM ${table} t)`,
    );
    const [row] = await querySql(`SELECT concat_ws(' ', ${digests.join(', ')},
      (SELECT count(*) FROM audit_entry), (SELECT count(*) FROM outbox WHERE name = 'batch-ingested')) AS all`);
    return row.all as string;
  };

  const valid = fc
    .record({
      envelope: fc.constantFrom('camel', 'nested', 'nested_snake'),
      isSnake: fc.boolean(),
      job: fc.constantFrom(0, 0, 0, 1, 2, null, null),
      claims: fc.nat({ max: 5 }),
      stops: fc.nat({ max: 2 }),
    })
    .map(({ envelope, isSnake, job, claims, stops }): Json => {
      const content: Json = {
        batchSummary: {
          batchId: 'one and the same',
          ...(job === null ? {} : { jobId: job }),
          workerKey: 'eob',
          startedAt: '2026-01-31T09:00:00Z',
          finishedAt: '2026-01-31T09:30:00Z',
          totals: { claims },
          metadata: { shift: 'early' },
        },
        claimResults: Array.from({ length: claims }, (_, n) => ({
          claimId: `C${n}`,
          npi: '1234567893',
          outcome: ['eob_uploaded', 'no_eob_found', 'failed'][n % 3]!,
          processingSeconds: n + 0.5,
          message: null,
        })),
        stopEvents: Array.from({ length: stops }, () => ({ reason: 'end', at: '2026-01-31T09:30:00Z', detail: 'd' })),
      };
      const spelled = isSnake && envelope !== 'camel' ? convertToSnakeCase(content) : content;
      if (envelope === 'camel') return spelled;
      return { [envelope === 'nested' ? 'practiceRunSummary' : 'practice_run_summary']: spelled };
    });

  it('a mutated run summary is stored completely, or is refused with a known code and changes nothing', async () => {
    let before = await digestTableContents();
    const outcomes: Record<string, number> = {};
    const changed = fc.tuple(valid, fc.array(mutation, { minLength: 0, maxLength: 3 }), damage);
    await fc.assert(
      fc.asyncProperty(changed, async ([summary, mutations, harm]) => {
        const named = JSON.parse(JSON.stringify(summary), (key, value: unknown) =>
          /^job_?id$/i.test(key) && typeof value === 'number' ? jobs[value] : value,
        ) as Json;
        const text = damageText(JSON.stringify(mutations.reduce(mutateValue, named)) ?? '', harm);
        const answer = await worker.send('POST', path, text);
        const outcome = answer.status === 201 ? 'stored' : String(answer.body.code);
        outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
        const now = await digestTableContents();
        if (answer.status === 201) {
          const { batchId, claims, stopEvents } = answer.body;
          const [{ rows, stops, counted }] = await harness.db.query<any>(
            { organizationId },
            `SELECT (SELECT count(*) FROM pilot_claim_result c WHERE c.pilot_batch_id = b.id) AS rows,
                    (SELECT count(*) FROM pilot_stop_event s WHERE s.pilot_batch_id = b.id) AS stops,
                    claims_eob_uploaded + claims_no_eob_found + claims_failed AS counted
             FROM pilot_batch b WHERE organization_id = $1 AND batch_id = $2`,
            [organizationId, batchId],
          );
          expect([rows, stops, counted]).toEqual([claims, stopEvents, claims]);
        } else {
          expect(codes[answer.body.code] ?? [answer.text]).toContain(answer.status);
          const { shape } = answer.body;
          expect(Object.keys(shape).sort()).toEqual(['claimResults', 'envelope', 'keys', 'stopEvents']);
          expect([null, 'camel', 'nested', 'nested_snake']).toContain(shape.envelope);
          expect(shape.keys.length).toBeLessThanOrEqual(50);
          expect(now).toBe(before);
        }
        before = now;
      }),
      { numRuns: runs, interruptAfterTimeLimit: withinMs, markInterruptAsFailure: false },
    );
    // The random bodies are only a good test if each possible outcome has occurred.
    for (const way of ['stored', ...Object.keys(codes)])
      expect([way, outcomes[way]]).toEqual([way, expect.any(Number)]);
  });
});

/** Returns the paths of a value and of all values that it contains. */
function listValuePaths(value: Json, prefix: (string | number)[] = []): (string | number)[][] {
  if (typeof value !== 'object' || value === null) return [prefix];
  const entries: [string | number, Json][] = Array.isArray(value)
    ? value.slice(0, 20).map((item, index) => [index, item])
    : Object.entries(value);
  return [prefix, ...entries.flatMap(([key, inner]) => listValuePaths(inner, [...prefix, key]))];
}

function mutateValue(value: Json, change: Mutation): Json {
  const paths = listValuePaths(value);
  const keyPath = paths[change.at % paths.length]!;
  const old = keyPath.reduce<any>((inner, key) => inner?.[key], value) as Json;
  switch (change.kind) {
    case 'replace':
      return setValueAtPath(value, keyPath, change.value);
    case 'remove':
      return setValueAtPath(value, keyPath, undefined);
    case 'wrap':
      return setValueAtPath(value, keyPath, { [change.key]: old });
    case 'respell':
      return setValueAtPath(value, keyPath, convertToSnakeCase(old));
    case 'add':
      if (Array.isArray(old)) return setValueAtPath(value, keyPath, [...old, change.value]);
      return typeof old === 'object' && old !== null
        ? setValueAtPath(value, keyPath, { ...old, [change.key]: change.value })
        : setValueAtPath(value, keyPath, change.value);
  }
}

function setValueAtPath(value: Json, [key, ...rest]: (string | number)[], inner: Json | undefined): Json {
  if (key === undefined) return inner ?? null;
  const copy: any = Array.isArray(value) ? [...value] : { ...(value as object) };
  if (rest.length === 0 && inner === undefined) delete copy[key];
  else copy[key] = setValueAtPath(copy[key], rest, inner);
  return Array.isArray(copy) ? copy.filter((item) => item !== undefined) : copy;
}

function convertToSnakeCase(value: Json): Json {
  if (Array.isArray(value)) return value.map(convertToSnakeCase);
  if (typeof value !== 'object' || value === null) return value;
  const spellInSnakeCase = (key: string) => key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [spellInSnakeCase(key), convertToSnakeCase(inner)]),
  );
}

type Damage =
  | { kind: 'cut'; at: number }
  | { kind: 'byte'; at: number; byte: number }
  | { kind: 'twice'; at: number; value: Json }
  | null;

function damageText(text: string, harm: Damage): string | Uint8Array {
  if (harm === null || text.length === 0) return text;
  const offset = harm.at % text.length;
  if (harm.kind === 'cut') return text.slice(0, offset);
  if (harm.kind === 'twice') return text.replace(/\}$/, `,"batchSummary":${JSON.stringify(harm.value) ?? 'null'}}`);
  const bytes = Buffer.from(text);
  bytes[offset % bytes.length] = harm.byte;
  return new Uint8Array(bytes);
}

function buildNestedList(depth: number): Json {
  return depth === 0 ? 1 : [buildNestedList(depth - 1)];
}
