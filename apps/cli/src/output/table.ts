import { toSafeLine } from './plain';

// eslint-disable-next-line no-control-regex -- Colour sequences have no width.
const colors = /\x1b\[[\d;]*m/g;

/** Aligns cells in columns. The last cell of a row is not padded, and is truncated at `width`. */
export function alignColumns(rows: string[][], width = Infinity): string[] {
  const widths: number[] = [];
  for (const row of rows) row.forEach((cell, at) => (widths[at] = Math.max(widths[at] ?? 0, measureWidth(cell))));
  const room = width - widths.slice(0, -1).reduce((sum, each) => sum + each + 2, 0);
  return rows.map((row) =>
    row
      .map((cell, at) =>
        at < widths.length - 1 ? cell + ' '.repeat(widths[at]! - measureWidth(cell)) : truncateText(cell, room),
      )
      .join('  ')
      .trimEnd(),
  );
}

export function truncateText(text: string, room: number): string {
  if (room < 10 || measureWidth(text) <= room) return text;
  let width = 1;
  const fitting: string[] = [];
  for (const character of text) {
    width += measureCharacterWidth(character);
    if (width > room) break;
    fitting.push(character);
  }
  return `${fitting.join('')}…`;
}

function measureWidth(cell: string): number {
  let width = 0;
  for (const character of cell.replace(colors, '')) width += measureCharacterWidth(character);
  return width;
}

/** Returns the width in a terminal: 0 for combining characters, 2 for East Asian characters and emoji, otherwise 1. */
function measureCharacterWidth(character: string): number {
  if (/[\p{Mn}\p{Me}\p{Cf}]/u.test(character)) return 0;
  return /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u.test(
    character,
  )
    ? 2
    : 1;
}

/** Converts a value to the text of a cell: one line without control characters, or `-` if the value is empty. */
export function formatCell(value: unknown): string {
  if (value === null || value === undefined || value === '') return '-';
  return toSafeLine(typeof value === 'object' ? JSON.stringify(value) : String(value as string | number | boolean));
}
