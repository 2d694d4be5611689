import { v7 } from 'uuid';
import { machines, type Routine, routines } from './practice';

export interface Month {
  organizationId: string;
  /** Number of generated runs, spread over `days` days before `until`. */
  runs: number;
  days: number;
  until: Date;
  random: () => number;
}

const minuteMs = 60_000;
const dayMs = 86_400_000;
/** Price of each machine. */
export const computeMicrosPerHour = 90_000;
/**
 * The rows of the agents, workflows, revisions and schedules that the runs refer to, by table, in the order in which
 * they are inserted.
 */
export function createSubjects({ organizationId, days, until }: Month) {
  const since = new Date(until.getTime() - (days + 30) * dayMs);
  const createId = () => v7({ msecs: since.getTime() });
  const agents = machines.map(({ name, labels }, at) => ({
    id: createId(),
    organization_id: organizationId,
    name,
    labels,
    provider: 'external',
    status: at % 7 === 6 ? 'offline' : 'stopped',
    status_reason: at % 7 === 6 ? 'no heartbeat for 2 min' : 'idle',
    previous_status: 'online',
    status_since: new Date(until.getTime() - (at + 1) * 17 * minuteMs),
    last_seen: new Date(until.getTime() - (at + 1) * 17 * minuteMs),
    last_activity_at: new Date(until.getTime() - (at + 1) * 32 * minuteMs),
    created_at: since,
    compute_micros_per_hour: computeMicrosPerHour,
  }));
  const workflows = routines.map(({ name, description }) => ({
    id: createId(),
    organization_id: organizationId,
    name,
    description,
    created_at: since,
    updated_at: since,
  }));
  const revisions = routines.map((routine, at) => ({
    workflow_id: workflows[at]!.id,
    revision: 1,
    organization_id: organizationId,
    variables: Object.keys(routine.variables),
    script: writeDemoScript(routine),
    saved_by: 'demo',
    created_at: since,
  }));
  const schedules = routines.flatMap((routine, at) =>
    routine.cron
      ? [
          {
            id: createId(),
            organization_id: organizationId,
            name: routine.cron.name,
            workflow_id: workflows[at]!.id,
            agent_id: agents[at]!.id,
            cron_expression: routine.cron.expression,
            timezone: 'UTC',
            // Nothing in the demonstration starts automatically.
            enabled: false,
            variables: generateVariables(routine, 40_000, () => 0),
            created_at: since,
            updated_at: since,
          },
        ]
      : [],
  );
  return { agent: agents, workflow: workflows, workflow_revision: revisions, schedule: schedules };
}

export type Subjects = ReturnType<typeof createSubjects>;

/** Variables of one run: one of the possible values of each variable. */
export function generateVariables({ variables }: Routine, n: number, random: () => number): Record<string, string> {
  const entries = Object.entries(variables).map(([name, values]) => {
    const value = values[Math.floor(random() * values.length)]!;
    return [name, value.replace('{n}', String(n))];
  });
  return Object.fromEntries(entries) as Record<string, string>;
}

function writeDemoScript({ steps, variables }: Routine): string {
  const names = Object.keys(variables).map((name) => `os.environ["${name}"]`);
  const lines = steps.map((step) => `with muster.step(${JSON.stringify(step)}):\n    pass`);
  const note = '# A demonstration: its steps do nothing.';
  return ['import os', '', 'import muster', '', note, `print(${names.join(', ')})`, ...lines, ''].join('\n');
}
