import { createWriteStream, renameSync, statSync, type WriteStream } from 'node:fs';
import type { Readable } from 'node:stream';

const rotateAtBytes = 20 * 1024 * 1024;

/** The log file that all processes of the service share. */
export class ServiceLog {
  private readonly out: WriteStream;

  constructor(
    readonly file: string,
    say: (line: string) => void,
  ) {
    const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
    if (size > rotateAtBytes) renameSync(file, `${file}.1`);
    this.out = createWriteStream(file, { flags: 'a', mode: 0o600 });
    this.out.on('error', (error) => say(`could not write ${file}: ${error.message}`));
  }

  /** Writes a process's output in whole lines, so that lines of different processes do not mix. */
  appendFrom(from: Readable): void {
    let partialLine = '';
    from.setEncoding('utf8');
    from.on('data', (text: string) => {
      const end = text.lastIndexOf('\n') + 1;
      if (end > 0) this.out.write(partialLine + text.slice(0, end));
      partialLine = end > 0 ? text.slice(end) : partialLine + text;
    });
    from.once('end', () => partialLine && this.out.write(`${partialLine}\n`));
  }
}
