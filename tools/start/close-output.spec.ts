import { closeSync, mkdtempSync, openSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { closeOutput } from './close-output';

describe('credentials that are printed', () => {
  it('are for the eyes of the file’s owner alone', () => {
    const folder = mkdtempSync(join(tmpdir(), 'muster-output-'));
    const file = join(folder, 'start.log');
    const descriptor = openSync(file, 'a', 0o666);
    closeOutput(descriptor);
    closeSync(descriptor);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    rmSync(folder, { recursive: true });
  });

  it('may go to what is no file', () => {
    const descriptor = openSync('/dev/null', 'a');
    const { mode } = statSync('/dev/null');
    closeOutput(descriptor);
    closeSync(descriptor);
    expect(statSync('/dev/null').mode).toBe(mode);
  });
});
