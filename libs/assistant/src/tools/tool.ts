import type { Principal } from '@muster/access';
import type { Permission } from '@muster/contracts';
import type { Database, Transaction } from '@muster/database';
import type { Clock, PubSub } from '@muster/platform';
import type { KeyRing } from '@muster/vault';
import type { Machines } from '@muster/vm';
import type { ArgumentsSchema } from './check-arguments';

/** The dependencies of the tools, which are those of the corresponding routes. */
export interface ToolParts {
  database: Database;
  pubSub: PubSub;
  machines: Machines;
  keyRing: KeyRing;
  clock: Clock;
  wakeTimeoutMs: number;
}

/** The caller of a tool and the agent that the tool is about. A tool reaches only what belongs to this agent. */
export interface ToolContext extends ToolParts {
  caller: Principal;
  agentId: string;
  signal?: AbortSignal;
  /** Runs a change in a transaction that also records the tool call in the audit log and on the timeline. */
  change<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;
}

export interface ToolOutcome {
  /** failed: the machine executed the tool without success. */
  status: 'done' | 'failed';
  result: Record<string, unknown>;
  error?: string;
  code?: string;
}

export interface Tool {
  name: string;
  /** Description of the tool, which the model and people can read. */
  description: string;
  parameters: ArgumentsSchema;
  permission: Permission;
  /** Whether the tool changes something. In a chat it then needs a confirmation by the session's owner. */
  changes: boolean;
  /** Whether a suspended organization may not use the tool. The tools start, stop and reboot have their own rules. */
  spends?: true;
  perform(context: ToolContext, args: Record<string, unknown>): Promise<Record<string, unknown> | ToolOutcome>;
}

/** Whether a tool returned an outcome, as tools do whose work can fail on the machine. */
export function isToolOutcome(answer: Record<string, unknown> | ToolOutcome): answer is ToolOutcome {
  return (answer.status === 'done' || answer.status === 'failed') && typeof answer.result === 'object';
}
