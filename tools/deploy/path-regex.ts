import { patternOf } from '@muster/contracts';

/** Returns the pattern of a path for proxies. The slash is not escaped, because only JavaScript requires that. */
export function pathRegex(path: string): string {
  return patternOf(path).source.replaceAll('\\/', '/');
}
