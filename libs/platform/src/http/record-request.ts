import type { FastifyRequest } from 'fastify';
import { isTraceparent, getSpanId } from '../context/trace';
import { isTracing, recordSpan } from '../tracing/spans';

/**
 * Records the request as a span with its route. The path and the query are left out because they contain user input.
 * Requests that stay open while a client listens (streams, long polls) and the liveness probe are not recorded.
 */
export function recordRequest(request: FastifyRequest, { route, status }: { route: string; status: number }): void {
  if (!isTracing() || request.is404) return;
  if (request.method === 'GET' && request.routeOptions.config.noTimeout) return;
  const { traceparent, requestId, organizationId, agentId, jobId } = request.context;
  const parent = request.headers['traceparent'];
  const endMs = Date.now();
  recordSpan({
    name: `${request.method} ${route}`,
    kind: 'server',
    traceparent,
    parentId: isTraceparent(parent) ? getSpanId(parent) : undefined,
    startMs: endMs - (performance.now() - request.startedAt),
    endMs,
    attributes: {
      'http.request.method': request.method,
      'http.route': route,
      'http.response.status_code': status,
      'muster.request_id': requestId,
      'muster.organization_id': organizationId,
      'muster.agent_id': agentId,
      'muster.job_id': jobId,
    },
    error: status >= 500 ? String(status) : undefined,
  });
}
