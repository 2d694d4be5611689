import { storeCommandResult } from '@muster/commands';
import { newId } from '@muster/platform';
import { type Answer, type Harness, type HttpClient, makeAgent, type Tenant, waitFor } from '@muster/testing';

/** Returns functions that call the assistant's tools on agents of a tenant. */
export function createToolHelpers(harness: () => Harness, tenant: () => Tenant) {
  const makeToolAgent = async (more: object = {}) => {
    const { organizationId } = tenant();
    const agent = { organizationId, name: newId(), provider: 'http', status: 'online', ...more };
    return (await makeAgent(harness().db, agent as never)).id;
  };
  const callTool = (client: HttpClient, agentId: string, tool: string, args?: object): Promise<Answer> =>
    client.post(`/api/agents/${agentId}/manage`, { tool, ...(args ? { arguments: args } : {}) });
  /** Returns all counts and states of an agent that a tool call can change. */
  const readCommandRows = async (agentId: string) => {
    const [row] = await harness().db.query<Record<string, unknown>>(
      'system',
      `SELECT (SELECT count(*) FROM job WHERE agent_id = $1)::int AS jobs,
              (SELECT string_agg(status || COALESCE(cancel_requested_at::text, ''), ',' ORDER BY id) FROM job
               WHERE agent_id = $1) AS statuses,
              (SELECT count(*) FROM agent_command WHERE agent_id = $1)::int AS commands,
              (SELECT count(*) FROM agent_wake WHERE agent_id = $1)::int AS wakes,
              (SELECT count(*) FROM timeline_entry WHERE agent_id = $1)::int AS entries,
              (SELECT status FROM agent WHERE id = $1) AS agent`,
      [agentId],
    );
    return row;
  };
  /** Answers the next command of an agent as its worker does. */
  const answerNextCommand = async (agentId: string, result: object): Promise<Record<string, unknown>> => {
    const { organizationId } = tenant();
    const command = await waitFor('a command', async () => {
      const [row] = await harness().db.query<{ id: string; kind: string; payload: Record<string, unknown> }>(
        'system',
        `SELECT id, kind, payload FROM agent_command WHERE agent_id = $1 AND status = 'pending'`,
        [agentId],
      );
      return row;
    });
    await storeCommandResult(harness().db, { organizationId, agentId, commandId: command.id }, result as never);
    return { kind: command.kind, ...command.payload };
  };

  const readAuditEntries = async (targetId: string, action: string) => {
    const { body } = await tenant().as.admin.get(`/api/audit?targetId=${targetId}&action=${action}`);
    return body.entries.map(({ changes }: { changes: object }) => changes);
  };

  return {
    anAgent: makeToolAgent,
    call: callTool,
    rowsOf: readCommandRows,
    answerNext: answerNextCommand,
    auditOf: readAuditEntries,
  };
}
