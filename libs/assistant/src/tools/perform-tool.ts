import { audit, loadSecretRedactor, describeCaller, type Principal, requireUnsuspended } from '@muster/access';
import { recordBlockedWakeOnError } from '@muster/commands';
import { appendTimeline } from '@muster/timeline';
import type { Transaction } from '@muster/database';
import { checkArguments } from './check-arguments';
import { isToolOutcome, type ToolOutcome, type ToolParts } from './tool';
import { requireToolForCaller } from './tool-table';

export interface ToolCall {
  caller: Principal;
  agentId: string;
  tool: string;
  args: unknown;
  /** The API that made the call; a chat also has the session and the id of the call. */
  via: 'manage' | 'chat';
  sessionId?: string;
  callId?: string;
  signal?: AbortSignal;
}

/**
 * Performs a tool with the role, billing gate, checks and audit rows of the corresponding route. Throws if the caller
 * may not use it. The organization's secrets are hidden in the result, wherever a script has written them.
 */
export async function performTool(parts: ToolParts, call: ToolCall): Promise<ToolOutcome> {
  const { caller, agentId, args, signal } = call;
  const tool = requireToolForCaller(call.tool, caller);
  const checked = checkArguments(tool.parameters, args);
  if (tool.spends) requireUnsuspended(caller);
  const runChange = <T>(work: (tx: Transaction) => Promise<T>): Promise<T> => runChangeAs(parts, call, work);
  const answer = await tool.perform({ ...parts, caller, agentId, signal, change: runChange }, checked);
  const outcome: ToolOutcome = isToolOutcome(answer) ? answer : { status: 'done', result: answer };
  const { deep, text } = await loadSecretRedactor(parts, { organizationId: caller.organizationId, agentId });
  const { result, error } = outcome;
  return { ...outcome, result: deep(result), ...(error ? { error: text(error) } : {}) };
}

function runChangeAs<T>(
  { database }: ToolParts,
  { caller, agentId, tool, via, sessionId, callId }: ToolCall,
  work: (tx: Transaction) => Promise<T>,
): Promise<T> {
  const { organizationId } = caller;
  const how = { tool, via, ...(sessionId ? { sessionId, callId } : {}) };
  const done = database.transaction({ organizationId }, async (tx) => {
    const answer = await work(tx);
    audit(tx, caller, { action: 'assistant.tool', target: { type: 'agent', id: agentId }, changes: how });
    const message = `${tool} was called by ${via} for ${describeCaller(caller)}`;
    appendTimeline(tx, { organizationId, agentId }, [{ kind: 'execution', source: 'assistant', message, data: how }]);
    return answer;
  });
  return recordBlockedWakeOnError(database, done);
}
