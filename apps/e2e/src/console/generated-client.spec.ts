import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from '../service-process';

const generated = join(root, 'libs/sdk/src/generated');

describe('the generated client', () => {
  it('is what the OpenAPI document says; npm run generate writes it anew', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'muster-client-'));
    try {
      execFileSync(process.execPath, [join(root, 'libs/sdk/generate.mjs'), folder], { cwd: root });
      expect(filesOf(generated)).toEqual(filesOf(folder));
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});

function filesOf(folder: string): Record<string, string> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  return Object.fromEntries(paths.sort().map((path) => [path.slice(folder.length), readFileSync(path, 'utf8')]));
}
