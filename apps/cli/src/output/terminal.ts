import type { Explained } from '../frame/failure';
import { withoutControlCharacters, withoutControlSequences } from './plain';
import { cellText, alignColumns, truncate } from './table';

type Color = 'red' | 'green' | 'yellow' | 'dim' | 'bold';
const codes: Record<Color, number> = { red: 31, green: 32, yellow: 33, dim: 2, bold: 1 };
const clearLine = '\r\x1b[K';

export interface Column<T> {
  title: string;
  cell: (row: T) => unknown;
  color?: (row: T) => Color | undefined;
}

/** Writes results to stdout and messages to stderr, so that a pipe receives only results. */
export class Terminal {
  readonly json: boolean;
  private readonly noColor: boolean;
  private progressLine = '';
  private lastWord = '';

  constructor({ json, noColor }: { json: boolean; noColor: boolean }) {
    this.json = json;
    this.noColor = noColor;
  }

  /** Whether stderr is a terminal, where a progress line can be updated in place. */
  get isWatched(): boolean {
    return process.stderr.isTTY === true;
  }

  /** Whether a user can answer a prompt. */
  get canAsk(): boolean {
    return process.stdin.isTTY === true && this.isWatched;
  }

  print(text: string): void {
    this.write(process.stdout, `${text}\n`);
  }

  /** Writes a message to stderr. */
  say(text: string): void {
    this.write(process.stderr, `${text}\n`);
  }

  /** Prints the value as JSON with --json, otherwise the text. */
  show(value: unknown, words: string | (() => string)): void {
    if (this.json) this.print(JSON.stringify(value, null, process.stdout.isTTY ? 2 : 0));
    else this.print(typeof words === 'string' ? words : words());
  }

  /** Prints the value as one line of JSON with --json, otherwise the text. */
  showLine(value: unknown, words: string): void {
    this.print(this.json ? JSON.stringify(value) : words);
  }

  table<T>(rows: T[], shown: Column<T>[], none: string): void {
    if (this.json) return this.show(rows, '');
    if (!rows.length) return this.say(none);
    const head = shown.map(({ title }) => this.paint('dim', title));
    const body = rows.map((row) =>
      shown.map(({ cell, color }) => {
        const text = cellText(cell(row));
        const wanted = color?.(row);
        return wanted ? this.paint(wanted, text) : text;
      }),
    );
    const width = process.stdout.isTTY ? process.stdout.columns : undefined;
    this.print(alignColumns([head, ...body], width).join('\n'));
  }

  /** Prints one resource, with one field per line. */
  fields(value: object, shown: [string, unknown][]): void {
    this.show(value, () =>
      alignColumns(shown.map(([name, cell]) => [this.paint('dim', name), cellText(cell)])).join('\n'),
    );
  }

  paint(color: Color, text: string, stream: NodeJS.WriteStream = process.stdout): string {
    if (this.noColor || !stream.isTTY) return text;
    return `\x1b[${codes[color]}m${text}\x1b[0m`;
  }

  /** Shows progress: one line that is updated in a terminal, otherwise a new line each time `word` changes. */
  progress(word: string, more = ''): void {
    if (!this.isWatched) {
      if (word !== this.lastWord) this.say(word);
      this.lastWord = word;
      return;
    }
    const width = (process.stderr.columns ?? 80) - 1;
    this.progressLine = truncate(withoutControlCharacters(`${word}${more}`).replace(/\s+/g, ' '), width);
    process.stderr.write(clearLine + this.paint('dim', this.progressLine, process.stderr));
  }

  close(): void {
    if (this.progressLine) process.stderr.write(clearLine);
    this.progressLine = '';
  }

  sayFailure({ code, message, status, requestId, fields, hint, exitCode }: Explained): void {
    this.close();
    if (this.json) {
      return this.say(JSON.stringify({ error: { code, message, status, requestId, fields, hint, exitCode } }));
    }
    const inBrackets = [cellText(code), requestId ? `request ${cellText(requestId)}` : ''].filter(Boolean).join(', ');
    this.say(`${this.paint('red', 'muster:', process.stderr)} ${cellText(message)} (${inBrackets})`);
    for (const fault of fields) this.say(`  ${cellText(fault.field)}: ${cellText(fault.message)}`);
    if (hint) this.say(`  ${hint}`);
  }

  /** Writes text above the progress line. */
  private write(stream: NodeJS.WriteStream, text: string): void {
    if (this.progressLine) process.stderr.write(clearLine);
    // A name, a message or a log can contain control sequences, which a terminal would execute.
    stream.write(stream.isTTY ? withoutControlSequences(text) : text);
    if (this.progressLine) process.stderr.write(this.paint('dim', this.progressLine, process.stderr));
  }
}
