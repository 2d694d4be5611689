import {
  ClaimResult,
  FailAccountBody,
  Faults,
  readFields,
  RunSummaryBatch,
  RunSummaryClaim,
  RunSummaryStop,
  StepStatusBody,
} from '@muster/contracts';
import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';
import { createFirstState } from './run-state';
import { parseEvents } from './script-events';
import type { Item } from '../spool/spool-item';

const jobId = '0190a5b4-0000-7000-8000-000000000002';

/** Calls of the module at a limit of the service, each with a call just past that limit. */
const calls: [taken: string, refused: string][] = [
  ['claim("x" * 200, "failed")', 'claim("x" * 201, "failed")'],
  ['claim(7, "failed")', 'claim("", "failed")'],
  ['claim("c", "failed", npi="1" * 20)', 'claim("c", "failed", npi="1" * 21)'],
  ['claim("c", "failed", message="m" * 10000)', 'claim("c", "failed", message="m" * 10001)'],
  ['claim("c", "failed", metadata={"a": 1})', 'claim("c", "failed", metadata=[1])'],
  ['ai_usage("p" * 100, "m" * 200, 2147483647)', 'ai_usage("p" * 101, "m")'],
  ['ai_usage("p", "m", cost_usd=1000000)', 'ai_usage("p", "m", 2147483648)'],
  ['ai_usage("p", "m", 0, 0)', 'ai_usage("p", "m", -1)'],
  ['step("s", step_id="i" * 200).__enter__()', 'step("s", step_id="i" * 201).__enter__()'],
  ['step("s", {"a": 1}).__enter__()', 'step("s", "text").__enter__()'],
  ['run_summary("b" * 200)', 'run_summary("b" * 201)'],
  ['run_summary(7, worker_key="w" * 200)', 'run_summary("b", worker_key="w" * 201)'],
  ['run_summary("b", started_at="2026-01-31T09:30")', 'run_summary("b", started_at="yesterday")'],
  ['run_summary("b", totals={"a": 1})', 'run_summary("b", totals=3)'],
  ['run_summary("b", claims=[claim_of("x" * 200)])', 'run_summary("b", claims=[claim_of("x" * 201)])'],
  [
    'run_summary("b", claims=[claim_of(1, processing_seconds=604800)])',
    'run_summary("b", claims=[claim_of(1, processing_seconds=604801)])',
  ],
  ['run_summary("b", stop_events=[{"reason": "r" * 500}])', 'run_summary("b", stop_events=[{"reason": "r" * 501}])'],
  [
    'run_summary("b", stop_events=[{"reason": "r", "detail": "d" * 10000}])',
    'run_summary("b", stop_events=[{"reason": "r", "detail": "d" * 10001}])',
  ],
  ['account_failed("PORTAL", "locked", "m" * 2000)', 'account_failed("PORTAL", "locked", "m" * 2001)'],
  ['account_failed("PORTAL", reason="expired")', 'account_failed("PORTAL", reason="wrong")'],
  ['error_code("portal_down")', 'error_code("Portal down")'],
  ['result(nested(49))', 'result(nested(51))'],
];

const program = `
import io, json, sys
import muster
def claim_of(claim_id, **more): return {"claim_id": claim_id, "outcome": "failed", **more}
def nested(levels): return 1 if levels == 0 else [nested(levels - 1)]
names = {**vars(muster), "claim_of": claim_of, "nested": nested}
outcomes = []
for calls in json.load(sys.stdin):
    outcomes.append([])
    for call in calls:
        out, sys.stdout = sys.stdout, io.StringIO()
        try:
            eval(call, names)
            outcomes[-1].append(json.loads(sys.stdout.getvalue().splitlines()[0][len("[muster] "):]))
        except ValueError as error:
            outcomes[-1].append(str(error))
        finally:
            sys.stdout = out
print(json.dumps(outcomes))
`;

describe('Checks of the muster module', () => {
  it('the muster module accepts values up to the service’s limits, but refuses values past them with a message', () => {
    const text = execFileSync('python3', ['-c', program], {
      input: JSON.stringify(calls),
      env: { PYTHONPATH: resolve(__dirname), PYTHONDONTWRITEBYTECODE: '1' },
      maxBuffer: 64 * 1024 * 1024,
    }).toString();
    const outcomes = JSON.parse(text) as [taken: unknown, refused: unknown][];
    for (const [at, [taken, refused]] of outcomes.entries()) {
      const [call] = calls[at]!;
      const { items, invalid } = parseEvents([taken], createFirstState(jobId, '/run'), Date.now());
      expect([call, invalid, items.flatMap(listFaults)]).toEqual([call, [], []]);
      expect(refused).toMatch(/^muster(\.[a-z_]+)?: ./);
    }
  });

  it('a step that ends the script has passed only if the exit code is 0', () => {
    const script = `
import muster
for code in (None, 0, 1, "portal down"):
    try:
        with muster.step(str(code)):
            raise SystemExit(code)
    except SystemExit:
        pass
`;
    const lines = execFileSync('python3', ['-c', script], {
      env: { PYTHONPATH: resolve(__dirname), PYTHONDONTWRITEBYTECODE: '1' },
    })
      .toString()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line.replace('[muster] ', '')) as Record<string, unknown>);
    const ends = lines.filter(({ type }) => type === 'step_finished');
    expect(ends.map(({ status, error }) => [status, error])).toEqual([
      ['passed', undefined],
      ['passed', undefined],
      ['failed', 'SystemExit: 1'],
      ['failed', 'SystemExit: portal down'],
    ]);
  });
});

/** Returns the validation errors with which the service would answer. */
function listFaults(item: Item): unknown[] {
  const faults = new Faults();
  const readObjectFields = (type: new () => object, value: object): object =>
    readFields(type, value, { faults, path: '', unknown: 'ignore' });
  if (item.kind === 'claims') for (const claim of item.claims) readObjectFields(ClaimResult, claim);
  if (item.kind === 'account') readObjectFields(FailAccountBody, item.body);
  if (item.kind === 'step') readObjectFields(StepStatusBody, { jobId, ...item.body });
  if (item.kind === 'summary') {
    const { batchSummary, claimResults, stopEvents } = item.body as Record<string, object>;
    readObjectFields(RunSummaryBatch, batchSummary!);
    for (const row of claimResults as object[]) readObjectFields(RunSummaryClaim, row);
    for (const row of stopEvents as object[]) readObjectFields(RunSummaryStop, row);
  }
  return faults.errors;
}
