#!/usr/bin/env node
// Compiles TypeScript with SWC. The output has the same folders: libs/x/src/a.ts becomes dist/libs/x/src/a.js.
// Generates the SDK's client first. Only files that changed since the last run are compiled again.
// `build.mjs [folder…]` compiles only these folders.
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { generateClient } from '../../libs/sdk/generate.mjs';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const out = join(root, 'dist');

/** Returns the number of files that were checked, compiled and removed. */
export async function build(folders = ['libs', 'apps', 'tools']) {
  if (folders.includes('libs')) await generateClient();
  const options = await getSwcOptions();
  const stamp = JSON.stringify(options) + (await readFile(join(root, 'node_modules/@swc/core/package.json'), 'utf8'));
  const optionsChangedAt = await hasStamp(join(out, '.cache', 'build-options'), stamp);

  const sources = (await Promise.all(folders.map((folder) => listSourceFiles(join(root, folder))))).flat();
  const counts = { files: sources.length, compiled: 0, removed: 0 };
  const waiting = [...sources];
  let swc;
  const compileNextFiles = async () => {
    for (let file = waiting.pop(); file; file = waiting.pop()) {
      const target = getTarget(file);
      const [source, built] = await Promise.all([stat(file), stat(target).catch(() => null)]);
      if (built && built.mtimeMs > source.mtimeMs && built.mtimeMs >= optionsChangedAt) continue;
      const began = new Date();
      await mkdir(dirname(target), { recursive: true });
      if (!file.endsWith('.ts')) {
        await writeIfChanged(target, await readFile(file), began);
      } else {
        swc ??= await import('@swc/core');
        const { code, map } = await swc.transformFile(file, options);
        await writeIfChanged(`${target}.map`, map, began);
        await writeIfChanged(target, `${code}\n//# sourceMappingURL=${basename(target)}.map\n`, began);
      }
      counts.compiled += 1;
    }
  };
  await Promise.all(Array.from({ length: 8 }, compileNextFiles));
  for (const folder of folders) counts.removed += await removeStale(folder, new Set(sources.map(getTarget)));
  return counts;
}

// Returns the time of the last change of the options. Files that were compiled before it are outdated. They are not
// deleted, because other builds may be running.
async function hasStamp(file, stamp) {
  if ((await readFile(file, 'utf8').catch(() => '')) !== stamp) {
    await mkdir(dirname(file), { recursive: true });
    await writeIfChanged(file, stamp, new Date());
  }
  return (await stat(file)).mtimeMs;
}

// Replaces the file in one step, because other processes may be reading it. It gets the date before its source was
// read: if the source is edited during the compilation, it is newer than the output.
async function writeIfChanged(file, content, date) {
  const draft = `${file}.${process.pid}.draft`;
  await writeFile(draft, content);
  await utimes(draft, date, date);
  await rename(draft, file);
}

export async function getSwcOptions() {
  const base = JSON.parse(await readFile(join(root, 'tsconfig.base.json'), 'utf8'));
  return {
    cwd: root,
    swcrc: false,
    sourceMaps: true,
    module: { type: 'commonjs', ignoreDynamic: true },
    jsc: {
      target: 'es2023',
      parser: { syntax: 'typescript', decorators: true },
      transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: false },
      keepClassNames: true,
      baseUrl: root,
      paths: base.compilerOptions.paths,
    },
  };
}

// Files that the code reads at run time; they are copied next to the compiled code.
const assets = /\.(sql|json|html|py|txt\.br)$|\/prompts\/[\w-]+\.md$/;

async function listSourceFiles(folder) {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const nested = await Promise.all(
    entries.map((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return isSkipped(path, entry.name) ? [] : listSourceFiles(path);
      if (entry.name.endsWith('.spec.ts') || entry.name.endsWith('.d.ts') || entry.name === 'project.json') return [];
      return entry.name.endsWith('.ts') || assets.test(path) ? [path] : [];
    }),
  );
  return nested.flat();
}

// Vite builds the console (console.mjs).
function isSkipped(path, name) {
  return ['node_modules', 'fixtures', 'dist'].includes(name) || path === join(root, 'apps/console');
}

function getTarget(file) {
  return join(out, relative(root, file)).replace(/\.ts$/, '.js');
}

async function removeStale(folder, wanted) {
  let removed = 0;
  const removeStaleIn = async (dir) => {
    for (const entry of await readdir(dir, { withFileTypes: true }).catch(() => [])) {
      const path = join(dir, entry.name);
      if (entry.isDirectory()) await (path === join(out, 'apps/console') || removeStaleIn(path));
      else if (path.endsWith('.js') && !wanted.has(path)) {
        await rm(path);
        await rm(`${path}.map`, { force: true });
        removed += 1;
      }
    }
  };
  await removeStaleIn(join(out, folder));
  return removed;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const started = Date.now();
  const folders = process.argv.slice(2);
  const { files, compiled, removed } = await build(folders.length ? folders : undefined);
  console.log(`build: ${compiled} of ${files} files compiled, ${removed} stale removed, ${Date.now() - started} ms`);
}
