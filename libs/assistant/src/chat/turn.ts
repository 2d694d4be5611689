import type { Principal } from '@muster/access';
import type { ChatCallOutcome, ChatToolCallEvent, ChatUsage } from '@muster/contracts';
import type { BegunTurn } from './start-turn';

/** Receives the events of a turn. With a listener, the model's answer is streamed. */
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
  /** Aborted when the client that waits for the answer has disconnected. */
  left: AbortSignal;
  listener?: TurnListener;
  /** Returns whether the caller still has access; checked before tools are called. */
  mayStay: () => Promise<boolean>;
}

export const maxCalls = 12;
