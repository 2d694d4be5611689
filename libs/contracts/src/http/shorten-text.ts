/** Limits of an error response: number of field errors, and number of characters of its detail. */
export const maxFieldErrors = 50;
export const maxDetailLength = 2000;

/** Shortens a text to at most `length` UTF-16 units, with an ellipsis, without splitting a surrogate pair. */
export function shortenText(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
}
