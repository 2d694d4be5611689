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
  /** Makes the next body; none of two may be the same where the service keeps things once. */
  nextBody: () => unknown;
  connections: number;
  seconds: number;
}

/** As many requests as get through, in short a few, each with a body of its own; every answer must be a success. */
export async function postLoad(url: string, load: HttpLoad): Promise<HttpRound> {
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
    throw new Error(`${url}${path}: ${result.non2xx} answers were no success, ${result.errors} failed`);
  }
  return {
    perSecond: result['2xx'] / ((performance.now() - began) / 1000),
    p50: result.latency.p50,
    p99: result.latency.p99,
  };
}
