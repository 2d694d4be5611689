import { buildPathPattern } from '@muster/contracts';

/** Returns the pattern of a path for proxies. The slash is not escaped, because only JavaScript requires that. */
export function buildPathRegex(path: string): string {
  return buildPathPattern(path).source.replaceAll('\\/', '/');
}
