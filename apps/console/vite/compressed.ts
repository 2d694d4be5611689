import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { Plugin } from 'vite';

const brotli = promisify(brotliCompress);
const zip = promisify(gzip);

/** Writes a .br and a .gz file for each text file of the build, so that the gateway need not compress responses. */
export function compressFilesPlugin(): Plugin {
  let folder = '';
  return {
    name: 'muster:compressed',
    apply: 'build',
    configResolved: ({ build }) => void (folder = join(build.outDir, 'assets')),
    async writeBundle() {
      const files = (await readdir(folder)).filter((file) => /\.(js|css|svg)$/.test(file));
      await Promise.all(
        files.map(async (file) => {
          const path = join(folder, file);
          const content = await readFile(path);
          if (content.length < 1024) return;
          const quality = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: content.length };
          await writeFile(`${path}.br`, await brotli(content, { params: quality }));
          await writeFile(`${path}.gz`, await zip(content, { level: 9 }));
        }),
      );
    },
  };
}
