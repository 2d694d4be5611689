import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConsoleFiles } from './console-files';

describe('the files of the console', () => {
  let folder: string;
  let files: ConsoleFiles;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'muster-console-files-'));
    await mkdir(join(folder, 'assets'));
    const contents: Record<string, string> = {
      'index.html': '<meta nonce="__CSP_NONCE__"><script nonce="__CSP_NONCE__"></script>',
      'icon.svg': '<svg/>',
      'assets/a-1.js': 'plain',
      'assets/a-1.js.br': 'br',
      'assets/a-1.js.gz': 'gzip',
    };
    await Promise.all(Object.entries(contents).map(([name, content]) => writeFile(join(folder, name), content)));
    files = new ConsoleFiles(folder);
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const readConsoleFile = async (path: string, encodings?: string) => {
    const file = await files.findFile(path, encodings);
    return file && [file.content.toString(), file.encoding, file.hashed];
  };

  it.each([
    [undefined, 'plain', undefined],
    ['gzip', 'gzip', 'gzip'],
    ['gzip, deflate, br', 'br', 'br'],
    ['br;q=0, gzip;q=0.5', 'gzip', 'gzip'],
    ['br;q=0.0', 'plain', undefined],
    ['brotli', 'plain', undefined],
  ])('a console file has the best encoding for Accept-Encoding: %s', async (accepted, content, encoding) => {
    expect(await readConsoleFile('assets/a-1.js', accepted)).toEqual([content, encoding, true]);
  });

  it('only the built files of the console are served, nothing next to or above them', async () => {
    expect(await readConsoleFile('icon.svg')).toEqual(['<svg/>', undefined, false]);
    for (const path of ['index.html', 'assets/a-1.js.br', '../package.json', 'assets/../../x.js', 'agents', '']) {
      expect([path, await readConsoleFile(path)]).toEqual([path, null]);
    }
  });

  it('each nonce placeholder in the console’s page is replaced', async () => {
    expect(await files.renderPage('abc')).toBe('<meta nonce="abc"><script nonce="abc"></script>');
  });
});
