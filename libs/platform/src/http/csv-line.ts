/**
 * What a spreadsheet would take for a formula: it begins with one of its signs, in whatever width, however much that
 * cannot be seen stands before it, or with a tab or an end of line, which some drop first.
 */
const formula = /^[\t\r\n]|^[\s\p{Cf}]*[=+\-@＝＋－＠]/u;

/** Separators of any country's spreadsheet, quotes, ends of lines, and blanks that would be lost. */
const special = /[",;\t\r\n]|^\s|\s$/;

/** A cell of RFC 4180 that no spreadsheet runs. */
function csvCell(value: string | null): string {
  if (value === null) return '';
  const safe = formula.test(value) ? `'${value}` : value;
  return special.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export function csvLine(cells: (string | null)[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`;
}
