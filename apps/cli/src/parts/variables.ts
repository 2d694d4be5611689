import { createUsageError } from '../frame/failure';

/** Parses pairs such as `CLAIM_ID=C-1042`. */
export function parseVariables(pairs: string[]): Record<string, string> {
  const variables: Record<string, string> = {};
  for (const pair of pairs) {
    const at = pair.indexOf('=');
    if (at < 1) throw createUsageError(`Expected the form NAME=VALUE instead of ${pair}`);
    variables[pair.slice(0, at)] = pair.slice(at + 1);
  }
  return variables;
}
