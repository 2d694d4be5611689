import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../service-process';
import { pagesOfOneResource } from './pages';

interface Chunk {
  file: string;
  isEntry?: boolean;
  imports?: string[];
  css?: string[];
}

const dist = join(root, 'dist/apps/console');
const router = readFileSync(join(root, 'apps/console/src/router.tsx'), 'utf8');
const navigationSource = readFileSync(join(root, 'apps/console/src/frame/places.ts'), 'utf8');
/** Each page with the module that it is loaded from. */
const pages = [
  ...router.matchAll(/'(\/[^']*)',\s*(?:component: )?lazyRouteComponent\(\(\) => import\('\.\/([^']+)'\)/g),
].map(([, path, module]) => ({ path: path!, module: `src/${module}/index.tsx` }));
const maxBytes = 180_000;

describe('the pages of the console', () => {
  it.each(pages)('a page of the console loads at most 180 kB of compressed scripts: $path', ({ path, module }) => {
    const manifest = JSON.parse(readFileSync(join(dist, '.vite/manifest.json'), 'utf8')) as Record<string, Chunk>;
    const entry = Object.keys(manifest).find((name) => manifest[name]!.isEntry)!;
    const loaded = new Set<string>();
    const addChunkAndImports = (name: string) => {
      if (loaded.has(name)) return;
      loaded.add(name);
      manifest[name]!.imports?.forEach(addChunkAndImports);
    };
    addChunkAndImports(entry);
    addChunkAndImports(module);
    const chunks = [...loaded].map((name) => manifest[name]!);
    const scripts = sumSizes(chunks.map(({ file }) => readCompressedSize(file)));
    const styles = sumSizes([...new Set(chunks.flatMap(({ css = [] }) => css))].map(readCompressedSize));
    process.stdout.write(
      `console: ${path} ${formatKilobytes(scripts)} of scripts, ${formatKilobytes(styles)} of styles\n`,
    );
    expect(scripts).toBeLessThanOrEqual(maxBytes);
  });

  it('the screenshots cover every page of the console', () => {
    const inNavigation = [...navigationSource.matchAll(/ to: '([^']+)'/g)].map(([, path]) => path!);
    const signedOut = ['/login', '/forgot', '/reset', '/invitation', '/safeguards'];
    const covered = [...signedOut, '/device', ...inNavigation, ...pagesOfOneResource.map(({ path }) => path)];
    expect(pages.length).toBeGreaterThan(10);
    expect(covered.sort()).toEqual(pages.map(({ path }) => path).sort());
  });
});

/** Size of the file as it is sent: compressed, unless it is too small. */
function readCompressedSize(file: string): number {
  const compressed = statSync(join(dist, `${file}.br`), { throwIfNoEntry: false });
  return (compressed ?? statSync(join(dist, file))).size;
}

function sumSizes(sizes: number[]): number {
  return sizes.reduce((total, size) => total + size, 0);
}

function formatKilobytes(bytes: number): string {
  return `${(bytes / 1000).toFixed(1)} kB`;
}
