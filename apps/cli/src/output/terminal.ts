import type { Explained } from '../frame/failure';
import { plain, withoutOrders } from './plain';
import { cell, columns, cut } from './table';

type Color = 'red' | 'green' | 'yellow' | 'dim' | 'bold';
const codes: Record<Color, number> = { red: 31, green: 32, yellow: 33, dim: 2, bold: 1 };
const clearLine = '\r\x1b[K';

export interface Column<T> {
  title: string;
  of: (row: T) => unknown;
  color?: (row: T) => Color | undefined;
}

/** Results go to stdout, words about them to stderr, so that a pipe gets results alone. */
export class Terminal {
  readonly json: boolean;
  private readonly noColor: boolean;
  private progressLine = '';
  private lastWord = '';

  constructor({ json, noColor }: { json: boolean; noColor: boolean }) {
    this.json = json;
    this.noColor = noColor;
  }

  /** Somebody is there who sees a line change, and can answer. */
  get isWatched(): boolean {
    return process.stderr.isTTY === true;
  }

  get canAsk(): boolean {
    return process.stdin.isTTY === true && this.isWatched;
  }

  print(text: string): void {
    this.write(process.stdout, `${text}\n`);
  }

  /** A word on the way, which is no result. */
  say(text: string): void {
    this.write(process.stderr, `${text}\n`);
  }

  /** The value for programs, or words for people. */
  show(value: unknown, words: string | (() => string)): void {
    if (this.json) this.print(JSON.stringify(value, null, process.stdout.isTTY ? 2 : 0));
    else this.print(typeof words === 'string' ? words : words());
  }

  /** One value a line for programs. */
  showLine(value: unknown, words: string): void {
    this.print(this.json ? JSON.stringify(value) : words);
  }

  table<T>(rows: T[], shown: Column<T>[], none: string): void {
    if (this.json) return this.show(rows, '');
    if (!rows.length) return this.say(none);
    const head = shown.map(({ title }) => this.paint('dim', title));
    const body = rows.map((row) =>
      shown.map(({ of, color }) => {
        const text = cell(of(row));
        const wanted = color?.(row);
        return wanted ? this.paint(wanted, text) : text;
      }),
    );
    const width = process.stdout.isTTY ? process.stdout.columns : undefined;
    this.print(columns([head, ...body], width).join('\n'));
  }

  /** One thing, its fields below each other. */
  fields(value: object, shown: [string, unknown][]): void {
    this.show(value, () => columns(shown.map(([name, of]) => [this.paint('dim', name), cell(of)])).join('\n'));
  }

  paint(color: Color, text: string, stream: NodeJS.WriteStream = process.stdout): string {
    if (this.noColor || !stream.isTTY) return text;
    return `\x1b[${codes[color]}m${text}\x1b[0m`;
  }

  /** What is waited for: a line that changes for who watches, else a line for each change of `word`. */
  progress(word: string, more = ''): void {
    if (!this.isWatched) {
      if (word !== this.lastWord) this.say(word);
      this.lastWord = word;
      return;
    }
    const width = (process.stderr.columns ?? 80) - 1;
    this.progressLine = cut(plain(`${word}${more}`).replace(/\s+/g, ' '), width);
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
    const inBrackets = [cell(code), requestId ? `request ${cell(requestId)}` : ''].filter(Boolean).join(', ');
    this.say(`${this.paint('red', 'muster:', process.stderr)} ${cell(message)} (${inBrackets})`);
    for (const fault of fields) this.say(`  ${cell(fault.field)}: ${cell(fault.message)}`);
    if (hint) this.say(`  ${hint}`);
  }

  /** The changing line stays the last one. */
  private write(stream: NodeJS.WriteStream, text: string): void {
    if (this.progressLine) process.stderr.write(clearLine);
    // A terminal does what it is told, by whoever wrote the name, the message or the log.
    stream.write(stream.isTTY ? withoutOrders(text) : text);
    if (this.progressLine) process.stderr.write(this.paint('dim', this.progressLine, process.stderr));
  }
}
