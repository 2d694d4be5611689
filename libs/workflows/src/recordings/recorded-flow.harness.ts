import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

/** Returns the path of this machine's Chromium; undefined if it has none. */
export function findChromium(): string | undefined {
  const { CHROMIUM, PATH = '' } = process.env;
  const names = ['chromium', 'google-chrome', 'google-chrome-stable', 'chromium-browser', 'chrome'];
  const paths = PATH.split(delimiter).flatMap((folder) => names.map((name) => join(folder, name)));
  return [...(CHROMIUM ? [CHROMIUM] : []), ...paths].find((path) => existsSync(path));
}

export interface Portal {
  url: string;
  /** The queries that were sent to the portal, in order. */
  received: Record<string, string>[];
  close(): Promise<void>;
}

/** Starts a web site that resembles an insurer's portal. */
export async function servePages(pages: Record<string, string>): Promise<Portal> {
  const received: Record<string, string>[] = [];
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url!, 'http://portal');
    if (pathname === '/sent') received.push(Object.fromEntries(searchParams));
    const page = pages[pathname];
    response.writeHead(page === undefined ? 404 : 200, { 'content-type': 'text/html; charset=utf-8' });
    response.end(`<!doctype html><title>${pathname}</title>${page ?? 'nothing'}`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

export interface PlayedScript {
  code: number | null;
  stderr: string;
  /** Events that the script reported through the worker's module. */
  events: Record<string, any>[];
  /** Uploaded files by name. */
  uploads: Record<string, Buffer>;
  /** Names of the files that the script left in its temporary folder. */
  leftovers: string[];
}

/** Runs a script as a worker does: with the worker's module, in a separate run root. */
export async function runScript(script: string, env: Record<string, string> = {}): Promise<PlayedScript> {
  const root = await mkdtemp(join(tmpdir(), 'muster-flow-'));
  const temporary = await mkdtemp(join(tmpdir(), 'muster-flow-tmp-'));
  try {
    const child = spawn('python3', ['-c', script], {
      cwd: root,
      env: {
        PATH: process.env['PATH'] ?? '',
        HOME: root,
        TMPDIR: temporary,
        PYTHONPATH: join(__dirname, '../../../../apps/worker/src/runs'),
        PYTHONDONTWRITEBYTECODE: '1',
        MUSTER_RUN_ROOT: root,
        MUSTER_JOB_ID: '0192f0c4-7b8e-7d3a-9c55-2f4a6b8c0d1e',
        ...env,
      },
    });
    let stderr = '';
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    child.stdout.resume();
    const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
    const lines = await readFile(join(root, 'events.jsonl'), 'utf8').catch(() => '');
    const events = lines
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line));
    const uploads: Record<string, Buffer> = {};
    for (const { file, filename } of events.filter(({ type }) => type === 'upload')) {
      uploads[filename] = await readFile(join(root, 'uploads', file));
    }
    return { code, stderr, events, uploads, leftovers: await readdir(temporary) };
  } finally {
    await rm(root, { recursive: true, force: true });
    await rm(temporary, { recursive: true, force: true });
  }
}
