import type { Database, ModelCallEntity, Transaction } from '@muster/database';
import type { Models, ModelUse } from '@muster/models';
import type { Clock } from '@muster/platform';
import type { KeyRing } from '@muster/vault';

/** Purpose of a model call; stored with each call and its cost. */
export type ModelPurpose = 'chat' | 'autopilot' | 'video_analyze' | 'feedback_enrichment';

export interface ModelCaller extends Pick<ModelCallEntity, 'organizationId'> {
  purpose: ModelPurpose;
  agentId?: string | null;
  /** Run that the call is made for. */
  jobId?: string | null;
  /** Session that the call is made for. */
  sessionId?: string | null;
  /** Stores the answer in the transaction that books its cost, so that a paid answer is not requested again. */
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
