/**
 * Matches cells that a spreadsheet would read as a formula. They start with one of the signs of a formula, in any width
 * and after any invisible characters, or with a tab or a line break, which some spreadsheets drop first.
 */
const formula = /^[\t\r\n]|^[\s\p{Cf}]*[=+\-@＝＋－＠]/u;

/** Matches separators of any country's spreadsheet, quotes, line breaks, and outer blanks, which would be lost. */
const special = /[",;\t\r\n]|^\s|\s$/;

/** Returns a cell in the format of RFC 4180 that no spreadsheet runs as a formula. */
function formatCsvCell(value: string | null): string {
  if (value === null) return '';
  const safe = formula.test(value) ? `'${value}` : value;
  return special.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export function formatCsvLine(cells: (string | null)[]): string {
  return `${cells.map(formatCsvCell).join(',')}\r\n`;
}
