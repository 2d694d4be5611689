#!/usr/bin/env node
// Builds the CLI as one file that needs only Node. The file contains the worker program, which `muster worker install`
// writes to a machine. `one-file.mjs [target]` writes to dist/cli/muster.js by default.
import { execFileSync } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, '../..');
const outfile = resolve(process.argv[2] ?? join(root, 'dist/cli/muster.js'));

await build({
  entryPoints: [join(here, 'src/main.ts')],
  outfile,
  bundle: true,
  platform: 'node',
  target: 'node20',
  format: 'cjs',
  banner: { js: '#!/usr/bin/env node' },
  define: {
    EMBEDDED_WORKER: JSON.stringify(await buildWorkerFile()),
    EMBEDDED_VERSION: JSON.stringify(JSON.parse(await readFile(join(root, 'package.json'), 'utf8')).version),
  },
});
await chmod(outfile, 0o755);
process.stdout.write(`one-file: ${outfile}\n`);

async function buildWorkerFile() {
  const folder = await mkdtemp(join(tmpdir(), 'muster-cli-'));
  try {
    const file = join(folder, 'muster-worker.js');
    execFileSync(process.execPath, [join(root, 'apps/worker/one-file.mjs'), file], { stdio: 'ignore' });
    return await readFile(file, 'utf8');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
