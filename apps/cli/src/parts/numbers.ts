import { createUsageError } from '../frame/failure';

/** Parses the value of an option such as `--limit 20`. */
export function parseWholeNumber(text: string | undefined, name: string, otherwise: number): number {
  if (text === undefined) return otherwise;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw createUsageError(`--${name} must be a whole number: ${text}`);
}
