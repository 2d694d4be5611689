#!/usr/bin/env node
// Builds muster-admin as one file. It needs only Node, and Postgres if it works on a data folder.
// `one-file.mjs [target]` writes to `target`, by default dist/admin/muster-admin.js.
import { chmod, readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build as bundle } from 'esbuild';
import { build } from '../build/build.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, '../..');
const optional =
  /^(@nestjs\/(microservices|websockets|platform-socket.io|platform-express).*|class-transformer.*|@fastify\/(static|view|multipart)|pg-native|pino-pretty)$/;
const outfile = resolve(process.argv[2] ?? join(root, 'dist/admin/muster-admin.js'));

// Bundles the output of the build: decorators are compiled there, and packages are loaded as in a service.
await build();
await bundle({
  entryPoints: [join(root, 'dist/tools/admin/main.js')],
  outfile,
  bundle: true,
  platform: 'node',
  target: 'node20',
  format: 'cjs',
  banner: { js: "#!/usr/bin/env node\nconst importedAs = require('node:url').pathToFileURL(__filename).href;" },
  logLevel: 'error',
  keepNames: true,
  // Packages that Nest and TypeORM load only for features that muster-admin does not use.
  plugins: [
    {
      name: 'optional',
      setup: (bundler) => bundler.onResolve({ filter: optional }, ({ path }) => ({ path, external: true })),
    },
  ],
  define: {
    'import.meta.url': 'importedAs',
    EMBEDDED_VERSION: JSON.stringify(JSON.parse(await readFile(join(root, 'package.json'), 'utf8')).version),
    EMBEDDED_SIZING: JSON.stringify(await readFile(join(root, 'k8s/sizing.json'), 'utf8')),
  },
});
await chmod(outfile, 0o755);
process.stdout.write(`one-file: ${outfile}\n`);
