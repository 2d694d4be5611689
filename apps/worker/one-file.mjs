#!/usr/bin/env node
// Builds the worker as one file with the Python modules in it, which runs on any machine with Node and Python.
// `one-file.mjs [target]` writes to dist/worker/muster-worker.js by default.
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));
const outfile = resolve(process.argv[2] ?? join(here, '../../dist/worker/muster-worker.js'));

await build({
  entryPoints: [join(here, 'src/main.ts')],
  outfile,
  bundle: true,
  platform: 'node',
  target: 'node20',
  format: 'cjs',
  banner: { js: '#!/usr/bin/env node' },
  define: {
    EMBEDDED_PYTHON_MODULE: JSON.stringify(
      (
        await Promise.all(
          ['muster', 'muster-asking'].map((name) => readFile(join(here, `src/runs/${name}.py`), 'utf8')),
        )
      ).join('\n\n'),
    ),
    EMBEDDED_IMAGING_PACKAGE: JSON.stringify(await readTexts(join(here, 'src/imaging/muster_imaging'))),
  },
});
process.stdout.write(`one-file: ${outfile}\n`);

async function readTexts(folder) {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.py')).sort();
  return Object.fromEntries(
    await Promise.all(files.map(async (file) => [file, await readFile(join(folder, file), 'utf8')])),
  );
}
