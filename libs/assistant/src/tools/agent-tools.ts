import { explainAgent, findAgent, readLiveStatus, requirePossibleMachineAction } from '@muster/machines';
import type { AgentActionAnswer } from '@muster/contracts';
import { performAgentAction } from '@muster/jobs';
import { findExpectedRuns } from '@muster/schedules';
import { buildArgumentsSchema } from './check-arguments';
import type { Tool, ToolContext } from './tool';

const nothing = buildArgumentsSchema({});

/** The tools for the machine itself: its status, the reason for it, and its power. */
export const agentTools: Tool[] = [
  {
    name: 'get_status',
    description:
      'The machine’s live status: online, offline, stopped …, the time of its last report, the state of its VM.',
    parameters: nothing,
    permission: 'agents.read',
    changes: false,
    perform: async ({ agentId, caller, ...parts }) => {
      const { lastSeen, lastActivityAt, ...status } = await readLiveStatus(parts, caller.organizationId, agentId);
      const { name, currentJobId } = await findAgent(parts.database, caller.organizationId, agentId);
      return {
        name,
        ...status,
        currentJobId,
        lastSeen: lastSeen?.toISOString() ?? null,
        lastActivityAt: lastActivityAt?.toISOString() ?? null,
      };
    },
  },
  {
    name: 'explain_machine',
    description: 'Why the machine is on or off and since when, when it will stop, and which run it expects next.',
    parameters: nothing,
    permission: 'agents.read',
    changes: false,
    perform: async ({ agentId, caller, database, clock }) => {
      const { organizationId } = caller;
      const agent = await findAgent(database, organizationId, agentId);
      const now = clock.now();
      const expected = await findExpectedRuns(database, organizationId, { agentIds: [agentId], now });
      const { why, stopAt } = explainAgent(agent, expected.get(agentId) ?? null, now);
      return { status: agent.status, why, stopAt: stopAt?.toISOString() ?? null, drain: agent.drain };
    },
  },
  createMachineSwitchTool('start', 'Starts the machine. It takes a while until it is online.'),
  createMachineSwitchTool('stop', 'Stops the machine. It is refused while a run is on it.'),
  createMachineSwitchTool('reboot', 'Reboots the machine. A run on it fails and follows its retries.'),
];

function createMachineSwitchTool(action: 'start' | 'stop' | 'reboot', description: string): Tool {
  return {
    name: action,
    description,
    parameters: nothing,
    permission: 'agents.control',
    changes: true,
    perform: async (context) => {
      const { caller, agentId, ...parts } = context;
      await requirePossibleMachineAction(parts, caller, agentId, { action });
      const { success, status } = await switchMachineByTool(context, action);
      return { success, action, status };
    },
  };
}

async function switchMachineByTool(
  { caller, agentId, change, database, keyRing, wakeTimeoutMs, clock }: ToolContext,
  action: 'start' | 'stop' | 'reboot',
): Promise<AgentActionAnswer> {
  const parts = { database, keyRing, wakeTimeoutMs, now: clock.now() };
  return (await change((tx) => performAgentAction(tx, caller, agentId, { action }, parts))).answer;
}
