import { buildPage } from '@muster/platform';
import { listSchedules } from '@muster/schedules';
import { listWorkflows } from '@muster/workflows';
import { buildArgumentsSchema } from './check-arguments';
import type { Tool } from './tool';

const page = { limit: 50, after: null };
const more = `only the first ${page.limit} are shown`;

/** The tools that list what can run on the machine. */
export const listTools: Tool[] = [
  {
    name: 'list_workflows',
    description: 'The organization’s workflows: their ids, names and the variables that each takes.',
    parameters: buildArgumentsSchema({}),
    permission: 'workflows.read',
    changes: false,
    perform: async ({ database, caller }) => {
      const rows = await listWorkflows(database, caller.organizationId, { page });
      const { items, nextCursor } = buildPage(rows, page, ({ id }) => [id]);
      const workflows = items.map(({ id, name, description, variables, revision, updatedAt }) => ({
        id,
        name,
        description,
        variables,
        revision,
        updatedAt: updatedAt.toISOString(),
      }));
      return { workflows, ...(nextCursor ? { cut: more } : {}) };
    },
  },
  {
    name: 'list_schedules',
    description: 'The schedules of this machine: what runs when, and the result of the last run.',
    parameters: buildArgumentsSchema({}),
    permission: 'schedules.read',
    changes: false,
    perform: async ({ database, caller, agentId }) => {
      const rows = await listSchedules(database, caller.organizationId, { page, filter: { agentId } });
      const { items, nextCursor } = buildPage(rows, page, ({ id }) => [id]);
      const schedules = items.map(({ id, name, scriptId, cronExpression, timezone, enabled, ...row }) => ({
        id,
        name,
        workflowId: scriptId,
        cronExpression,
        timezone,
        enabled,
        nextRunAt: row.nextRunAt?.toISOString() ?? null,
        lastRunAt: row.lastRunAt?.toISOString() ?? null,
        lastRunJobId: row.lastRunJobId,
        lastResult: row.lastResult,
      }));
      return { schedules, ...(nextCursor ? { cut: more } : {}) };
    },
  },
];
