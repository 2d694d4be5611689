import { AppError } from '@muster/contracts';
import type { ModelUsage } from './model';

export const noUsage: ModelUsage = { calls: 0, inputTokens: 0, outputTokens: 0, costMicros: 0 };

export type ModelFaultReason =
  /** The model answered with an error status. */
  | 'status'
  /** The model limits the rate of calls, or asks for a pause that is too long to wait. */
  | 'busy'
  | 'unreachable'
  | 'timeout'
  /** The model refused to answer. */
  | 'refused'
  /** The answer does not follow the API or does not fit the schema. */
  | 'nonsense'
  /** The answer ended before it was complete, for example because it reached the token limit. */
  | 'cut';

/** A failed call: 502 model_failed, or 504 execution_timeout. Its detail contains no prompt and no key. */
export class ModelFault extends AppError {
  constructor(
    readonly reason: ModelFaultReason,
    detail: string,
    /** Tokens and cost of the failed call, as far as they are known. */
    public usage: ModelUsage = noUsage,
  ) {
    super(reason === 'timeout' ? 'execution_timeout' : 'model_failed', { detail });
    this.name = 'ModelFault';
  }
}

/** Returns the fault of an answer that does not follow the API, with any status. */
export function malformedAnswerFault(): ModelFault {
  return new ModelFault(
    'nonsense',
    'The response of the model provider is not valid for an OpenAI-compatible API. Check the base URL of the model.',
  );
}

/** Thrown by a call that its caller has aborted. */
export class ModelAborted extends Error {
  override name = 'ModelAborted';

  constructor(public usage: ModelUsage = noUsage) {
    super('the call to the model was aborted');
  }
}

export function sumUsages(usages: readonly ModelUsage[]): ModelUsage {
  return usages.reduce(
    (sum, usage) => ({
      calls: sum.calls + usage.calls,
      inputTokens: sum.inputTokens + usage.inputTokens,
      outputTokens: sum.outputTokens + usage.outputTokens,
      costMicros: sum.costMicros + usage.costMicros,
    }),
    noUsage,
  );
}
