import type { Row, Run } from './run-rows';
import type { Month } from './subjects';

const daysOfLogs = 7;
const dayMs = 86_400_000;

/** Log lines of the last week's runs, numbered for each machine, and the head of each machine's timeline. */
export function buildLogRows({ organizationId, until }: Month, runs: readonly Run[]): Record<string, Row[]> {
  const since = until.getTime() - daysOfLogs * dayMs;
  const lines = runs.filter(({ started }) => started.getTime() > since).flatMap(buildLogLines);
  lines.sort((one, other) => one.at.getTime() - other.at.getTime());
  const heads = new Map<string, { last: number; since: Date }>();
  const entries = lines.map(({ at, agentId, ...line }) => {
    const head = heads.get(agentId) ?? { last: 0, since: at };
    head.last += 1;
    heads.set(agentId, head);
    const when = { recorded_at: at, at };
    return { agent_id: agentId, seq: head.last, organization_id: organizationId, kind: 'execution', ...when, ...line };
  });
  const owner = { organization_id: organizationId };
  return {
    timeline_entry: entries,
    timeline_head: [...heads].map(([agentId, { last, since: began }]) => ({
      agent_id: agentId,
      ...owner,
      last_seq: last,
      logs_since: began,
      others_since: began,
    })),
  };
}

function buildLogLines({ id, agentId, routine, stepsPassed, status, started, ms, error, claims, n }: Run) {
  const { steps } = routine;
  const buildLine = (share: number, message: string, level = 'info') => ({
    at: new Date(started.getTime() + ms * share),
    agentId,
    job_id: id,
    source: 'worker',
    level,
    message,
  });
  const stepLines = steps.slice(0, stepsPassed + 1).map((step, at) => buildLine(at / steps.length, `${step} …`));
  const done = claims.map((outcome, at) =>
    buildLine(0.9 + at / 1000, `C-${n}-${at + 1}: ${outcome.replaceAll('_', ' ')}`),
  );
  if (status === 'failed') return [...stepLines, buildLine(0.99, error.text!, 'error')];
  return [...stepLines, ...done];
}
