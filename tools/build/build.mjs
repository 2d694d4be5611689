#!/usr/bin/env node
// Compiles TypeScript with SWC, keeping the tree's shape: libs/x/src/a.ts becomes dist/libs/x/src/a.js.
// The SDK's client is generated first. Only what changed since the last run is compiled again. `build.mjs [folder…]` limits it to those folders.
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { generateClient } from '../../libs/sdk/generate.mjs';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const out = join(root, 'dist');

/** Compiles and answers how many files were looked at, compiled and removed. */
export async function build(folders = ['libs', 'apps', 'tools']) {
  if (folders.includes('libs')) await generateClient();
  const options = await swcOptions();
  const stamp = JSON.stringify(options) + (await readFile(join(root, 'node_modules/@swc/core/package.json'), 'utf8'));
  const since = await stampedAt(join(out, '.cache', 'build-options'), stamp);

  const sources = (await Promise.all(folders.map((folder) => walk(join(root, folder))))).flat();
  const counts = { files: sources.length, compiled: 0, removed: 0 };
  const waiting = [...sources];
  let swc;
  const worker = async () => {
    for (let file = waiting.pop(); file; file = waiting.pop()) {
      const target = targetOf(file);
      const [source, built] = await Promise.all([stat(file), stat(target).catch(() => null)]);
      if (built && built.mtimeMs > source.mtimeMs && built.mtimeMs >= since) continue;
      const began = new Date();
      await mkdir(dirname(target), { recursive: true });
      if (!file.endsWith('.ts')) {
        await put(target, await readFile(file), began);
      } else {
        swc ??= await import('@swc/core');
        const { code, map } = await swc.transformFile(file, options);
        await put(`${target}.map`, map, began);
        await put(target, `${code}\n//# sourceMappingURL=${basename(target)}.map\n`, began);
      }
      counts.compiled += 1;
    }
  };
  await Promise.all(Array.from({ length: 8 }, worker));
  for (const folder of folders) counts.removed += await removeStale(folder, new Set(sources.map(targetOf)));
  return counts;
}

// With other options everything that is older is stale. Nothing is deleted for it: other builds may be under way.
async function stampedAt(file, stamp) {
  if ((await readFile(file, 'utf8').catch(() => '')) !== stamp) {
    await mkdir(dirname(file), { recursive: true });
    await put(file, stamp, new Date());
  }
  return (await stat(file)).mtimeMs;
}

// In one step, because others may be reading it; dated from before its source was read, because that may be edited
// meanwhile and must then be seen to be newer.
async function put(file, content, date) {
  const draft = `${file}.${process.pid}.draft`;
  await writeFile(draft, content);
  await utimes(draft, date, date);
  await rename(draft, file);
}

export async function swcOptions() {
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

// Files that the running code reads beside the compiled code.
const assets = /\.(sql|json|html|py|txt\.br)$|\/prompts\/[\w-]+\.md$/;

async function walk(folder) {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const nested = await Promise.all(
    entries.map((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return passedOver(path, entry.name) ? [] : walk(path);
      if (entry.name.endsWith('.spec.ts') || entry.name.endsWith('.d.ts') || entry.name === 'project.json') return [];
      return entry.name.endsWith('.ts') || assets.test(path) ? [path] : [];
    }),
  );
  return nested.flat();
}

// Vite builds the console (console.mjs).
function passedOver(path, name) {
  return ['node_modules', 'fixtures', 'dist'].includes(name) || path === join(root, 'apps/console');
}

function targetOf(file) {
  return join(out, relative(root, file)).replace(/\.ts$/, '.js');
}

async function removeStale(folder, wanted) {
  let removed = 0;
  const visit = async (dir) => {
    for (const entry of await readdir(dir, { withFileTypes: true }).catch(() => [])) {
      const path = join(dir, entry.name);
      if (entry.isDirectory()) await (path === join(out, 'apps/console') || visit(path));
      else if (path.endsWith('.js') && !wanted.has(path)) {
        await rm(path);
        await rm(`${path}.map`, { force: true });
        removed += 1;
      }
    }
  };
  await visit(join(out, folder));
  return removed;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const started = Date.now();
  const folders = process.argv.slice(2);
  const { files, compiled, removed } = await build(folders.length ? folders : undefined);
  console.log(`build: ${compiled} of ${files} files compiled, ${removed} stale removed, ${Date.now() - started} ms`);
}
