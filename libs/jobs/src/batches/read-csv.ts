import { AppError, invalidFieldError, maxBatchRows } from '@muster/contracts';
import { setImmediate as breathe } from 'node:timers/promises';
import type { Cells, InputRow } from './check-batch-row';
import { type CsvRecord, CsvRecords, maxStoredBytes, TornTable } from './csv-records';

/** Maximum number of columns: more than real exports have, and few enough that one row is read quickly. */
const maxColumns = 1000;

/**
 * Reads the column names and the rows of a CSV table. The limits are checked while the data arrives, so a table that is
 * too long is rejected early.
 */
export async function readCsv(chunks: AsyncIterable<Buffer>): Promise<InputRow[]> {
  const records = new CsvRecords(maxColumns);
  const table = new Table();
  try {
    for await (const piece of splitIntoPieces(skipByteOrderMark(chunks))) table.addRecords(records.parsePiece(piece));
    table.addRecords(records.endText());
  } catch (error) {
    if (!(error instanceof TornTable)) throw error;
    throw unreadableTableError(`Line ${error.line}: ${error.message}, so it is unclear where the rows end.`);
  }
  return table.finishRows();
}

class Table {
  private columns?: Columns;
  private readonly rows: InputRow[] = [];

  addRecords(records: CsvRecord[]): void {
    for (const record of records) {
      if (!this.columns) this.columns = parseHeaderRow(record);
      else if (this.rows.length === maxBatchRows) {
        throw unreadableTableError(`It has more than ${maxBatchRows.toLocaleString('en-US')} rows.`);
      } else this.rows.push({ row: this.rows.length + 1, ...parseDataRow(record, this.columns) });
    }
  }

  finishRows(): InputRow[] {
    if (!this.columns) throw unreadableTableError('It has no row with column names.');
    if (this.rows.length === 0) throw unreadableTableError('It has no rows after the column names.');
    return this.rows;
  }
}

interface Columns {
  count: number;
  names: string[];
  /** Index of each column that has a name, by this name. */
  at: ReadonlyMap<string, number>;
}

function parseHeaderRow({ cells, count, straysQuote }: CsvRecord): Columns {
  if (straysQuote) throw unreadableTableError('It has no row with column names.');
  if (count > maxColumns) throw unreadableTableError(`It has more than ${maxColumns.toLocaleString('en-US')} columns.`);
  const at = new Map<string, number>();
  const names = cells.map((cell, index) => {
    const name = decodeCell(cell)?.trim();
    if (name === undefined) throw unreadableTableError(`The name of column ${index + 1} is not valid UTF-8.`);
    if (name && at.has(name)) throw unreadableTableError(`Two columns have the name ${name.slice(0, 100)}.`);
    if (name) at.set(name, index);
    return name;
  });
  if (at.size === 0) throw unreadableTableError('Its columns have no names.');
  return { count, names, at };
}

const none: Cells = new Map<string, unknown>();
/** Maximum number of errors that are returned for a row. */
const maxErrors = 10;

function parseDataRow({ cells, count, line, straysQuote }: CsvRecord, columns: Columns): Omit<InputRow, 'row'> {
  if (straysQuote) {
    return { cells: none, errors: [`line ${line}: a cell contains a quote but does not start with one`] };
  }
  if (count !== columns.count) {
    const named = columns.names.slice(count).filter(Boolean);
    const lacks = named.length ? `: ${named.slice(0, 5).join(', ')} ${named.length === 1 ? 'is' : 'are'} missing` : '';
    const has = `${count} ${count === 1 ? 'cell' : 'cells'}`;
    return { cells: none, errors: [`the row has ${has} and the table ${columns.count} columns${lacks}`] };
  }
  const errors: string[] = [];
  const texts = cells.map((cell, at) => {
    const text = decodeCell(cell);
    const name = columns.names[at];
    if (errors.length === maxErrors) return '';
    if (text === undefined) errors.push(`${name || `column ${at + 1}`}: is not valid UTF-8`);
    else if (!name && text) errors.push(`column ${at + 1} has a value but no name`);
    return text ?? '';
  });
  return { cells: errors.length ? none : new TableRow(columns.at, texts), errors };
}

/** The cells of one row. All rows of a table share one map from column names to indexes. */
class TableRow implements Cells {
  constructor(
    private readonly at: ReadonlyMap<string, number>,
    private readonly texts: string[],
  ) {}

  has(column: string): boolean {
    return this.at.has(column);
  }

  get(column: string): string | undefined {
    const at = this.at.get(column);
    return at === undefined ? undefined : this.texts[at];
  }

  keys(): Iterable<string> {
    return this.at.keys();
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Returns the decoded text of a cell, or undefined if it is not valid UTF-8. */
function decodeCell(cell: string): string | undefined {
  // Latin1 and UTF-8 are equal for ASCII text, so it needs no decoding.
  if (!/[\x80-\xff]/.test(cell)) return cell;
  const bytes = Buffer.from(cell, 'latin1');
  try {
    // Only the beginning of a very long cell is stored, so its last character can be incomplete.
    if (bytes.length >= maxStoredBytes) return new TextDecoder('utf-8', utf8).decode(bytes, { stream: true });
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}

const pieceBytes = 16 * 1024;

/**
 * Splits the data into pieces of 16 KiB and yields to the event loop after each piece, so that a large chunk does not
 * block the event loop.
 */
async function* splitIntoPieces(chunks: AsyncIterable<Buffer>): AsyncGenerator<string> {
  for await (const chunk of chunks) {
    for (let from = 0; from < chunk.length; from += pieceBytes) {
      yield chunk.toString('latin1', from, Math.min(from + pieceBytes, chunk.length));
      await breathe();
    }
  }
}

/**
 * Removes the UTF-8 byte order mark that spreadsheet programs write. Throws if the data starts with the mark of UTF-16,
 * which is not supported.
 */
async function* skipByteOrderMark(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let head: Buffer | null = Buffer.alloc(0);
  for await (const chunk of chunks) {
    if (!head) {
      yield chunk;
      continue;
    }
    head = Buffer.concat([head, chunk]);
    if (head.length < 3) continue;
    yield stripByteOrderMark(head);
    head = null;
  }
  if (head?.length) yield stripByteOrderMark(head);
}

function stripByteOrderMark(head: Buffer): Buffer {
  const mark = head.toString('hex', 0, 2);
  if (mark === 'fffe' || mark === 'feff') throw unreadableTableError('It is encoded in UTF-16; save it as UTF-8.');
  return head.toString('hex', 0, 3) === 'efbbbf' ? head.subarray(3) : head;
}

function unreadableTableError(reason: string): AppError {
  return invalidFieldError('file', reason, `The table cannot be read: ${reason}`);
}
