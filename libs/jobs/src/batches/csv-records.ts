/**
 * A record of a CSV table. Its cells are latin1 strings, in which each character stands for one byte of the undecoded
 * text.
 */
export interface CsvRecord {
  cells: string[];
  /** Number of cells of the record; only the first `maxCells` are stored. */
  count: number;
  /** The line on which the record ends. */
  line: number;
  /** Whether a cell contains a quote but does not start with one. */
  straysQuote: boolean;
}

/** Thrown if a quote in the table is wrong, so that the ends of the records after this line are unclear. */
export class TornTable extends Error {
  constructor(
    readonly line: number,
    reason: string,
  ) {
    super(reason);
  }
}

const [quote, comma, lineFeed, carriageReturn] = [0x22, 0x2c, 0x0a, 0x0d];

type State = 'cell begins' | 'plain' | 'quoted' | 'quote in quoted';

/** Number of characters above which the text of an unfinished cell is copied into one flat string. */
const longCell = 4096;
/**
 * Number of bytes after which the rest of a cell is not stored, so that joining the parts of a cell does not block the
 * event loop. Such a cell has more characters than any value may have.
 */
export const maxStoredBytes = 4 * 1024 * 1024;

/**
 * Parses CSV as in RFC 4180, but lines may end with LF, CRLF or CR, and empty lines are skipped. The caller passes the
 * text in pieces, so that the event loop is not blocked. Only one unfinished record is stored, with at most `maxCells`
 * cells.
 */
export class CsvRecords {
  private state: State = 'cell begins';
  /**
   * Text of the unfinished cell in this piece; `earlier` has the text from the pieces before. If the cell were one
   * string, V8 would flatten all of its parts in one turn of the event loop.
   */
  private cell = '';
  private earlier: string[] = [];
  private earlierLength = 0;
  private cells: string[] = [];
  private count = 0;
  private straysQuote = false;
  private line = 1;
  /**
   * Whether the last character was a carriage return. A line feed after a carriage return does not end another line.
   */
  private afterReturn = false;
  private ready: CsvRecord[] = [];

  constructor(private readonly maxCells: number) {}

  /** Parses the next piece of the text and returns the records that end in it. */
  parsePiece(piece: string): CsvRecord[] {
    this.ready = [];
    let from = 0;
    for (let at = 0; at < piece.length; at += 1) {
      const code = piece.charCodeAt(at);
      const belongsToReturn = this.afterReturn && code === lineFeed;
      this.afterReturn = code === carriageReturn;
      if (belongsToReturn && this.state === 'cell begins') {
        from = at + 1;
        continue;
      }
      const ends = code === lineFeed || code === carriageReturn;
      if (this.state === 'quoted') {
        if (ends && !belongsToReturn) this.line += 1;
        if (code !== quote) continue;
        this.cell += piece.slice(from, at);
        this.state = 'quote in quoted';
      } else if (code === comma || ends) {
        if (this.state === 'plain') this.cell += piece.slice(from, at);
        if (ends) this.endRecord();
        else this.endCell();
      } else if (this.state === 'quote in quoted') {
        if (code !== quote) throw new TornTable(this.line, 'there is text after a closing quote');
        this.cell += '"';
        this.state = 'quoted';
      } else if (this.state === 'cell begins' && code === quote) {
        this.state = 'quoted';
      } else {
        if (this.state === 'plain') {
          if (code === quote) this.straysQuote = true;
          continue;
        }
        this.state = 'plain';
        from = at;
        continue;
      }
      from = at + 1;
    }
    if (this.state === 'plain' || this.state === 'quoted') this.cell += piece.slice(from);
    if (this.cell.length > longCell) {
      if (this.earlierLength < maxStoredBytes) this.earlier.push(Buffer.from(this.cell, 'latin1').toString('latin1'));
      this.earlierLength += this.cell.length;
      this.cell = '';
    }
    return this.ready;
  }

  /** Ends the text. Returns the last record if no line end follows it. */
  endText(): CsvRecord[] {
    this.ready = [];
    if (this.state === 'quoted') throw new TornTable(this.line, 'a quote is not closed');
    if (this.state !== 'cell begins' || this.count > 0) this.endRecord();
    return this.ready;
  }

  private endCell(): void {
    if (this.count < this.maxCells) {
      const last = this.earlierLength < maxStoredBytes ? this.cell : '';
      this.cells.push(this.earlier.length ? [...this.earlier, last].join('') : last);
    }
    this.count += 1;
    [this.cell, this.earlier, this.earlierLength] = ['', [], 0];
    this.state = 'cell begins';
  }

  private endRecord(): void {
    const isEmpty = this.state === 'cell begins' && this.count === 0;
    if (!isEmpty) {
      this.endCell();
      const { cells, count, line, straysQuote } = this;
      this.ready.push({ cells, count, line, straysQuote });
    }
    [this.cells, this.count, this.straysQuote] = [[], 0, false];
    this.line += 1;
  }
}
