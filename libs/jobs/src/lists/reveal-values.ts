import { loadValueOpener, type Principal } from '@muster/access';
import { hasPermission, isSealedValue } from '@muster/contracts';
import type { Database } from '@muster/database';
import type { KeyRing } from '@muster/vault';
import type { JobRow } from './job-row';

/**
 * Opens the sealed variables and results of jobs for a caller who may see them. For other callers the rows stay as they
 * are, and a mark is presented in place of each sealed value.
 */
export async function revealSealedValues<Row extends JobRow>(
  { database, keyRing }: { database: Database; keyRing: KeyRing },
  caller: Principal,
  rows: Row[],
): Promise<Row[]> {
  if (!hasPermission(caller, 'runs.screens') || !rows.some(hasSealedValues)) return rows;
  const open = await loadValueOpener(database, keyRing, caller.organizationId);
  return rows.map((row) => {
    const { variables, result, sensitiveResults } = row;
    const openResult = ([name, value]: [string, unknown]) =>
      sensitiveResults?.includes(name) && isSealedValue(value) ? JSON.parse(open(value)) : value;
    return {
      ...row,
      variables: mapObjectEntries(variables, ([, value]) => (isSealedValue(value) ? open(value) : value)),
      // A script can report any JSON value; only the values of an object have names.
      result:
        result && typeof result === 'object' && !Array.isArray(result) ? mapObjectEntries(result, openResult) : result,
      sensitiveResults: null,
    };
  });
}

function hasSealedValues({ variables, result, sensitiveResults }: JobRow): boolean {
  return Object.values(variables).some(isSealedValue) || (sensitiveResults !== null && result !== null);
}

function mapObjectEntries<Value, Mapped>(
  values: Record<string, Value>,
  map: (entry: [string, Value]) => Mapped,
): Record<string, Mapped> {
  return Object.fromEntries(Object.entries(values).map((entry) => [entry[0], map(entry)]));
}
