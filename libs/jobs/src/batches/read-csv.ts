import { AppError, maxBatchRows } from '@muster/contracts';
import { CsvError, parse } from 'csv-parse';
import { Readable } from 'node:stream';
import { setImmediate as breathe } from 'node:timers/promises';
import type { GivenRow } from './check-row';

/** What every column of a table is called, and its rows. Cells stay bytes until each is known to be UTF-8. */
export async function readCsv(chunks: AsyncIterable<Buffer>): Promise<GivenRow[]> {
  const parser = parse({
    encoding: null,
    info: true,
    record_delimiter: ['\r\n', '\n', '\r'],
    relax_column_count: true,
    skip_empty_lines: true,
    skip_records_with_error: true,
  });
  const faults: CsvError[] = [];
  parser.on('skip', (error: CsvError) => faults.push(error));
  const source = Readable.from(inPieces(withoutMark(chunks)), { objectMode: false });
  source.on('error', (error) => parser.destroy(error));
  source.pipe(parser);
  let columns: string[] | undefined;
  const rows: { good: number; row: Omit<GivenRow, 'row'> }[] = [];
  try {
    for await (const { record, info } of parser as AsyncIterable<{ record: Buffer[]; info: { records: number } }>) {
      if (columns) rows.push({ good: info.records, row: readRow(record, columns) });
      else columns = readHeader(record);
      if (rows.length > maxBatchRows) throw unreadable(tooMany);
      const torn = faults.find(({ code }) => code !== 'INVALID_OPENING_QUOTE');
      if (torn) throw unreadable(`Line ${torn['lines']}: ${wordsOf(torn)}, so where its rows end cannot be told.`);
    }
  } finally {
    source.destroy();
    parser.destroy();
  }
  const torn = faults.find(({ code }) => code !== 'INVALID_OPENING_QUOTE');
  if (torn) throw unreadable(`Line ${torn['lines']}: ${wordsOf(torn)}, so where its rows end cannot be told.`);
  if (!columns || faults.some(({ records }) => records === 0)) throw unreadable('It has no row of names.');
  const numbered = numberRows(rows, faults);
  if (numbered.length === 0) throw unreadable('It has no rows below the names.');
  if (numbered.length > maxBatchRows) throw unreadable(tooMany);
  return numbered;
}

const tooMany = `It has more than ${maxBatchRows.toLocaleString('en-US')} rows.`;

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function decode(cell: Buffer): string | null {
  try {
    return utf8.decode(cell);
  } catch {
    return null;
  }
}

function readHeader(record: Buffer[]): string[] {
  const names = record.map((cell, at) => {
    const name = decode(cell);
    if (name === null) throw unreadable(`The name of column ${at + 1} is not valid UTF-8.`);
    return name.trim();
  });
  const twice = names.find((name, at) => name && names.indexOf(name) !== at);
  if (twice) throw unreadable(`It has two columns ${twice.slice(0, 100)}.`);
  if (names.every((name) => !name)) throw unreadable('Its columns have no names.');
  return names;
}

function readRow(record: Buffer[], columns: string[]): Omit<GivenRow, 'row'> {
  if (record.length !== columns.length) {
    const named = columns.slice(record.length).filter(Boolean);
    const lacks = named.length ? `: ${named.slice(0, 5).join(', ')} ${named.length === 1 ? 'is' : 'are'} missing` : '';
    const cells = `${record.length} ${record.length === 1 ? 'cell' : 'cells'}`;
    return { cells: {}, errors: [`the row has ${cells} and the table ${columns.length} columns${lacks}`] };
  }
  const errors: string[] = [];
  const cells = record.flatMap((cell, at) => {
    const name = columns[at]!;
    const text = decode(cell);
    if (text === null) errors.push(`${name || `column ${at + 1}`}: is not valid UTF-8`);
    else if (!name && text) errors.push(`column ${at + 1} has a text and no name`);
    return name ? [[name, text] as const] : [];
  });
  return { cells: errors.length ? {} : Object.fromEntries(cells), errors };
}

/** A row that could not be read has its number too: it stands where it stood. */
function numberRows(rows: { good: number; row: Omit<GivenRow, 'row'> }[], faults: CsvError[]): GivenRow[] {
  const broken = [...new Map(faults.map((fault) => [fault['lines'], fault])).values()].map((fault) => ({
    // Behind the rows that were read before it.
    good: Number(fault['records']) + 0.5,
    row: { cells: {}, errors: [`line ${fault['lines']}: ${wordsOf(fault)}`] },
  }));
  return [...rows, ...broken].sort((a, b) => a.good - b.good).map(({ row }, at) => ({ row: at + 1, ...row }));
}

function wordsOf({ code }: CsvError): string {
  if (code === 'INVALID_OPENING_QUOTE') return 'a quote stands inside a cell that does not begin with one';
  if (code === 'CSV_QUOTE_NOT_CLOSED') return 'a quote that was opened is not closed';
  if (code === 'CSV_INVALID_CLOSING_QUOTE') return 'something stands behind a closing quote';
  return 'the row cannot be read';
}

const pieceBytes = 8 * 1024;

/** What is there all at once would be parsed all at once, with nobody else having a turn. */
async function* inPieces(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    for (let from = 0; from < chunk.length; from += pieceBytes) {
      yield chunk.subarray(from, from + pieceBytes);
      await breathe();
    }
  }
}

/** Spreadsheets put a byte order mark in front. One of UTF-16 says that the rest would be read wrongly. */
async function* withoutMark(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let head: Buffer | null = Buffer.alloc(0);
  for await (const chunk of chunks) {
    if (!head) {
      yield chunk;
      continue;
    }
    head = Buffer.concat([head, chunk]);
    if (head.length < 3) continue;
    yield unmarked(head);
    head = null;
  }
  if (head?.length) yield unmarked(head);
}

function unmarked(head: Buffer): Buffer {
  const mark = head.toString('hex', 0, 2);
  if (mark === 'fffe' || mark === 'feff') throw unreadable('It is UTF-16; save it as UTF-8.');
  return head.toString('hex', 0, 3) === 'efbbbf' ? head.subarray(3) : head;
}

function unreadable(why: string): AppError {
  return new AppError('invalid_payload', {
    detail: `The table cannot be taken: ${why}`,
    errors: [{ field: 'file', message: why }],
  });
}
