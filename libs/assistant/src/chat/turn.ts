import type { Principal } from '@muster/access';
import type { ChatCallOutcome, ChatToolCallEvent, ChatUsage } from '@muster/contracts';
import type { BegunTurn } from './begin-turn';

/** Who follows a turn as it goes; a listener makes the model's words come piece by piece. */
export interface TurnListener {
  token(text: string): void;
  toolCall(call: ChatToolCallEvent): void;
  toolResult(outcome: ChatCallOutcome): void;
  usage(usage: ChatUsage): void;
}

export interface Turn extends BegunTurn {
  caller: Principal;
  agentId: string;
}

export interface Following {
  /** Aborted when whoever waits for the answer has gone. */
  left: AbortSignal;
  listener?: TurnListener;
  /** Whether the caller would still be let in: asked before tools are called. */
  mayStay: () => Promise<boolean>;
}

export const maxCalls = 12;
