import { createUsageError } from '../frame/failure';

/** Parses pairs such as `CLAIM_ID=C-1042`. */
export function parseVariables(pairs: string[]): Record<string, string> {
  return parsePairs(pairs, 'NAME=VALUE');
}

/** Parses pairs of a name and a value. The error for an invalid pair names `form` as the expected form. */
export function parsePairs(pairs: string[], form: string): Record<string, string> {
  const values: Record<string, string> = {};
  for (const pair of pairs) {
    const at = pair.indexOf('=');
    if (at < 1) throw createUsageError(`${pair} is not valid. Use the form ${form}`);
    values[pair.slice(0, at)] = pair.slice(at + 1);
  }
  return values;
}
