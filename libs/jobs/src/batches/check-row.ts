import { hasHalfPair } from '@muster/platform';

/** The cells of a row by column name. */
export interface Cells {
  has(column: string): boolean;
  get(column: string): unknown;
  keys(): Iterable<string>;
}

/** An input row: its cells, or why it could not be read. */
export interface InputRow {
  /** Number of the row, from 1. */
  row: number;
  cells: Cells;
  errors: string[];
}

export interface RowRule {
  /** The workflow's variables. */
  names: ReadonlySet<string>;
  /** Column name by variable name. */
  mapping?: Record<string, string>;
  /** Values for variables that a row does not contain. */
  defaults: Record<string, string>;
}

export type CheckedRow = { variables: Record<string, string> } | { errors: string[] };

/** Maximum number of characters of a variable, as the interface defines it. */
const maxCharacters = 65_536;
/** Maximum number of errors that are returned for a row. */
const maxErrors = 10;

/** Returns the row's variables, or all of its errors. */
export function checkRow({ cells, errors: unread }: InputRow, { names, mapping, defaults }: RowRule): CheckedRow {
  const errors = [...unread];
  const variables: Record<string, string> = {};
  for (const name of unread.length ? [] : names) {
    if (errors.length >= maxErrors) break;
    const column = columnOf(name, mapping);
    if (!cells.has(column)) {
      if (Object.hasOwn(defaults, name)) variables[name] = defaults[name]!;
      else errors.push(missing(name, column));
      continue;
    }
    const text = cells.get(column);
    const error = errorOf(text);
    if (error) errors.push(`${name}: ${error}`);
    else variables[name] = text as string;
  }
  if (!mapping && !unread.length) errors.push(...surplus(cells, names));
  return errors.length ? { errors: errors.slice(0, maxErrors) } : { variables };
}

function columnOf(name: string, mapping: Record<string, string> | undefined): string {
  return mapping && Object.hasOwn(mapping, name) ? mapping[name]! : name;
}

function missing(name: string, column: string): string {
  const detail = column === name ? '' : `, and the row has no column ${shortened(column)}`;
  return `the workflow needs the variable ${name}${detail}`;
}

function surplus(cells: Cells, names: ReadonlySet<string>): string[] {
  const errors: string[] = [];
  for (const column of cells.keys()) {
    if (errors.length === maxErrors) break;
    if (!names.has(column)) errors.push(`the workflow has no variable ${shortened(column)}`);
  }
  return errors;
}

function errorOf(text: unknown): string | null {
  if (typeof text !== 'string') return 'must be a string';
  if (text.length > maxCharacters) {
    return `has ${text.length.toLocaleString('en-US')} characters; at most ${maxCharacters.toLocaleString('en-US')} are allowed`;
  }
  if (text.includes('\0')) return 'contains U+0000';
  if (hasHalfPair(text)) return 'contains a character that is not valid Unicode';
  return null;
}

function shortened(column: string): string {
  return column.length > 100 ? `${column.slice(0, 100)}…` : column;
}
