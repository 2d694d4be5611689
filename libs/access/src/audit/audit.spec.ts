import type { Transaction } from '@muster/database';
import { audit, changesBetween } from './audit';

describe('an audit row', () => {
  const written: unknown[][] = [];
  const tx = { defer: (_: string, values: unknown[]) => written.push(values) } as unknown as Transaction;
  const actor = { kind: 'system', id: 'test', organizationId: 'organization' } as const;
  const target = { type: 'organization', id: 'organization' };

  it('has what differs, as it was and as it is', () => {
    const before = { name: 'a', labels: ['x'], costUsd: 1, more: true };
    expect(changesBetween(before, { name: 'b', labels: ['x'], costUsd: undefined })).toEqual({ name: ['a', 'b'] });
  });

  it('with the name of a column does not compile, wherever that comes from', () => {
    const row = { laborMicrosPerHour: 1 };
    // @ts-expect-error: micro-dollars are no unit of the API
    audit(tx, actor, { action: 'a', target, changes: row });
    // @ts-expect-error: nor where rows are compared
    audit(tx, actor, { action: 'a', target, changes: changesBetween(row, { laborMicrosPerHour: 2 }) });
    // @ts-expect-error: nor are a column's words
    audit(tx, actor, { action: 'a', target, changes: { max_cost: 1 } });
    audit(tx, actor, { action: 'a', target, changes: { laborRateUsdPerHour: [1, 2] } });
    expect(written).toHaveLength(4);
  });
});
