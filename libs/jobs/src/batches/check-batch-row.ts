import { hasHalfSurrogatePair } from '@muster/platform';

/** The cells of a row by column name. */
export interface Cells {
  has(column: string): boolean;
  get(column: string): unknown;
  keys(): Iterable<string>;
}

/** One row of the table: its cells, or the errors because of which it could not be read. */
export interface InputRow {
  /** Row number; the first row has the number 1. */
  row: number;
  cells: Cells;
  errors: string[];
}

export interface RowRule {
  /** Names of the workflow's variables. */
  names: ReadonlySet<string>;
  /** Maps a variable's name to the name of the column with its value. */
  mapping?: Record<string, string>;
  /** Values for variables that have no column in the table. */
  defaults: Record<string, string>;
}

export type CheckedRow = { variables: Record<string, string> } | { errors: string[] };

/** Maximum number of characters in the value of a variable, as the interface defines it. */
const maxCharacters = 65_536;
/** Maximum number of characters that an error names, because the end of a very long cell is not stored. */
const maxCounted = 1_000_000;
/** Maximum number of errors that are returned for a row. */
const maxErrors = 10;

/** Returns the row's variables, or up to `maxErrors` errors. */
export function checkBatchRow({ cells, errors: unread }: InputRow, { names, mapping, defaults }: RowRule): CheckedRow {
  const errors = [...unread];
  const variables: Record<string, string> = {};
  for (const name of unread.length ? [] : names) {
    if (errors.length >= maxErrors) break;
    const column = getColumnOfVariable(name, mapping);
    if (!cells.has(column)) {
      if (Object.hasOwn(defaults, name)) variables[name] = defaults[name]!;
      else errors.push(missingValueError(name, column));
      continue;
    }
    const text = cells.get(column);
    const error = checkCellText(text);
    if (error) errors.push(`${name}: ${error}`);
    else variables[name] = text as string;
  }
  if (!mapping && !unread.length) errors.push(...unknownColumnErrors(cells, names));
  return errors.length ? { errors: errors.slice(0, maxErrors) } : { variables };
}

function getColumnOfVariable(name: string, mapping: Record<string, string> | undefined): string {
  return mapping && Object.hasOwn(mapping, name) ? mapping[name]! : name;
}

function missingValueError(name: string, column: string): string {
  const detail = column === name ? '' : `, and the row has no column ${shortenColumnName(column)}`;
  return `the workflow needs the variable ${name}${detail}`;
}

function unknownColumnErrors(cells: Cells, names: ReadonlySet<string>): string[] {
  const errors: string[] = [];
  for (const column of cells.keys()) {
    if (errors.length === maxErrors) break;
    if (!names.has(column)) errors.push(`the workflow has no variable ${shortenColumnName(column)}`);
  }
  return errors;
}

function checkCellText(text: unknown): string | null {
  if (typeof text !== 'string') return 'must be a string';
  if (text.length > maxCharacters) {
    const count = Math.min(text.length, maxCounted).toLocaleString('en-US');
    return `has ${text.length > maxCounted ? 'more than ' : ''}${count} characters; at most ${maxCharacters.toLocaleString('en-US')} are allowed`;
  }
  if (text.includes('\0')) return 'contains U+0000';
  if (hasHalfSurrogatePair(text)) return 'contains a character that is not valid Unicode';
  return null;
}

function shortenColumnName(column: string): string {
  return column.length > 100 ? `${column.slice(0, 100)}…` : column;
}
