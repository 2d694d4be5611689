import { execFile, execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

describe('the one-file muster-admin', () => {
  it('the one-file muster-admin runs with Node alone, in any folder', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'muster-one-file-'));
    const file = join(folder, 'muster-admin.js');
    execFileSync(process.execPath, [join(__dirname, 'one-file.mjs'), file]);
    const runAdminFile = async (...args: string[]) =>
      (await promisify(execFile)(process.execPath, [file, ...args], { cwd: folder, env: {} })).stdout;
    expect(JSON.parse(await runAdminFile('list', '--from', folder, '--json'))).toEqual({ backups: [] });
    const load = '--agents 10 --runs-per-day 100 --log-lines-per-run 10 --retention-days 30'.split(' ');
    expect(JSON.parse(await runAdminFile('size', ...load, '--json'))).toMatchObject({ process: 11, connection: 190 });
    await rm(folder, { recursive: true });
  });
});
