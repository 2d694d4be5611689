import type { Transaction } from '@muster/database';
import { audit, listChangedFields } from './audit';

describe('an audit row', () => {
  const written: unknown[][] = [];
  const tx = {
    now: new Date(0),
    deferRow: (_: string, values: unknown[]) => written.push(values),
  } as unknown as Transaction;
  const actor = { kind: 'system', id: 'test', organizationId: 'organization' } as const;
  const target = { type: 'organization', id: 'organization' };

  it('listChangedFields lists each field that differs as [before, after]', () => {
    const before = { name: 'a', labels: ['x'], costUsd: 1, more: true };
    expect(listChangedFields(before, { name: 'b', labels: ['x'], costUsd: undefined })).toEqual({ name: ['a', 'b'] });
  });

  it('a call of audit does not compile if a changed field is named like a database column', () => {
    const row = { laborMicrosPerHour: 1 };
    // @ts-expect-error: micro-dollars are not a unit of the API
    audit(tx, actor, { action: 'a', target, changes: row });
    // @ts-expect-error: the same for compared rows
    audit(tx, actor, { action: 'a', target, changes: listChangedFields(row, { laborMicrosPerHour: 2 }) });
    // @ts-expect-error: a name with an underscore is the name of a column
    audit(tx, actor, { action: 'a', target, changes: { max_cost: 1 } });
    audit(tx, actor, { action: 'a', target, changes: { laborRateUsdPerHour: [1, 2] } });
    expect(written).toHaveLength(4);
  });
});
