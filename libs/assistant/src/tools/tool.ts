import type { Principal } from '@muster/access';
import type { Role } from '@muster/contracts';
import type { Database, Transaction } from '@muster/database';
import type { Clock, PubSub } from '@muster/platform';
import type { KeyRing } from '@muster/vault';
import type { Machines } from '@muster/vm';
import type { ArgumentsSchema } from './check-arguments';

/** What the tools stand on: the same as the routes that do the same. */
export interface ToolParts {
  database: Database;
  pubSub: PubSub;
  machines: Machines;
  keyRing: KeyRing;
  clock: Clock;
  wakeTimeoutMs: number;
}

/** Who calls it, and about which agent: a tool reaches that one's things alone. */
export interface ToolContext extends ToolParts {
  caller: Principal;
  agentId: string;
  signal?: AbortSignal;
  /** The transaction of a change, with its rows in the audit trail and on the timeline that say how it came. */
  change<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;
}

export interface ToolOutcome {
  /** failed: the machine did what was asked, and it came to nothing. */
  status: 'done' | 'failed';
  result: Record<string, unknown>;
  error?: string;
  code?: string;
}

export interface Tool {
  name: string;
  /** For the model and for people. */
  description: string;
  parameters: ArgumentsSchema;
  role: Role;
  /** In a chat it then needs its owner's word. */
  changes: boolean;
  /** A suspended organization may not begin it. Power has rules of its own for that. */
  spends?: true;
  perform(context: ToolContext, given: Record<string, unknown>): Promise<Record<string, unknown> | ToolOutcome>;
}

/** For a tool whose work can fail on the machine. */
export function isOutcome(answer: Record<string, unknown> | ToolOutcome): answer is ToolOutcome {
  return (answer.status === 'done' || answer.status === 'failed') && typeof answer.result === 'object';
}
