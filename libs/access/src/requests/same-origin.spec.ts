import type { FastifyRequest } from 'fastify';
import { requireSameOrigin } from './same-origin';

describe('a change by cookie', () => {
  const isAllowed = (headers: Record<string, string>, publicAppUrl: string, method = 'POST') => {
    try {
      requireSameOrigin({ method, headers } as unknown as FastifyRequest, publicAppUrl);
      return true;
    } catch {
      return false;
    }
  };

  it.each<[string, string, string, boolean]>([
    ['https://muster.example', 'muster.example', 'https://muster.example', true],
    // On plain http, the network could have replaced the page.
    ['https://muster.example', 'muster.example', 'http://muster.example', false],
    ['https://muster.example', '10.0.0.7:3000', 'http://10.0.0.7:3000', false],
    ['https://muster.example', '10.0.0.7:3000', 'https://10.0.0.7:3000', true],
    // Requests within one machine cross no network.
    ['https://muster.example', 'localhost:3000', 'http://localhost:3000', true],
    ['https://muster.example', '127.0.0.1:3000', 'http://127.0.0.1:3000', true],
    ['https://muster.example', 'localhost.evil.example', 'http://localhost.evil.example', false],
    ['http://muster.example', '10.0.0.7:3000', 'http://10.0.0.7:3000', true],
    ['http://muster.example', 'muster.example', 'http://muster.example:8080', false],
    ['https://muster.example', 'muster.example', 'https://muster.example.evil.example', false],
    ['https://muster.example', 'muster.example', 'https://muster.example@evil.example', false],
    ['https://muster.example', 'muster.example', 'null', false],
  ])(
    'a change by session cookie to the service at %s, with the Host %s and the Origin %s, is allowed: %s',
    (publicAppUrl, host, origin, right) => {
      expect(isAllowed({ host, origin }, publicAppUrl)).toBe(right);
      expect(isAllowed({ host, origin, 'sec-fetch-site': 'cross-site' }, publicAppUrl)).toBe(right);
      expect(isAllowed({ host, origin: 'https://evil.example' }, publicAppUrl)).toBe(false);
      expect(isAllowed({ host, origin }, publicAppUrl, 'GET')).toBe(true);
    },
  );
});
