import type { FastifyRequest } from 'fastify';
import { isTraceparent, spanIdOf } from '../context/trace';
import { isTracing, recordSpan } from '../tracing/spans';

/**
 * The request as a span: its route, never its path or its query, which hold what callers typed. What is open for as long
 * as somebody listens (streams, long polls, the liveness probe) is none.
 */
export function recordRequest(request: FastifyRequest, { route, status }: { route: string; status: number }): void {
  if (!isTracing() || request.is404) return;
  if (request.method === 'GET' && request.routeOptions.config.noTimeout) return;
  const { traceparent, requestId, organizationId, agentId, jobId } = request.context;
  const given = request.headers['traceparent'];
  const endMs = Date.now();
  recordSpan({
    name: `${request.method} ${route}`,
    kind: 'server',
    traceparent,
    parentId: isTraceparent(given) ? spanIdOf(given) : undefined,
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
