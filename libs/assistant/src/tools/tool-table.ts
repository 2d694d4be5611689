import { AppError, hasPermission, type RoleHolder } from '@muster/contracts';
import { agentTools } from './agent-tools';
import { fileTools } from './file-tools';
import { listTools } from './list-tools';
import { runTools } from './run-tools';
import type { Tool } from './tool';

/** All tools. Chats and manage use the same table. */
export const tools: readonly Tool[] = [...agentTools, ...runTools, ...listTools, ...fileTools];

const byName = new Map(tools.map((tool) => [tool.name, tool]));

/** Throws if there is no tool with this name, or the caller may not use it. */
export function requireToolForCaller(name: string, caller: RoleHolder): Tool {
  const tool = byName.get(name);
  if (!tool) {
    const message = `there is no tool ${name.slice(0, 100)}`;
    const detail = `There is no tool ${name.slice(0, 100)}; the tools are ${[...byName.keys()].join(', ')}.`;
    throw new AppError('invalid_payload', { detail, errors: [{ field: 'tool', message }] });
  }
  if (!hasPermission(caller, tool.permission)) {
    throw new AppError('permission_denied', {
      detail: `The tool ${name} requires the permission ${tool.permission}. Ask an admin of the organization for it.`,
    });
  }
  return tool;
}

/** Returns the tools that the caller may use. The model gets no others. */
export function listToolsForCaller(caller: RoleHolder): Tool[] {
  return tools.filter((tool) => hasPermission(caller, tool.permission));
}
