import type { AppName, ServiceApp } from '@muster/contracts';

export type Served = AppName | 'dev-proxy';

const first = Number(process.env['MUSTER_DEV_PORT'] ?? 4000);

/** Development ports are fixed so that the proxy and bookmarks stay valid. MUSTER_DEV_PORT moves all of them. */
export const portOf: Record<Served | 'stack', number> = {
  'dev-proxy': first,
  gateway: first + 1,
  ingest: first + 2,
  dispatcher: first + 3,
  scheduler: first + 4,
  metering: first + 5,
  'feedback-sync': first + 6,
  standalone: first + 7,
  // The process that listens on this port is the shared development stack; it serves no HTTP.
  stack: first + 9,
};

export const publicUrl = `http://localhost:${portOf['dev-proxy']}`;

export function isServedName(name: string | undefined): name is Served {
  return name !== undefined && name !== 'stack' && Object.hasOwn(portOf, name);
}

/** Whether the app is one of the six that standalone also runs. */
export function isServiceApp(name: Served): name is ServiceApp {
  return name !== 'standalone' && name !== 'dev-proxy';
}

/** Whether a watched source file is part of the process. */
export function isBuiltFrom(name: Served, file: string): boolean {
  const folders: Record<'standalone' | 'dev-proxy', string[]> = {
    standalone: ['libs/', 'apps/'],
    'dev-proxy': ['libs/contracts/', 'tools/dev-proxy/'],
  };
  const own = isServiceApp(name) ? ['libs/', `apps/${name}/`] : folders[name];
  return own.some((folder) => file.startsWith(folder));
}
