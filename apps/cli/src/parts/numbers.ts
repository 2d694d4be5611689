import { usageFault } from '../frame/failure';

/** `--limit 20`. */
export function wholeNumber(text: string | undefined, name: string, otherwise: number): number {
  if (text === undefined) return otherwise;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw usageFault(`--${name} is no whole number: ${text}`);
}
