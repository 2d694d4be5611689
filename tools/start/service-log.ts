import { createWriteStream, renameSync, statSync, type WriteStream } from 'node:fs';
import type { Readable } from 'node:stream';

const rotateAtBytes = 20 * 1024 * 1024;

/** The one file that all processes of the service log to. */
export class ServiceLog {
  private readonly out: WriteStream;

  constructor(
    readonly file: string,
    say: (line: string) => void,
  ) {
    const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
    if (size > rotateAtBytes) renameSync(file, `${file}.1`);
    this.out = createWriteStream(file, { flags: 'a', mode: 0o600 });
    this.out.on('error', (error) => say(`${file} cannot be written: ${error.message}`));
  }

  /** Takes what a process writes, whole lines at a time: nothing of another process comes between. */
  take(from: Readable): void {
    let begun = '';
    from.setEncoding('utf8');
    from.on('data', (text: string) => {
      const end = text.lastIndexOf('\n') + 1;
      if (end > 0) this.out.write(begun + text.slice(0, end));
      begun = end > 0 ? text.slice(end) : begun + text;
    });
    from.once('end', () => begun && this.out.write(`${begun}\n`));
  }
}
