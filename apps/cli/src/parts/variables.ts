import { usageFault } from '../frame/failure';

/** `--var K=V`, several. */
export function variablesOf(pairs: string[]): Record<string, string> {
  const variables: Record<string, string> = {};
  for (const pair of pairs) {
    const at = pair.indexOf('=');
    if (at < 1) throw usageFault(`--var takes NAME=VALUE, and got ${pair}`);
    variables[pair.slice(0, at)] = pair.slice(at + 1);
  }
  return variables;
}
