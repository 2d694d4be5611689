import autocannon from 'autocannon';
import type { Round } from './rounds';
import { short } from './short';

export interface HttpRound extends Round {
  p50: number;
  p99: number;
}

export interface HttpLoad {
  path: string;
  headers: Record<string, string>;
  /** Returns the next body. Bodies must differ if the service deduplicates them. */
  nextBody: () => unknown;
  connections: number;
  seconds: number;
}

/**
 * Sends as many requests as possible, each with another body; a few in the short form. Throws if a response is not 2xx.
 */
export async function runPostLoad(url: string, load: HttpLoad): Promise<HttpRound> {
  const { path, headers, nextBody, connections, seconds } = load;
  const began = performance.now();
  const result = await autocannon({
    url: `${url}${path}`,
    method: 'POST',
    connections,
    ...(short ? { amount: 2 * connections } : { duration: seconds }),
    requests: [
      {
        headers: { 'content-type': 'application/json', ...headers },
        setupRequest: (request) => ({ ...request, body: JSON.stringify(nextBody()) }),
      },
    ],
  });
  if (result.non2xx + result.errors > 0) {
    throw new Error(`${url}${path}: ${result.non2xx} responses were not 2xx, ${result.errors} requests failed`);
  }
  return {
    perSecond: result['2xx'] / ((performance.now() - began) / 1000),
    p50: result.latency.p50,
    p99: result.latency.p99,
  };
}
