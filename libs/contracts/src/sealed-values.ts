/** A value of a run that is stored encrypted, because it may be about a patient. */
export interface SealedValue {
  sealed: string;
}

/** Variables as they are stored: those that the workflow names as sensitive are sealed. */
export type StoredVariables = Record<string, string | SealedValue>;

/** Text in place of a sealed value for readers who may not see it. */
export const sealedMark = '[sealed]';

export function isSealedValue(value: unknown): value is SealedValue {
  return typeof value === 'object' && value !== null && typeof (value as SealedValue).sealed === 'string';
}

/** Returns the variables with a mark in place of each sealed value. */
export function maskVariables(variables: StoredVariables): Record<string, string> {
  return Object.fromEntries(
    Object.entries(variables).map(([name, value]) => [name, typeof value === 'string' ? value : sealedMark]),
  );
}

/** Returns the result with a mark in place of each value whose name is in the list. */
export function maskResult(
  result: Record<string, unknown> | null,
  names: readonly string[] | null,
): Record<string, unknown> | null {
  // A script can report any JSON value; only the values of an object have names.
  if (!result || !names?.length || typeof result !== 'object' || Array.isArray(result)) return result;
  return Object.fromEntries(
    Object.entries(result).map(([name, value]) => [name, names.includes(name) ? sealedMark : value]),
  );
}
