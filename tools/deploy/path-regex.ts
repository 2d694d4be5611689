import { patternOf } from '@muster/contracts';

/** The row's pattern as proxies write it: JavaScript escapes the slash, which has no meaning elsewhere. */
export function pathRegex(path: string): string {
  return patternOf(path).source.replaceAll('\\/', '/');
}
