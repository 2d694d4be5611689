import { AppError } from '@muster/contracts';
import type { ModelUsage } from './model';

export const noUsage: ModelUsage = { calls: 0, inputTokens: 0, outputTokens: 0, costMicros: 0 };

export type ModelFaultReason =
  /** It answered with an error. */
  | 'status'
  /** It wants a rest, longer than we wait. */
  | 'busy'
  | 'unreachable'
  | 'timeout'
  /** It would not say. */
  | 'refused'
  /** What it said is no answer of this wire, or does not fit the schema. */
  | 'nonsense'
  /** Its answer broke off. */
  | 'cut';

/** A call that brought nothing: 502 model_failed, or 504 execution_timeout. Its detail holds no prompt and no key. */
export class ModelFault extends AppError {
  constructor(
    readonly reason: ModelFaultReason,
    detail: string,
    /** What it used all the same, as far as that is known. */
    public usage: ModelUsage = noUsage,
  ) {
    super(reason === 'timeout' ? 'execution_timeout' : 'model_failed', { detail });
    this.name = 'ModelFault';
  }
}

/** An answer of another kind, whatever its status said. */
export function nonsense(): ModelFault {
  return new ModelFault('nonsense', 'What the model answered is no answer of its API.');
}

/** Whoever asked does not want the answer any more. */
export class ModelAborted extends Error {
  override name = 'ModelAborted';

  constructor(public usage: ModelUsage = noUsage) {
    super('the call to the model was ended');
  }
}

export function sumOfUsages(usages: readonly ModelUsage[]): ModelUsage {
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
