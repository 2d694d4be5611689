/** However much is wrong, an answer about it has an end. */
export const maxFieldErrors = 50;
export const maxDetailLength = 2000;

/** Cut between characters, and never through one. */
export function shortened(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
}
