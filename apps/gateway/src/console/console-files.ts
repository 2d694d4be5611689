import { existsSync, readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';

const types: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};
const encodings = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const;

export interface ConsoleFile {
  type: string;
  encoding?: string;
  content: Buffer;
  /** Whether the file's name contains a hash of its content, so that the content never changes. */
  hashed: boolean;
}

/** The built console: a few dozen files, each read once. Serves only files that existed when the process started. */
export class ConsoleFiles {
  private readonly names: Set<string>;
  private readonly contents = new Map<string, Promise<Buffer>>();

  constructor(private readonly folder = findBuiltConsole()) {
    this.names = new Set(folder ? ['', 'assets'].flatMap((below) => listFileNames(join(folder, below), below)) : []);
  }

  get areBuilt(): boolean {
    return this.names.has('index.html');
  }

  /** Returns the file at this path in the best encoding that the browser accepts; null if there is no such file. */
  async findFile(path: string, acceptEncoding: string | undefined): Promise<ConsoleFile | null> {
    const type = types[extname(path)];
    if (!type || path === 'index.html' || !this.names.has(path)) return null;
    const hashed = path.startsWith('assets/');
    const [encoding, suffix] =
      encodings.find(([name, ending]) => this.names.has(path + ending) && acceptsEncoding(acceptEncoding, name)) ?? [];
    return { type, encoding, hashed, content: await this.readFile(path + (suffix ?? '')) };
  }

  /** Returns the page that all paths of the console serve, with the nonce for its styles. */
  async renderPage(nonce: string): Promise<string> {
    return (await this.readFile('index.html')).toString().replaceAll('__CSP_NONCE__', nonce);
  }

  private readFile(name: string): Promise<Buffer> {
    const cached = this.contents.get(name);
    if (cached) return cached;
    const reading = readFile(join(this.folder!, name));
    // A failed read is not cached, because the next read may succeed.
    reading.catch(() => this.contents.delete(name));
    this.contents.set(name, reading);
    return reading;
  }
}

/** Returns the folder next to the compiled gateway, or the build's output folder if the gateway runs from source. */
function findBuiltConsole(): string | undefined {
  const folders = [join(__dirname, '../../../console'), join(__dirname, '../../../../dist/apps/console')];
  return folders.find((folder) => existsSync(join(folder, '.vite/manifest.json')));
}

function listFileNames(folder: string, below: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => (below ? `${below}/${name}` : name));
}

/** Whether the Accept-Encoding header names the encoding with a weight other than 0. */
function acceptsEncoding(header: string | undefined, encoding: string): boolean {
  return (header ?? '').split(',').some((part) => {
    const [name, ...parameters] = part.split(';').map((each) => each.trim().toLowerCase());
    return name === encoding && !parameters.some((each) => /^q=0(\.0*)?$/.test(each));
  });
}
