import type { ServiceApp } from './apps';

export interface PathOwner {
  /** `:id` matches one segment; a trailing `/*` matches everything below. */
  path: string;
  app: ServiceApp;
}

/**
 * App that serves each public path: the first matching row applies. The chart's route and ingress, the compose proxy
 * and the development proxy are generated from this table, so the app of a path is changed only here.
 */
export const pathOwners: readonly PathOwner[] = [
  { path: '/api/agent/heartbeat', app: 'ingest' },
  { path: '/api/agent/setup-status', app: 'ingest' },
  { path: '/api/agents/handshake', app: 'ingest' },
  { path: '/api/agents/:id/step-status', app: 'ingest' },
  { path: '/api/agents/:id/commands', app: 'ingest' },
  { path: '/api/agents/:id/commands/*', app: 'ingest' },
  { path: '/api/agents/:id/downloads', app: 'ingest' },
  { path: '/api/agents/:id/uploads', app: 'ingest' },
  { path: '/api/job-webhook', app: 'ingest' },
  { path: '/api/job-logs', app: 'ingest' },
  { path: '/api/jobs/:id/claim-results', app: 'ingest' },
  { path: '/api/inbound/*', app: 'ingest' },
  { path: '/api/jobs/:id/accounts/*', app: 'ingest' },
  { path: '/api/jobs/:id/totp', app: 'ingest' },
  { path: '/api/jobs/:id/questions', app: 'ingest' },
  { path: '/api/jobs/:id/questions/*', app: 'ingest' },
  { path: '/api/jobs/:id/screen/control', app: 'ingest' },
  { path: '/api/jobs/:id/screen/frames', app: 'ingest' },
  { path: '/api/pilot/run-summary', app: 'ingest' },
  { path: '/api/webhooks/*', app: 'ingest' },
  { path: '/api/cron/*', app: 'scheduler' },
  { path: '/*', app: 'gateway' },
];

export function findOwnerApp(pathname: string): ServiceApp {
  const owner = pathOwners.find(({ path }) => buildPathPattern(path).test(pathname));
  if (!owner) throw new Error(`no app owns ${pathname}`);
  return owner.app;
}

/** Returns a row's path as a regular expression that nginx, Envoy and JavaScript interpret alike. */
export function buildPathPattern(path: string): RegExp {
  const source = path.replace(/\/\*$/, '(/.*)?').replaceAll(/:[a-zA-Z]+/g, '[^/]+');
  return new RegExp(`^${source === '(/.*)?' ? '/.*' : source}$`);
}
