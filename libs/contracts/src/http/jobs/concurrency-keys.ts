import { BooleanField, DateTimeField, IntField, ListField, TextField, TextListField, UuidField } from '../fields';

export class ConcurrencyKey {
  @TextField({
    min: 1,
    max: 200,
    example: 'delta-dental:{{PORTAL_USER}}',
    description: 'May hold {{NAME}} of a variable of the workflow.',
  })
  key!: string;
  @IntField({
    optional: true,
    min: 1,
    max: 1000,
    example: 1,
    description: 'How many runs hold it at once; 1 when absent. Of several limits for one key the smallest holds.',
  })
  limit?: number;
}

/** Where a key names a variable: {{NAME}}. */
export const keyVariables = /\{\{([^{}]*)\}\}/g;

export class WaitingForKey {
  @TextField({ max: 200, example: 'delta-dental:front-desk' }) key!: string;
  @IntField({ example: 1, description: 'The one that holds.' }) limit!: number;
  @TextListField({ maxItems: 1000, example: ['019a0000-0000-7000-8000-000000000001'] }) holders!: string[];
}

export class ConcurrencyKeyState {
  @TextField({ max: 200, example: 'delta-dental:front-desk' }) key!: string;
  @IntField({ example: 1, description: 'The one that holds; 0 while the key is paused.' }) limit!: number;
  @BooleanField({ example: false }) paused!: boolean;
  @IntField({ example: 1, description: 'Runs that hold it.' }) held!: number;
  @IntField({ example: 3, description: 'Runs that wait, and ask for it.' }) waiting!: number;
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
  @IntField({ min: 0, max: 1000, example: 2, description: '0 lets no run begin that asks for the key.' })
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
