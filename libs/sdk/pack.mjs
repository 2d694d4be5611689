#!/usr/bin/env node
// Packs the SDK as an npm package, as ESM and CommonJS with types. `npx nx pack sdk` or `pack.mjs [folder]` writes
// package/ and its tarball, and prints the size of the tarball and of the SDK in a page.
import { execFileSync } from 'node:child_process';
import { cp, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, '../..');
const folder = resolve(process.argv[2] ?? join(root, 'dist/sdk'));
const target = join(folder, 'package');
const entries = ['index', 'operations'];

await rm(target, { recursive: true, force: true });
await mkdir(target, { recursive: true });
const types = await buildDeclarations();
for (const format of ['esm', 'cjs']) {
  await bundleFormat(format);
  for (const [file, text] of types) await writeFileWithFolder(join(target, format, file), text);
}
await writeFile(join(target, 'cjs/package.json'), '{ "type": "commonjs" }\n');
await cp(join(here, 'package/README.md'), join(target, 'README.md'));
const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
await writeFile(join(target, 'package.json'), `${JSON.stringify(buildPackageManifest(version), null, 2)}\n`);
const [packed] = JSON.parse(
  execFileSync('npm', ['pack', '--json', '--silent', '--pack-destination', folder], { cwd: target, encoding: 'utf8' }),
);
const tarball = join(folder, packed.filename);
process.stdout.write(`pack: ${relative(process.cwd(), tarball)}, ${formatKib((await stat(tarball)).size)}\n`);
process.stdout.write(`pack: in a page, minified and gzipped, ${formatKib(await measurePageSize())}\n`);

function buildPackageManifest(version) {
  const buildExportEntry = (entry) =>
    Object.fromEntries(
      [
        ['import', 'esm'],
        ['require', 'cjs'],
      ].map(([condition, format]) => [
        condition,
        { types: `./${format}/${entry}.d.ts`, default: `./${format}/${entry}.js` },
      ]),
    );
  return {
    name: '@muster/sdk',
    version,
    description: 'Launches runs on Muster, waits for them, and follows what happens.',
    license: 'UNLICENSED',
    type: 'module',
    sideEffects: false,
    engines: { node: '>=20' },
    exports: { '.': buildExportEntry('index'), './operations': buildExportEntry('operations') },
    main: './cjs/index.js',
    module: './esm/index.js',
    types: './esm/index.d.ts',
    files: ['esm', 'cjs'],
  };
}

async function bundleFormat(format) {
  await build({
    entryPoints: entries.map((entry) => join(here, `src/${entry}.ts`)),
    outdir: join(target, format),
    bundle: true,
    format,
    splitting: format === 'esm',
    platform: 'neutral',
    target: 'es2022',
    logLevel: 'error',
  });
}

/**
 * Returns the text of each declaration file, by file name. Imports get a file extension, which compilers of ES modules
 * require.
 */
async function buildDeclarations() {
  const out = join(folder, 'types');
  await rm(out, { recursive: true, force: true });
  const options = '--ignoreConfig --declaration --emitDeclarationOnly --target es2023 --lib es2023,dom,dom.iterable';
  const rest = '--module esnext --moduleResolution bundler --strict --skipLibCheck --types node';
  execFileSync(
    process.execPath,
    [
      join(root, 'node_modules/typescript/bin/tsc'),
      ...options.split(' '),
      ...rest.split(' '),
      '--rootDir',
      join(here, 'src'),
      '--outDir',
      out,
      ...entries.map((entry) => join(here, `src/${entry}.ts`)),
    ],
    { stdio: ['ignore', 'inherit', 'inherit'], cwd: root },
  );
  const names = (await readdir(out, { recursive: true })).filter((name) => name.endsWith('.d.ts'));
  const known = new Set(names);
  const texts = names.map(async (name) => [
    name,
    addFileExtensions(await readFile(join(out, name), 'utf8'), name, known),
  ]);
  const all = await Promise.all(texts);
  await rm(out, { recursive: true, force: true });
  return all;
}

function addFileExtensions(text, name, known) {
  return text.replace(/(from|import\()(\s*)(['"])(\.[^'"]*)\3/g, (_, word, space, quote, path) => {
    const file = join(dirname(name), path);
    const whole = known.has(`${file}.d.ts`) ? `${path}.js` : `${path.replace(/\/$/, '')}/index.js`;
    return `${word}${space}${quote}${whole}${quote}`;
  });
}

async function writeFileWithFolder(file, text) {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
}

/** Returns the size of the script that a page loads if it uses the whole SDK. */
async function measurePageSize() {
  const { outputFiles } = await build({
    entryPoints: [join(target, 'esm/index.js')],
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    platform: 'browser',
  });
  return gzipSync(outputFiles[0].contents).length;
}

function formatKib(bytes) {
  return `${(bytes / 1024).toFixed(1)} KiB`;
}
