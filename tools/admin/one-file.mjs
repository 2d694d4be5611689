#!/usr/bin/env node
// muster-admin as one file, which needs Node alone, and a Postgres only where it works on a data folder.
// `one-file.mjs [target]` writes to dist/admin/muster-admin.js unless told otherwise.
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

// Of what the build makes: decorators are compiled there, and packages are loaded as they are in a service.
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
  // What Nest and TypeORM load where somebody uses it, which is nobody here.
  plugins: [
    {
      name: 'optional',
      setup: (given) => given.onResolve({ filter: optional }, ({ path }) => ({ path, external: true })),
    },
  ],
  define: {
    'import.meta.url': 'importedAs',
    EMBEDDED_VERSION: JSON.stringify(JSON.parse(await readFile(join(root, 'package.json'), 'utf8')).version),
  },
});
await chmod(outfile, 0o755);
process.stdout.write(`one-file: ${outfile}\n`);
