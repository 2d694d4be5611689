import type { Database, ModelCallEntity, Transaction } from '@muster/database';
import type { Models, ModelUse } from '@muster/models';
import type { Clock } from '@muster/platform';
import type { KeyRing } from '@muster/vault';

/** What a model is asked for. It stands with each call and its cost. */
export type ModelPurpose = 'chat' | 'autopilot' | 'video_analyze' | 'feedback_enrichment';

export interface ModelCaller extends Pick<ModelCallEntity, 'organizationId'> {
  purpose: ModelPurpose;
  agentId?: string | null;
  /** The run, or the session, that it is for. */
  jobId?: string | null;
  sessionId?: string | null;
  /** Writes down what an answer said, in the transaction that books it: what was paid for is not asked for again. */
  keep?: (tx: Transaction, answer: PaidAnswer) => void;
}

export interface PaidAnswer extends Pick<ModelUse, 'content' | 'inputTokens' | 'outputTokens'> {
  modelCallId: string;
  costMicros: number;
}

export interface ModelParts {
  database: Database;
  keyRing: KeyRing;
  models: Models;
  clock: Clock;
}
