import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Metrics } from './metrics';
import type { Readiness } from './readiness';

/** Serves /livez, /readyz and /metrics on a separate port that no ingress exposes. */
export async function startInternalServer(options: {
  host: string;
  port: number;
  readiness: Readiness;
  metrics: Metrics;
}): Promise<{ port: number; close(): Promise<void> }> {
  const { readiness, metrics } = options;
  const answers: Record<string, () => Promise<{ status: number; type: string; body: string }>> = {
    '/livez': async () => createJsonResponse(200, { status: 'ok' }),
    '/readyz': async () => {
      const { ready, checks } = await readiness.checkReadiness();
      return createJsonResponse(ready ? 200 : 503, {
        status: ready ? 'ok' : 'not ready',
        draining: readiness.isDraining,
        checks,
      });
    },
    '/metrics': async () => ({
      status: 200,
      type: metrics.registry.contentType,
      body: await metrics.registry.metrics(),
    }),
  };
  const server = createServer((request, response) => {
    const answer = answers[(request.url ?? '').split('?')[0]!];
    void (answer ? answer() : Promise.resolve(createJsonResponse(404, { status: 'not found' })))
      .catch((error: Error) => createJsonResponse(500, { status: error.message }))
      .then(({ status, type, body }) => response.writeHead(status, { 'content-type': type }).end(body));
  });
  await listenOnPort(server, options.port, options.host);
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function createJsonResponse(status: number, body: object) {
  return { status, type: 'application/json', body: JSON.stringify(body) };
}

function listenOnPort(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    // `exclusive`: this port belongs to one process, even if several processes share the public port.
    server.listen({ port, host, exclusive: true }, () => resolve());
  });
}
