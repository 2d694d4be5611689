import type { Principal } from '@muster/access';
import { type AssistantTool, getLowestRole, type ManageAnswer } from '@muster/contracts';
import { limitResultSize, resultLimit } from './limit-result-size';
import { performTool } from './perform-tool';
import type { ToolParts } from './tool';
import { tools } from './tool-table';

/** Calls a tool for a person or a program. It needs no confirmation, because no model requested it. */
export async function callToolForCaller(
  parts: ToolParts,
  caller: Principal,
  agentId: string,
  { tool, args = {} }: { tool: string; args?: Record<string, unknown> },
  signal?: AbortSignal,
): Promise<ManageAnswer> {
  if (tool === 'list') return { tools: tools.map(describeToolForCaller) };
  const outcome = await performTool(parts, { caller, agentId, tool, args, via: 'manage', signal });
  const { status, error, code } = outcome;
  const result = limitResultSize(outcome.result, resultLimit.manage);
  return { tool, status, result, ...(error ? { error, code } : {}) };
}

function describeToolForCaller({
  name,
  description,
  parameters,
  permission,
  changes,
}: (typeof tools)[number]): AssistantTool {
  // Every permission of a tool belongs to one of the four roles.
  const role = getLowestRole(permission)!;
  return { name, description, parameters: { ...parameters }, role, permission, changes };
}
