import { BooleanField, DateTimeField, IntField, ListField, TextField, TextListField, UuidField } from '../fields';

export class ConcurrencyKey {
  @TextField({
    min: 1,
    max: 200,
    example: 'delta-dental:{{PORTAL_USER}}',
    description: 'Name of the concurrency key. `{{NAME}}` is replaced by the value of that workflow variable.',
  })
  key!: string;
  @IntField({
    optional: true,
    min: 1,
    max: 1000,
    example: 1,
    description:
      'Maximum number of runs that hold the key at once; defaults to 1. If a key has several limits, the smallest ' +
      'applies.',
  })
  limit?: number;
}

/** Matches the variables in a key, such as {{NAME}}. */
export const keyVariables = /\{\{([^{}]*)\}\}/g;

export class WaitingDetail {
  @TextField({
    optional: true,
    max: 200,
    example: 'delta-dental:front-desk',
    description: 'Concurrency key that the run waits for.',
  })
  key?: string;
  @IntField({ optional: true, example: 1, description: 'Limit in effect, which is the smallest limit of the key.' })
  limit?: number;
  @TextField({
    optional: true,
    max: 100,
    example: 'delta-dental',
    description: 'Pool of accounts that the run waits for.',
  })
  pool?: string;
  @TextListField({
    optional: true,
    maxItems: 1000,
    example: ['019a0000-0000-7000-8000-000000000001'],
    description: 'Runs that hold the key, or an account of the pool.',
  })
  holders?: string[];
  @IntField({ optional: true, example: 4, description: 'Number of agents that have the labels of the run’s target.' })
  fits?: number;
  @IntField({ optional: true, example: 2, description: 'Number of these agents that are online, but busy.' })
  busy?: number;
  @IntField({ optional: true, example: 1, description: 'Number of these agents that are being started.' })
  waking?: number;
  @IntField({ optional: true, example: 0, description: 'Number of these agents that are being drained.' })
  draining?: number;
  @IntField({ optional: true, example: 1, description: 'Number of these agents that are off or not reachable.' })
  off?: number;
}

export class ConcurrencyKeyState {
  @TextField({ max: 200, example: 'delta-dental:front-desk' }) key!: string;
  @IntField({
    example: 1,
    description: 'Limit that applies now: the smallest limit of the key; 0 while the key is paused.',
  })
  limit!: number;
  @BooleanField({ example: false }) paused!: boolean;
  @IntField({ example: 1, description: 'Number of runs that hold the key.' }) held!: number;
  @IntField({ example: 3, description: 'Number of queued runs that require the key.' }) waiting!: number;
  @DateTimeField({ nullable: true }) oldestWaitingSince!: string | null;
}

export class ConcurrencyKeyList {
  @ListField(() => ConcurrencyKeyState) concurrencyKeys!: ConcurrencyKeyState[];
  @TextField({ nullable: true }) nextCursor!: string | null;
}

export class ConcurrencyKeyQuery {
  @TextField({ min: 1, max: 200, example: 'delta-dental:front-desk' }) key!: string;
}

export class SetConcurrencyLimitBody {
  @TextField({ min: 1, max: 200, example: 'delta-dental:front-desk' }) key!: string;
  @IntField({
    min: 0,
    max: 1000,
    example: 2,
    description:
      'Maximum number of runs that hold the key at once. 0 pauses the key: no run that requires it can start.',
  })
  limit!: number;
}

export class ConcurrencyLimit {
  @TextField({ max: 200, example: 'delta-dental:front-desk' }) key!: string;
  @IntField({ example: 2 }) limit!: number;
  @BooleanField({ example: false }) paused!: boolean;
}

export class KeyHolder {
  @UuidField() jobId!: string;
  @UuidField() agentId!: string;
  @DateTimeField() since!: string;
}

export class KeyHolderList {
  @ListField(() => KeyHolder) holders!: KeyHolder[];
}
