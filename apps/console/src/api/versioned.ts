import { client } from './generated';

/** A response with its ETag. A change that sends it as If-Match is rejected if the resource has changed since. */
export type Versioned<T> = T & { etag: string };

export async function readWithEtag<T extends object>(
  ask: (options: { fetch: typeof fetch }) => Promise<T>,
): Promise<Versioned<T>> {
  const { fetch: usual = fetch } = client.getConfig();
  let etag = '*';
  const fetchAndKeepEtag: typeof fetch = async (...request) => {
    const response = await usual(...request);
    etag = response.headers.get('etag') ?? '*';
    return response;
  };
  const answer = await ask({ fetch: fetchAndKeepEtag });
  return { ...answer, etag };
}
