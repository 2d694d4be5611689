import type { AppName, ServiceApp } from '@muster/contracts';

export type Served = AppName | 'dev-proxy';

const first = Number(process.env['MUSTER_DEV_PORT'] ?? 4000);

/** Development ports are fixed, so that the proxy and bookmarks find them; MUSTER_DEV_PORT moves all of them. */
export const portOf: Record<Served | 'stack', number> = {
  'dev-proxy': first,
  gateway: first + 1,
  ingest: first + 2,
  dispatcher: first + 3,
  scheduler: first + 4,
  metering: first + 5,
  'feedback-sync': first + 6,
  standalone: first + 7,
  // Who listens here is the one development stack; no app answers there.
  stack: first + 9,
};

export const publicUrl = `http://localhost:${portOf['dev-proxy']}`;

export function isServed(name: string | undefined): name is Served {
  return name !== undefined && name !== 'stack' && Object.hasOwn(portOf, name);
}

/** One of the six, which standalone would run a second time. */
export function isService(name: Served): name is ServiceApp {
  return name !== 'standalone' && name !== 'dev-proxy';
}

/** Which sources a process runs, of the folders that are watched. */
export function isMadeFrom(name: Served, file: string): boolean {
  const folders: Record<'standalone' | 'dev-proxy', string[]> = {
    standalone: ['libs/', 'apps/'],
    'dev-proxy': ['libs/contracts/', 'tools/dev-proxy/'],
  };
  const own = isService(name) ? ['libs/', `apps/${name}/`] : folders[name];
  return own.some((folder) => file.startsWith(folder));
}
