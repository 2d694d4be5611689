import type { Explained } from '../frame/failure';
import { removeControlCharacters, removeControlSequences } from './plain';
import { formatCell, alignColumns, truncateText } from './table';

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

  printLine(text: string): void {
    this.writeAboveProgress(process.stdout, `${text}\n`);
  }

  /** Writes a message to stderr. */
  printMessage(text: string): void {
    this.writeAboveProgress(process.stderr, `${text}\n`);
  }

  /** Prints the value as JSON with --json, otherwise the text. */
  printResult(value: unknown, words: string | (() => string)): void {
    if (this.json) this.printLine(JSON.stringify(value, null, process.stdout.isTTY ? 2 : 0));
    else this.printLine(typeof words === 'string' ? words : words());
  }

  /** Prints the value as one line of JSON with --json, otherwise the text. */
  printResultLine(value: unknown, words: string): void {
    this.printLine(this.json ? JSON.stringify(value) : words);
  }

  printTable<T>(rows: T[], shown: Column<T>[], none: string): void {
    if (this.json) return this.printResult(rows, '');
    if (!rows.length) return this.printMessage(none);
    const head = shown.map(({ title }) => this.colorText('dim', title));
    const body = rows.map((row) =>
      shown.map(({ cell, color }) => {
        const text = formatCell(cell(row));
        const wanted = color?.(row);
        return wanted ? this.colorText(wanted, text) : text;
      }),
    );
    const width = process.stdout.isTTY ? process.stdout.columns : undefined;
    this.printLine(alignColumns([head, ...body], width).join('\n'));
  }

  /** Prints one resource, with one field per line. */
  printFields(value: object, shown: [string, unknown][]): void {
    this.printResult(value, () =>
      alignColumns(shown.map(([name, cell]) => [this.colorText('dim', name), formatCell(cell)])).join('\n'),
    );
  }

  colorText(color: Color, text: string, stream: NodeJS.WriteStream = process.stdout): string {
    if (this.noColor || !stream.isTTY) return text;
    return `\x1b[${codes[color]}m${text}\x1b[0m`;
  }

  /** Shows progress: one line that is updated in a terminal, otherwise a new line each time `word` changes. */
  showProgress(word: string, more = ''): void {
    if (!this.isWatched) {
      if (word !== this.lastWord) this.printMessage(word);
      this.lastWord = word;
      return;
    }
    const width = (process.stderr.columns ?? 80) - 1;
    this.progressLine = truncateText(removeControlCharacters(`${word}${more}`).replace(/\s+/g, ' '), width);
    process.stderr.write(clearLine + this.colorText('dim', this.progressLine, process.stderr));
  }

  clearProgress(): void {
    if (this.progressLine) process.stderr.write(clearLine);
    this.progressLine = '';
  }

  printFailure({ code, message, status, requestId, fields, hint, exitCode }: Explained): void {
    this.clearProgress();
    if (this.json) {
      return this.printMessage(JSON.stringify({ error: { code, message, status, requestId, fields, hint, exitCode } }));
    }
    const inBrackets = [formatCell(code), requestId ? `request ${formatCell(requestId)}` : '']
      .filter(Boolean)
      .join(', ');
    this.printMessage(`${this.colorText('red', 'muster:', process.stderr)} ${formatCell(message)} (${inBrackets})`);
    for (const fault of fields) this.printMessage(`  ${formatCell(fault.field)}: ${formatCell(fault.message)}`);
    if (hint) this.printMessage(`  ${hint}`);
  }

  /** Writes text above the progress line. */
  private writeAboveProgress(stream: NodeJS.WriteStream, text: string): void {
    if (this.progressLine) process.stderr.write(clearLine);
    // A name, a message or a log can contain control sequences, which a terminal would execute.
    stream.write(stream.isTTY ? removeControlSequences(text) : text);
    if (this.progressLine) process.stderr.write(this.colorText('dim', this.progressLine, process.stderr));
  }
}
