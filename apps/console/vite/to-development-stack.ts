import { type IncomingMessage, request, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import type { Plugin } from 'vite';

/**
 * Forwards requests for the API and for objects from the development server to the specified service. Without one, it
 * uses the first of these that runs: the proxy in front of all apps, `nx serve standalone`, `npm start`.
 */
export function developmentProxyPlugin(firstPort: number, service?: string): Plugin {
  const local = [firstPort, firstPort + 7, startPort].map((port) => new URL(`http://127.0.0.1:${port}`));
  const services = service ? [new URL(service)] : local;
  return {
    name: 'muster:development-stack',
    apply: 'serve',
    configureServer: ({ middlewares }) => {
      middlewares.use((incoming, outgoing, next) => {
        if (!/^\/(api|objects)\//.test(incoming.url ?? '')) return next();
        void findListeningService(services).then((found) => {
          if (found) return forwardRequest(incoming, outgoing, found);
          const detail = service ? `Nothing answers at ${service}.` : 'Run: npm start, or npx nx serve standalone';
          outgoing.writeHead(502, { 'content-type': 'application/problem+json' });
          outgoing.end(JSON.stringify({ title: 'No service', status: 502, code: 'service_unavailable', detail }));
        });
      });
    },
  };
}

/** Default port of `npm start`. */
const startPort = 3000;

async function findListeningService(services: URL[]): Promise<URL | undefined> {
  for (const service of services) if (await isListening(service)) return service;
  return undefined;
}

function isListening({ hostname, port }: URL): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(Number(port || 80), hostname, () => resolve(true));
    socket.once('connect', () => socket.end()).once('error', () => resolve(false));
  });
}

/** Forwards a request with its original `Host` header, from which the service builds links to this server. */
function forwardRequest(incoming: IncomingMessage, outgoing: ServerResponse, { hostname, port }: URL): void {
  const { method, url: path, headers } = incoming;
  const onward = request({ host: hostname, port: port || 80, method, path, headers }, (answer) => {
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(outgoing);
  });
  onward.once('error', () => outgoing.destroy());
  outgoing.once('close', () => onward.destroy());
  incoming.pipe(onward);
}
