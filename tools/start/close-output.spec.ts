import { closeSync, mkdtempSync, openSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { closeOutput } from './close-output';

describe('closeOutput', () => {
  it('closeOutput makes a file readable by its owner only', () => {
    const folder = mkdtempSync(join(tmpdir(), 'muster-output-'));
    const file = join(folder, 'start.log');
    const descriptor = openSync(file, 'a', 0o666);
    closeOutput(descriptor);
    closeSync(descriptor);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    rmSync(folder, { recursive: true });
  });

  it('closeOutput does not change the mode of a device', () => {
    const descriptor = openSync('/dev/null', 'a');
    const { mode } = statSync('/dev/null');
    closeOutput(descriptor);
    closeSync(descriptor);
    expect(statSync('/dev/null').mode).toBe(mode);
  });
});
